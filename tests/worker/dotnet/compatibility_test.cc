// SPDX-License-Identifier: Apache-2.0
//
// Unmodified applications of every kind answer what they answer when `dotnet NAME.dll` runs them:
// each in a worker of its own, and all in one.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "tests/worker/dotnet/application_worker.h"
#include "tests/worker/dotnet/applications.h"
#include "tests/worker/dotnet/compared_applications.h"
#include "tests/worker/dotnet/probe.h"

namespace cohost::testing {
namespace {

// By name, as Probe tells them.
using Answers = std::map<std::string, std::string>;

absl::StatusOr<Answers> AskInWorkersOfTheirOwn() {
  std::vector<std::unique_ptr<ApplicationWorker>> workers;
  Addresses addresses;
  for (const Application& application : ComparedApplications()) {
    workers.push_back(std::make_unique<ApplicationWorker>());
    COHOST_RETURN_IF_ERROR(workers.back()->Start());
    COHOST_RETURN_IF_ERROR(workers.back()->Add(application));
    addresses.insert(workers.back()->addresses().begin(), workers.back()->addresses().end());
  }
  return ProbeAll(addresses);
}

absl::StatusOr<Answers> AskInOneWorker() {
  ApplicationWorker worker;
  COHOST_RETURN_IF_ERROR(worker.Start());
  for (const Application& application : ComparedApplications()) {
    COHOST_RETURN_IF_ERROR(worker.Add(application));
  }
  auto answers = ProbeAll(worker.addresses());
  COHOST_RETURN_IF_ERROR(worker.CheckAlive());
  return answers;
}

class Compatibility : public DotnetTest, public ::testing::WithParamInterface<Application> {
 protected:
  // Each once for all, since starts cost: a test looks at its own application's.
  static std::string Alone() {
    static const auto answers = AskLoneApplications();
    return Own(answers);
  }
  static std::string InAWorkerOfItsOwn() {
    static const auto answers = AskInWorkersOfTheirOwn();
    return Own(answers);
  }
  static std::string BesideAllOthers() {
    static const auto answers = AskInOneWorker();
    return Own(answers);
  }

 private:
  static std::string Own(const absl::StatusOr<Answers>& answers) {
    return answers.ok() ? answers->at(GetParam().name) : std::string(answers.status().message());
  }
};

TEST_P(Compatibility, AnswersInAWorkerOfItsOwnAsAlone) { EXPECT_EQ(InAWorkerOfItsOwn(), Alone()); }

TEST_P(Compatibility, AnswersBesideAllOthersAsAlone) { EXPECT_EQ(BesideAllOthers(), Alone()); }

INSTANTIATE_TEST_SUITE_P(Applications, Compatibility, ::testing::ValuesIn(ComparedApplications()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cohost::testing
