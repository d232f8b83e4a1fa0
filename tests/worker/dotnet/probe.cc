// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/dotnet/probe.h"

#include <fcntl.h>

#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/system/unique_fd.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_process.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::testing {
namespace {

// Longer than Probe's own limit for a script.
constexpr absl::Duration kProbeLimit = absl::Seconds(90);

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ProbeAll(const Addresses& addresses) {
  const TemporaryFolder folder;
  const UniqueFd log(
      open((folder / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return ErrnoStatus(errno, "open", folder / "log");
  TestProcess::Options options;
  options.command = {DotnetRoot() + "/dotnet", ApplicationFolder("Probe") + "/Probe.dll",
                     folder / "answers"};
  for (const auto& [name, list] : addresses) {
    options.command.push_back(absl::StrCat(ApplicationFolder(name), "=", absl::StrJoin(list, ",")));
  }
  options.descriptors = {{1, log.get()}, {2, log.get()}};
  COHOST_ASSIGN_OR_RETURN(const auto probe, TestProcess::Start(options));
  const auto ended = probe->WaitUntilEnded(kProbeLimit);
  if (!ended || ended->exit_code != 0) {
    return absl::AbortedError(absl::StrCat("Probe failed:\n", ReadText(folder / "log")));
  }
  std::map<std::string, std::string> answers;
  for (const auto& [name, list] : addresses) {
    answers[name] = ReadText(absl::StrCat(folder / "answers", "/", name, ".txt"));
  }
  return answers;
}

}  // namespace cohost::testing
