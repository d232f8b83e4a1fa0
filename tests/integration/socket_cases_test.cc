// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/system/unique_fd.h"
#include "tests/support/http_client.h"
#include "tests/support/http_load.h"
#include "tests/support/process_view.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

// Cases SOK: listening sockets of a whole host.
namespace cohost::testing {
namespace {

std::string ServiceLine(const std::string& name, const std::string& listen,
                        const std::string& more = "") {
  return absl::StrCat("  - {name: ", name, ", runtime: native, module: \"${echo}\", listen: [",
                      listen, "]", more, "}\n");
}

std::string GroupOf(int workers, const std::string& more = "") {
  return absl::StrCat("groups:\n  - {name: g, workers: ", workers, more, "}\nservices:\n",
                      ServiceLine("s", "\"http://127.0.0.1:0\"", ", group: g"));
}

absl::StatusOr<HttpAnswer> Get(uint16_t port) {
  COHOST_ASSIGN_OR_RETURN(HttpClient client, HttpClient::Connect(port));
  return client.Get("/");
}

int StatusOf(uint16_t port) {
  const auto answer = Get(port);
  return answer.ok() ? answer->status : -1;
}

UniqueFd ConnectTcp(uint16_t port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) fd.Reset();
  return fd;
}

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof(address.sun_path)));
  return address;
}

UniqueFd ConnectUnix(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = UnixAddress(path);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) fd.Reset();
  return fd;
}

int StatusOfUnix(const std::string& path) {
  UniqueFd fd = ConnectUnix(path);
  if (!fd.valid()) return -1;
  const auto answer = HttpClient(std::move(fd)).Get("/");
  return answer.ok() ? answer->status : -2;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Runs `cohostctl validate` again and again, against the host and for the file alone.
class Validations {
 public:
  explicit Validations(TestHost& host) : thread_([this, &host] { Run(host); }) {}
  ~Validations() {
    stopping_ = true;
    thread_.join();
  }
  int passed() const { return passed_; }
  int failed() const { return failed_; }

 private:
  void Run(TestHost& host) {
    for (int i = 0; !stopping_; ++i) {
      TestProcess::Options process;
      process.command = {ProgramPath("supervisor/ctl/cohostctl"), "--socket", host.admin_socket(),
                         "validate"};
      if (i % 2 == 0) process.command.push_back(host.deployment_file());
      const UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
      process.descriptors = {{1, nowhere.get()}};
      const auto ctl = TestProcess::Start(process);
      const auto ended = ctl.ok() ? (*ctl)->WaitUntilEnded() : std::nullopt;
      ++(ended && ended->exit_code == 0 ? passed_ : failed_);
    }
  }

  std::atomic<bool> stopping_{false};
  std::atomic<int> passed_{0};
  std::atomic<int> failed_{0};
  std::thread thread_;
};

// The case has 8, 2 and 8 workers for a minute.
TEST(SocketCases, SOK_01_NoConnectionIsLostWhileWorkersComeAndGo) {
  const auto host = TestHost::StartOrDie({GroupOf(4), {}, {}});
  HttpLoad load({{host->Port("s")}, "/", /*connections=*/32, /*rate=*/600, /*keep_alive=*/false});
  for (int round = 0; round < 3; ++round) {
    for (const int workers : {1, 4}) {
      host->WriteDeployment(GroupOf(workers));
      ASSERT_TRUE(host->Reload().ok());
      ASSERT_TRUE(
          Eventually([&] { return host->Workers().size() == static_cast<size_t>(workers); }));
      ASSERT_TRUE(host->WaitUntilReady());
      const uint64_t answered = load.answered();
      ASSERT_TRUE(Eventually([&] { return load.answered() > answered + 100; }));
      const auto recycled = host->Recycle("g");
      ASSERT_TRUE(recycled.ok()) << recycled.status();
      EXPECT_EQ(recycled->failed_size(), 0) << recycled->failed(0);
    }
  }
  const LoadReport report = load.Stop();
  EXPECT_EQ(report.failures(), 0u) << report.first_failure;
  EXPECT_GT(report.answered, 600u);
}

TEST(SocketCases, SOK_01_AConfigurationCheckDisturbsNoConnection) {
  const auto host = TestHost::StartOrDie({GroupOf(2), {}, {}});
  HttpLoad load({{host->Port("s")}, "/", /*connections=*/16, /*rate=*/400, /*keep_alive=*/false});
  {
    const Validations validations(*host);
    ASSERT_TRUE(Eventually([&] { return validations.passed() + validations.failed() >= 20; }));
    EXPECT_EQ(validations.failed(), 0);
  }
  const LoadReport report = load.Stop();
  EXPECT_EQ(report.failures(), 0u) << report.first_failure;
}

class UnixSocket : public ::testing::Test {
 protected:
  UnixSocket() : path_(folder_ / "s.sock") { chmod(folder_.path().c_str(), 0777); }
  std::string Deployment() const {
    return absl::StrCat("services:\n", ServiceLine("s", absl::StrCat("\"http+unix:", path_, "\"")));
  }

  TemporaryFolder folder_;
  const std::string path_;
};

TEST_F(UnixSocket, SOK_03_FilesOfAKilledHostAreReplaced) {
  const auto killed = TestHost::StartOrDie({Deployment(), {}, {}});
  ASSERT_EQ(StatusOfUnix(path_), 200);
  const auto workers = killed->WorkerPids();
  ASSERT_TRUE(killed->keeper().Signal(SIGKILL));
  ASSERT_TRUE(killed->keeper().WaitUntilEnded().has_value());
  const std::string runtime_dir = killed->folder() / "run";
  // Orphaned workers serve on for a while: their socket is alive, and they are named.
  const auto refused = TestHost::Start({Deployment(), {"--runtime-dir", runtime_dir}, {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(std::string(refused.status().message()).find(path_), std::string::npos);
  EXPECT_NE(std::string(refused.status().message()).find("cohost-worker"), std::string::npos)
      << refused.status();
  for (const auto& [slot, pid] : workers) {
    // Ignoring the result: what tidied up after the refused host may have ended it already.
    (void)kill(pid, SIGKILL);
    ASSERT_TRUE(Eventually([pid = pid] { return !IsAlive(pid); }));
  }
  ASSERT_EQ(access(path_.c_str(), F_OK), 0) << "the file should have been left";
  const auto again = TestHost::Start({Deployment(), {"--runtime-dir", runtime_dir}, {}});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(StatusOfUnix(path_), 200);
  EXPECT_TRUE((*again)->Status().ok());
}

TEST_F(UnixSocket, SOK_03_WhatIsNoStaleSocketIsRefusedAndStays) {
  const auto refused = [&](const std::string& reason) {
    struct stat before {};
    struct stat after {};
    ASSERT_EQ(lstat(path_.c_str(), &before), 0);
    const auto host = TestHost::Start({Deployment(), {}, {}});
    ASSERT_FALSE(host.ok()) << reason;
    const std::string message(host.status().message());
    EXPECT_NE(message.find(path_), std::string::npos) << message;
    EXPECT_NE(message.find(reason), std::string::npos) << message;
    ASSERT_EQ(lstat(path_.c_str(), &after), 0);
    EXPECT_EQ(after.st_ino, before.st_ino);
    EXPECT_EQ(after.st_mode, before.st_mode);
  };
  std::ofstream(path_) << "text";
  refused("a file");
  EXPECT_EQ(ReadText(path_), "text");
  ASSERT_EQ(unlink(path_.c_str()), 0);

  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  refused("a folder");
  ASSERT_EQ(rmdir(path_.c_str()), 0);

  ASSERT_EQ(symlink("/nowhere/at/all", path_.c_str()), 0);
  refused("a symbolic link");
  ASSERT_EQ(unlink(path_.c_str()), 0);

  const UniqueFd live(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = UnixAddress(path_);
  ASSERT_EQ(bind(live.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(live.get(), 8), 0);
  refused(absl::StrCat(getpid()));
  EXPECT_TRUE(ConnectUnix(path_).valid());
}

TEST_F(UnixSocket, SOK_03_PathsUpTo107CharactersWorkAndLongerOnesAreNamed) {
  for (const size_t length : {60u, 106u, 107u, 108u, 200u}) {
    std::string path = folder_.path() + "/";
    path.append(length - path.size(), 'x');
    const auto host = TestHost::Start(
        {absl::StrCat("services:\n", ServiceLine("a-name-of-exactly-forty-characters-in-all",
                                                 absl::StrCat("\"http+unix:", path, "\""))),
         {},
         {}});
    if (length <= 107) {
      ASSERT_TRUE(host.ok()) << host.status();
      EXPECT_EQ(StatusOfUnix(path), 200) << length;
    } else {
      ASSERT_FALSE(host.ok()) << length;
      EXPECT_NE(std::string(host.status().message()).find(absl::StrCat(length)), std::string::npos)
          << host.status();
    }
  }
}

TEST_F(UnixSocket, SOK_03_ATooLongRuntimeFolderIsRefusedWithItsLength) {
  std::string folder = folder_.path() + "/";
  folder.append(120 - folder.size(), 'r');
  const auto host = TestHost::Start({GroupOf(1), {"--runtime-dir", folder}, {}});
  ASSERT_FALSE(host.ok());
  const std::string message(host.status().message());
  // With "/admin.sock".
  EXPECT_NE(message.find("131"), std::string::npos) << message;
}

// The case holds 200 connections for 30 s, and has a limit of 64; 256 is the least that can be set.
TEST(SocketCases, SOK_04_AWorkerOutOfDescriptorsNeitherSpinsNorLosesConnections) {
  const auto host = TestHost::StartOrDie({GroupOf(1, ", limits: {open_files: 256}"), {}, {}});
  const uint16_t port = host->Port("s");
  const auto worker = host->Workers().at(0);
  const auto pid = static_cast<pid_t>(worker.pid());
  std::vector<HttpClient> held;
  for (int i = 0; i < 300; ++i) {
    auto client = HttpClient::Connect(port);
    ASSERT_TRUE(client.ok()) << client.status();
    ASSERT_TRUE(client->Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").ok());
    held.push_back(*std::move(client));
  }
  // One more, which has to wait, and does, without a core being burnt meanwhile.
  const UniqueFd waiting = ConnectTcp(port);
  ASSERT_TRUE(waiting.valid());
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  ASSERT_EQ(send(waiting.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  ASSERT_TRUE(Eventually([&] {
    return ReadText(worker.log_file()).find("out of descriptors") != std::string::npos;
  })) << ReadText(worker.log_file());
  const absl::Duration cpu = CpuTimeOf(pid);
  const absl::Time begin = absl::Now();
  EXPECT_FALSE(WaitReadable(waiting.get(), absl::Seconds(2)));
  EXPECT_LT(CpuTimeOf(pid) - cpu, (absl::Now() - begin) / 10);
  // One line, not one for each attempt.
  const std::string log = ReadText(worker.log_file());
  EXPECT_EQ(log.find("out of descriptors"), log.rfind("out of descriptors")) << log;
  const std::string metrics = host->Metrics();
  const std::string series = "cohost_worker_accept_errors_total{group=\"g\",slot=\"0\"} ";
  const size_t at = metrics.find(series);
  ASSERT_NE(at, std::string::npos) << metrics;
  EXPECT_GT(std::stod(metrics.substr(at + series.size())), 0);
  // Everybody is answered once there is room.
  held.clear();
  EXPECT_TRUE(WaitReadable(waiting.get(), absl::Seconds(2)));
  EXPECT_EQ(StatusOf(port), 200);
  EXPECT_EQ(host->WorkerPids().at("g/0"), pid);
}

TEST(SocketCases, SOK_04_ASiblingTakesWhatAWorkerWithoutDescriptorsCannot) {
  const auto host = TestHost::StartOrDie({GroupOf(2, ", limits: {open_files: 256}"), {}, {}});
  std::vector<HttpClient> held;
  // More than either can have alone.
  for (int i = 0; i < 400; ++i) {
    auto client = HttpClient::Connect(host->Port("s"));
    ASSERT_TRUE(client.ok()) << client.status();
    const auto answer = client->Get("/");
    ASSERT_TRUE(answer.ok()) << i << ": " << answer.status();
    EXPECT_EQ(answer->status, 200);
    held.push_back(*std::move(client));
  }
}

TEST(SocketCases, SOK_04_ASupervisorOutOfDescriptorsNeitherSpinsNorStaysSo) {
  const auto host = TestHost::StartOrDie({GroupOf(1), {}, {}});
  const pid_t supervisor = host->SupervisorPid();
  // For this process no more than it has, and 4: a descriptor gets the lowest number that is free,
  // and must be below the limit.
  rlimit limit{};
  ASSERT_EQ(prlimit(supervisor, RLIMIT_NOFILE, nullptr, &limit), 0);
  const auto used = DescriptorsOf(supervisor);
  limit.rlim_cur = 0;
  for (int free = 0; free < 5; ++limit.rlim_cur) {
    free += used.contains(static_cast<int>(limit.rlim_cur)) ? 0 : 1;
  }
  --limit.rlim_cur;
  ASSERT_EQ(prlimit(supervisor, RLIMIT_NOFILE, &limit, nullptr), 0);
  std::vector<UniqueFd> held;
  for (int i = 0; i < 40; ++i) {
    held.push_back(ConnectUnix(host->admin_socket()));
    ASSERT_TRUE(held.back().valid());
  }
  const absl::Duration cpu = CpuTimeOf(supervisor);
  const absl::Time begin = absl::Now();
  // They wait in the queue, or are closed where a descriptor is free for accept and none for more.
  EXPECT_FALSE(WaitReadable(host->keeper().pidfd(), absl::Seconds(2))) << "the host has ended";
  EXPECT_LT(CpuTimeOf(supervisor) - cpu, (absl::Now() - begin) / 10);
  EXPECT_EQ(StatusOf(host->Port("s")), 200);
  held.clear();
  EXPECT_TRUE(Eventually([&] { return host->Status().ok(); }));
  EXPECT_EQ(host->SupervisorPid(), supervisor);
  const std::string metrics = host->Metrics();
  const size_t at = metrics.find("\ncohost_accept_errors_total ");
  ASSERT_NE(at, std::string::npos) << metrics;
  EXPECT_GT(std::stod(metrics.substr(at + sizeof("\ncohost_accept_errors_total"))), 0);
}

// The last waiter is served first (a kernel rule, in worker/accept/acceptor.h), so few connections
// at a time go to few workers; nothing in placement or recycling relies on an even spread. What
// must hold: one connection wakes one worker.
TEST(SocketCases, SOK_05_AConnectionWakesOneWorker) {
  constexpr int kConnections = 500;
  const auto host = TestHost::StartOrDie({GroupOf(8), {}, {}});
  const auto workers = host->WorkerPids();
  ASSERT_EQ(workers.size(), 8u);
  const auto wakeups = [&] {
    uint64_t sum = 0;
    for (const auto& [slot, pid] : workers) sum += VoluntarySwitches(pid, "accept");
    return sum;
  };
  ASSERT_GT(wakeups(), 0u) << "the accept threads have another name";
  const uint64_t before = wakeups();
  for (int i = 0; i < kConnections; ++i) ASSERT_EQ(StatusOf(host->Port("s")), 200) << i;
  EXPECT_LE(static_cast<double>(wakeups() - before), 1.2 * kConnections);
}

TEST(SocketCases, SOK_05_ManyConnectionsReachEveryWorker) {
  const auto host =
      TestHost::StartOrDie({absl::StrCat("groups:\n  - {name: g, workers: 8}\nservices:\n",
                                         ServiceLine("s", "\"http://127.0.0.1:0\"",
                                                     ", group: g, limits: {connections: 50}")),
                            {},
                            {}});
  std::map<pid_t, int> answers;
  std::vector<HttpClient> held;
  // As many as all workers may have: those that are full leave the rest to the others.
  for (int i = 0; i < 400; ++i) {
    auto client = HttpClient::Connect(host->Port("s"));
    ASSERT_TRUE(client.ok()) << client.status();
    held.push_back(*std::move(client));
  }
  for (HttpClient& client : held) {
    const auto answer = client.Get("/");
    ASSERT_TRUE(answer.ok()) << answer.status();
    ++answers[std::stoi(answer->body)];
  }
  EXPECT_EQ(answers.size(), 8u);
  for (const auto& [pid, count] : answers) EXPECT_LE(count, 50) << pid;
}

// The case has 2,000 clients and 20 s.
TEST(SocketCases, SOK_06_AbandonedConnectionsDoNotDelayTheNext) {
  const auto host = TestHost::StartOrDie(
      {absl::StrCat(
           "groups:\n  - {name: g, health: {interval: 1h}}\nservices:\n",
           ServiceLine("s", "{address: \"http://127.0.0.1:0\", backlog: 600}", ", group: g"),
           ServiceLine("most", "{address: \"http://127.0.0.1:0\", backlog: 65535}")),
       {},
       {}});
  EXPECT_EQ(host->Service("s")->backlog(), 600u);
  uint32_t cap = 0;
  std::ifstream("/proc/sys/net/core/somaxconn") >> cap;
  EXPECT_EQ(host->Service("most")->backlog(), cap) << "what the kernel allows, not what was asked";

  const uint16_t port = host->Port("s");
  const pid_t worker = host->WorkerPids().at("g/0");
  ASSERT_EQ(kill(worker, SIGSTOP), 0);
  std::vector<UniqueFd> clients;
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (int i = 0; i < 500; ++i) {
    clients.push_back(ConnectTcp(port));
    ASSERT_TRUE(clients.back().valid()) << i;
    ASSERT_EQ(send(clients.back().get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
  }
  EXPECT_TRUE(Eventually([&] { return host->Service("s")->backlog_waiting() >= 450; }))
      << host->Service("s")->backlog_waiting();
  clients.clear();
  ASSERT_EQ(kill(worker, SIGCONT), 0);
  const absl::Time begin = absl::Now();
  EXPECT_EQ(StatusOf(port), 200);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(2));
  EXPECT_TRUE(Eventually([&] { return host->Service("s")->backlog_waiting() == 0; }));
  EXPECT_EQ(host->WorkerPids().at("g/0"), worker);
}

std::string ManyListeners(int count, int open_files) {
  std::string listen = "\"http://127.0.0.1:0\"";
  for (int i = 1; i < count; ++i) absl::StrAppend(&listen, ", \"http://127.0.0.1:0\"");
  return absl::StrCat("groups:\n  - {name: g, limits: {open_files: ", open_files, "}}\nservices:\n",
                      ServiceLine("s", listen, ", group: g"));
}

TEST(SocketCases, SOK_07_AWorkerThatCannotTakeItsListenersNeverReplacesTheOldOne) {
  const auto host = TestHost::StartOrDie({ManyListeners(1, 256), {}, {}});
  const uint16_t port = host->Port("s");
  const pid_t before = host->WorkerPids().at("g/0");
  host->WriteDeployment(ManyListeners(300, 256));
  const auto reload = host->Reload();
  ASSERT_TRUE(reload.ok()) << reload.status();
  ASSERT_TRUE(Eventually([&] {
    const auto events = host->Events();
    return std::any_of(events.begin(), events.end(), [](const auto& event) {
      return event.message().find("descriptor limit") != std::string::npos;
    });
  })) << host->Log();
  EXPECT_EQ(host->WorkerPids().at("g/0"), before);
  EXPECT_EQ(StatusOf(port), 200);
  // With room for them they are taken, in batches: more than 253 do not fit one message.
  host->WriteDeployment(ManyListeners(300, 2048));
  ASSERT_TRUE(host->Reload().ok());
  ASSERT_TRUE(Eventually([&] {
    const auto pids = host->WorkerPids();
    return pids.contains("g/0") && pids.at("g/0") != before && host->Status()->healthy();
  })) << host->Log();
  EXPECT_EQ(host->Service("s")->addresses_size(), 300);
  EXPECT_EQ(StatusOf(port), 200);
}

class Activation : public ::testing::Test {
 protected:
  Activation() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_.get(), 64), 0);
    EXPECT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  // `pid` is a shell word.
  static TestHost::Options Options(const std::string& pid, uint16_t port, int third) {
    return {absl::StrCat("services:\n",
                         ServiceLine("s", absl::StrCat("\"http://127.0.0.1:", port, "\""))),
            {},
            {},
            {"/bin/sh", "-c", "LISTEN_FDS=1 LISTEN_PID=" + pid + " exec \"$@\"", "sh"},
            {{3, third}}};
  }
  static void ExpectNoVariables(const TestHost& host) {
    for (const auto& [slot, pid] : host.WorkerPids()) {
      EXPECT_EQ(EnvironmentOf(pid).find("LISTEN_"), std::string::npos) << slot;
    }
    EXPECT_EQ(EnvironmentOf(host.SupervisorPid()).find("LISTEN_"), std::string::npos);
  }

  const UniqueFd listener_;
  uint16_t port_ = 0;
};

TEST_F(Activation, SOK_08_SocketsForThisHostAreUsed) {
  const auto host = TestHost::Start(Options("$$", port_, listener_.get()));
  // We still hold the address, so only the passed socket can serve there.
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ(StatusOf(port_), 200);
  ExpectNoVariables(**host);
}

TEST_F(Activation, SOK_08_SocketsForSomebodyElseAreIgnored) {
  const auto refused = TestHost::Start(Options("1", port_, listener_.get()));
  ASSERT_FALSE(refused.ok()) << "it used a socket that was not for it";
  EXPECT_NE(std::string(refused.status().message()).find(absl::StrCat(port_)), std::string::npos);
  const auto host = TestHost::Start(Options("1", 0, listener_.get()));
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ(StatusOf((*host)->Port("s")), 200);
  ExpectNoVariables(**host);
}

TEST_F(Activation, SOK_08_AFileInASocketsPlaceIsAStartError) {
  const UniqueFd file(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
  const auto host = TestHost::Start(Options("$$", 0, file.get()));
  ASSERT_FALSE(host.ok());
  const std::string message(host.status().message());
  EXPECT_NE(message.find("LISTEN_FDS"), std::string::npos) << message;
  EXPECT_NE(message.find("descriptor 3"), std::string::npos) << message;
}

}  // namespace
}  // namespace cohost::testing
