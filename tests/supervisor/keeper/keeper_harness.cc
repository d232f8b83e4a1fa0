// SPDX-License-Identifier: Apache-2.0
#include "tests/supervisor/keeper/keeper_harness.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/system/file.h"
#include "base/system/seqpacket.h"
#include "gtest/gtest.h"
#include "supervisor/keeper/child_processes.h"

namespace cohost::supervisor {
namespace {

constexpr char kCohostd[] = "supervisor/keeper/cohostd";
constexpr char kRelay[] = "tests/services/relay_supervisor";

// In every process of this test, so that runs beside each other do not see the others'.
std::string OwnMark() { return "TEST_PROCESS=" + std::to_string(getpid()) + "."; }

}  // namespace

Seat::Seat(UniqueFd control, UniqueFd keeper_socket, pid_t pid, std::vector<std::string> arguments)
    : control_(std::move(control)),
      keeper_socket_(std::move(keeper_socket)),
      pid_(pid),
      arguments_(std::move(arguments)) {}

void Seat::Connect() {
  auto connected = KeeperClient::Connect(loop_, std::move(keeper_socket_), testing::kPatience);
  ASSERT_TRUE(connected.ok()) << connected.status();
  client_ = std::move(connected->first);
  inheritance_ = std::move(connected->second);
  client_->OnExit([this](const ExitRecord& record) { exits_.push_back(record); });
}

const ExitRecord* Seat::FindExit(const std::string& name) const {
  for (const ExitRecord& record : exits_) {
    if (record.name == name) return &record;
  }
  return nullptr;
}

bool Seat::RunUntil(const std::function<bool()>& condition) {
  const SteadyTime deadline = SystemClock().Steady() + testing::kPatience;
  while (!condition()) {
    if (SystemClock().Steady() >= deadline) return false;
    loop_.restart();
    loop_.run_one_for(std::chrono::milliseconds(20));
  }
  return true;
}

absl::StatusOr<LaunchedProcess> Seat::Launch(ProcessSpec spec) {
  std::optional<absl::StatusOr<LaunchedProcess>> result;
  client_->Launch(std::move(spec),
                  [&](absl::StatusOr<LaunchedProcess> launched) { result = std::move(launched); });
  if (!RunUntil([&] { return result.has_value(); })) return absl::DeadlineExceededError("launch");
  return *std::move(result);
}

absl::Status Seat::Kill(const std::string& name) {
  std::optional<absl::Status> result;
  client_->Kill(name, [&](absl::Status status) { result = std::move(status); });
  if (!RunUntil([&] { return result.has_value(); })) return absl::DeadlineExceededError("kill");
  return *result;
}

absl::Status Seat::Hold(const std::string& name, const std::string& blob,
                        const std::vector<int>& descriptors) {
  std::optional<absl::Status> result;
  client_->Hold(name, blob, descriptors, [&](absl::Status status) { result = std::move(status); });
  if (!RunUntil([&] { return result.has_value(); })) return absl::DeadlineExceededError("hold");
  return *result;
}

void Seat::Tell(const std::string& command) {
  EXPECT_TRUE(SendMessage(control_.get(), command).ok());
}

KeeperHarness::KeeperHarness() : listener_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder_ / "seat";
  std::memcpy(address.sun_path, path.data(), path.size());
  EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(listen(listener_.get(), 16), 0);
}

KeeperHarness::~KeeperHarness() {
  if (process_ == nullptr) return;
  const auto asked_and_ended = [&] {
    // The second time it does not wait for its supervisor.
    (void)process_->Signal(SIGTERM);
    return process_->WaitUntilEnded(absl::Milliseconds(10)).has_value();
  };
  EXPECT_TRUE(testing::Eventually(asked_and_ended));
}

void KeeperHarness::Start(const std::vector<std::string>& options,
                          testing::TestProcess::Options process,
                          const std::vector<std::string>& wrapper) {
  process.command = wrapper;
  process.command.push_back(testing::ProgramPath(kCohostd));
  process.command.push_back("--supervisor=" + testing::ProgramPath(kRelay));
  process.command.insert(process.command.end(), options.begin(), options.end());
  process.environment.push_back("COHOST_TEST_SOCKET=" + (folder_ / "seat"));
  auto started = testing::TestProcess::Start(process);
  ASSERT_TRUE(started.ok()) << started.status();
  process_ = *std::move(started);
}

std::unique_ptr<Seat> KeeperHarness::NextSeat() {
  if (!testing::WaitReadable(listener_.get())) return nullptr;
  UniqueFd control(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!control.valid() || !testing::WaitReadable(control.get())) return nullptr;
  auto message = ReceiveMessage(control.get());
  if (!message.ok() || message->descriptors.size() != 1) return nullptr;
  ucred peer{};
  socklen_t size = sizeof(peer);
  getsockopt(control.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
  std::vector<std::string> arguments = absl::StrSplit(message->bytes, '\n');
  arguments.pop_back();  // the closing dot
  return std::make_unique<Seat>(std::move(control), std::move(message->descriptors[0]), peer.pid,
                                std::move(arguments));
}

ProcessSpec Shell(const std::string& name, const std::string& command) {
  ProcessSpec spec;
  spec.name = name;
  spec.program = "/bin/sh";
  spec.arguments = {"sh", "-c", command};
  spec.environment = {"PATH=/usr/bin:/bin", OwnMark()};
  return spec;
}

ProcessSpec Sleep(const std::string& name) {
  ProcessSpec spec = Shell(name, "");
  spec.program = "/bin/sleep";
  spec.arguments = {"sleep", "1000"};
  return spec;
}

std::string StatusField(pid_t pid, const std::string& key) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + ":", 0) != 0) continue;
    return std::string(absl::StripAsciiWhitespace(line.substr(key.size() + 1)));
  }
  return "no such field";
}

std::vector<pid_t> ProcessesMarked(const std::string& name) {
  std::vector<pid_t> marked;
  std::error_code ignored;  // processes come and go
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t pid = atoi(entry.path().filename().c_str());
    if (pid <= 0 || !CarriesMark(pid, name)) continue;
    const auto environment = ReadRegularFile(entry.path().string() + "/environ", MiB(1));
    if (environment.ok() && environment->find(OwnMark()) != std::string::npos) {
      marked.push_back(pid);
    }
  }
  return marked;
}

}  // namespace cohost::supervisor
