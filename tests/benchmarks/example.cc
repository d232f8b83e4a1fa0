// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/example.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/system/unique_fd.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/support/test_process.h"

namespace cohost::benchmarks {
namespace {

// Below the ports that the kernel gives to clients.
constexpr int kFirstOffset = 10'000;
constexpr int kLastOffset = 20'000;
constexpr int kOffsetStep = 100;

std::vector<uint16_t> PortsOf(const std::string& folder) {
  static const std::regex kAddress("127\\.0\\.0\\.1:([0-9]+)");
  std::vector<uint16_t> ports;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      std::smatch found;
      if (!std::regex_search(line, found, kAddress)) continue;
      ports.push_back(static_cast<uint16_t>(std::stoi(found[1])));
    }
  }
  return ports;
}

bool IsFree(int port) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  // As the listeners have it: old connections that wait for their end are no hindrance.
  (void)setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

uint16_t FreeOffset(const std::vector<uint16_t>& ports) {
  for (int offset = kFirstOffset; offset <= kLastOffset; offset += kOffsetStep) {
    const auto is_free = [offset](uint16_t port) { return IsFree(port + offset); };
    if (std::all_of(ports.begin(), ports.end(), is_free)) return static_cast<uint16_t>(offset);
  }
  Fail("there are no free ports for the example");
}

}  // namespace

Example::Example() {
  // Workers of another user have to reach the module store.
  chmod(folder_.path().c_str(), 0755);
  const std::string files = testing::ProgramPath("deploy/examples/reference-data");
  const auto lay_out = Require(
      testing::TestProcess::Start({.command = {files + "/lay_out", folder_ / "example", files}}),
      "lay_out");
  const auto ended = lay_out->WaitUntilEnded();
  if (!ended || ended->exit_code != 0) Fail("the example could not be laid out");
  ports_ = PortsOf(folder_ / "example/services.d");
  offset_ = FreeOffset(ports_);
  for (uint16_t& port : ports_) port = static_cast<uint16_t>(port + offset_);
}

std::unique_ptr<testing::TestHost> Example::Start(const std::string& grouping) const {
  testing::TestHost::Options options;
  options.deployment = absl::StrCat("grouping: ", grouping, "\ninclude: [\"", folder_.path(),
                                    "/example/services.d/*.yaml\"]\n");
  options.arguments = {"--port-offset", absl::StrCat(offset_), "--state-dir", folder_ / "state"};
  return Require(testing::TestHost::Start(std::move(options)), "the host did not start");
}

}  // namespace cohost::benchmarks
