// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/dotnet/lone_application.h"

#include <arpa/inet.h>
#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "tests/support/process_view.h"
#include "tests/support/wait.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::testing {
namespace {

constexpr absl::Duration kStartLimit = absl::Seconds(60);
constexpr int kListening = 10;  // TCP_LISTEN, as /proc/net/tcp has it

// "127.0.0.1:4711" of the process's listening sockets, sorted.
std::vector<std::string> ListeningAddresses(pid_t pid) {
  std::set<std::string> sockets;
  for (const auto& [fd, target] : DescriptorsOf(pid)) sockets.insert(target);
  std::vector<std::string> found;
  std::ifstream table("/proc/net/tcp");
  for (std::string line; std::getline(table, line);) {
    unsigned address = 0, port = 0, state = 0;
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), " %*d: %8X:%4X %*8X:%*4X %2X %*s %*s %*s %*d %*d %lu", &address,
                    &port, &state, &inode) != 4 ||
        state != kListening || !sockets.contains(absl::StrCat("socket:[", inode, "]"))) {
      continue;
    }
    char text[INET_ADDRSTRLEN];
    const in_addr bytes{address};  // both in network order
    if (inet_ntop(AF_INET, &bytes, text, sizeof(text)) == nullptr) continue;
    found.push_back(absl::StrCat(text, ":", port));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LoneApplication>> LoneApplication::Start(
    const Application& application) {
  std::unique_ptr<LoneApplication> lone(new LoneApplication(application));
  const std::string copy = lone->folder_ / application.name;
  LayOut(application.name, copy);
  const UniqueFd log(
      open((lone->folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return ErrnoStatus(errno, "open", lone->folder_ / "log");
  TestProcess::Options process;
  // Its folder is the current one, as it is under Cohost.
  process.command = {"/bin/sh",
                     "-c",
                     "cd \"$1\" && shift && exec \"$@\"",
                     "sh",
                     copy,
                     DotnetRoot() + "/dotnet",
                     absl::StrCat(application.name, ".dll")};
  process.command.insert(process.command.end(), application.arguments.begin(),
                         application.arguments.end());
  process.clean_environment = true;
  process.environment = {"PATH=/usr/bin:/bin", "HOME=" + lone->folder_.path(),
                         "ASPNETCORE_URLS=http://127.0.0.1:0", "DOTNET_USE_POLLING_FILE_WATCHER=1"};
  for (const auto& [name, value] : application.environment) {
    process.environment.push_back(absl::StrCat(name, "=", value));
  }
  for (size_t i = 0; i < application.endpoints.size(); ++i) {
    const Application::Endpoint& endpoint = application.endpoints[i];
    process.environment.push_back(absl::StrCat("Kestrel__Endpoints__", endpoint.name, "__Url=",
                                               endpoint.scheme, "://127.0.0.", i + 1, ":0"));
  }
  process.descriptors = {{1, log.get()}, {2, log.get()}};
  COHOST_ASSIGN_OR_RETURN(lone->process_, TestProcess::Start(process));
  return lone;
}

absl::StatusOr<std::vector<std::string>> LoneApplication::WaitForAddresses() {
  const size_t expected = std::max<size_t>(application_.endpoints.size(), 1);
  std::vector<std::string> addresses;
  const bool there = Eventually(
      [&] {
        addresses = ListeningAddresses(process_->pid());
        return addresses.size() == expected || !IsAlive(process_->pid());
      },
      kStartLimit);
  if (there && addresses.size() == expected) return addresses;
  return absl::UnavailableError(
      absl::StrCat(application_.name, " does not listen; it printed:\n", Log()));
}

std::string LoneApplication::Log() const {
  std::ifstream file(folder_ / "log");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace cohost::testing
