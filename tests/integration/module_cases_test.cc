// SPDX-License-Identifier: Apache-2.0
//
// Cases of bad module files: a whole host with a service that has nothing to do with them.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/support/http_client.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

namespace cohost::testing {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string ServiceLine(const std::string& name, const std::string& module) {
  return absl::StrCat("  - {name: ", name, ", runtime: native, module: \"", module,
                      "\", listen: [\"http://127.0.0.1:0\"]}\n");
}

bool Answers(const TestHost& host, const std::string& service) {
  auto client = HttpClient::Connect(host.Port(service));
  if (!client.ok()) return false;
  const auto answer = client->Get("/");
  return answer.ok() && answer->status == 200;
}

// A host with the service "echo", to which bad modules are deployed.
class BadModule : public ::testing::Test {
 protected:
  void SetUp() override {
    host_ = TestHost::StartOrDie({"services:\n" + ServiceLine("echo", "${echo}"), {}, {}});
    before_ = host_->WorkerPids();
    revision_ = host_->Status()->revision();
    ASSERT_EQ(before_.size(), 1u);
    good_ = ReadFile("tests/services/echo.so");
    ASSERT_GT(good_.size(), 8192u);
    module_ = host_->folder() / "bad.so";
  }

  // The reload names the file and changes nothing.
  void ExpectRefused(const std::string& what) {
    host_->WriteDeployment("services:\n" + ServiceLine("echo", "${echo}") +
                           ServiceLine("bad", module_));
    const auto response = host_->Reload();
    ASSERT_TRUE(response.ok()) << what << ": " << response.status();
    ASSERT_EQ(response->problems_size(), 1) << what;
    EXPECT_NE(response->problems(0).message().find(module_), std::string::npos)
        << what << ": " << response->problems(0).message();
    EXPECT_EQ(host_->WorkerPids(), before_) << what;
    EXPECT_EQ(host_->Status()->revision(), revision_) << what;
    EXPECT_TRUE(Answers(*host_, "echo")) << what;
  }
  void Deploy(const std::string& what, const std::string& content) {
    std::filesystem::remove(module_);
    std::ofstream(module_, std::ios::binary) << content;
    ExpectRefused(what);
  }

  std::unique_ptr<TestHost> host_;
  std::map<std::string, pid_t> before_;
  uint64_t revision_ = 0;
  std::string good_;
  std::string module_;
};

TEST_F(BadModule, MOD_01_ACutModuleIsRefusedAndItsNeighbourServesOn) {
  for (const size_t length : {size_t{0}, size_t{64}, size_t{512}, size_t{2000}, size_t{4096},
                              good_.size() / 2, good_.size() - 1}) {
    Deploy(absl::StrCat("cut at ", length), good_.substr(0, length));
  }
}

TEST_F(BadModule, MOD_01_WhatIsNoModuleIsRefusedAndItsNeighbourServesOn) {
  std::mt19937 random(1);
  std::string noise(100'000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  Deploy("random bytes", noise);
  Deploy("a text", std::string(5000, '#'));
  std::string other = good_;
  other[18] = 22;  // e_machine: IBM Z
  Deploy("another architecture", other);
  std::filesystem::remove(module_);
  ASSERT_EQ(mkfifo(module_.c_str(), 0644), 0);
  ExpectRefused("a FIFO");
  Deploy("to be made sparse", "");
  std::filesystem::resize_file(module_, good_.size());
  ExpectRefused("a sparse file");
}

TEST_F(BadModule, MOD_01_TheNeighbourIsRecycledAndTheMendedModuleDeployed) {
  Deploy("cut", good_.substr(0, 2000));
  const std::string group = host_->Service("echo")->group();
  const auto recycled = host_->Recycle(group);
  ASSERT_TRUE(recycled.ok()) << recycled.status();
  EXPECT_TRUE(host_->WaitUntilReady());
  EXPECT_TRUE(Answers(*host_, "echo"));
  EXPECT_NE(host_->WorkerPids(), before_);
  std::ofstream(module_, std::ios::binary) << good_;
  const auto response = host_->Reload();
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->problems_size(), 0);
  ASSERT_EQ(response->added_size(), 1);
  EXPECT_EQ(response->added(0), "bad");
  EXPECT_TRUE(host_->WaitUntilReady());
  EXPECT_TRUE(Answers(*host_, "echo"));
  EXPECT_EQ(host_->Service("bad")->state(), host_->Service("echo")->state());
}

}  // namespace
}  // namespace cohost::testing
