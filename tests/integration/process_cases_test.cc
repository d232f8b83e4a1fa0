// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "tests/support/http_client.h"
#include "tests/support/process_view.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

// Cases PRC: processes, signals and descriptors of a whole host.
namespace cohost::testing {
namespace {

std::string ServiceLine(const std::string& name, const std::string& module,
                        const std::string& more = "") {
  return absl::StrCat("  - {name: ", name, ", runtime: native, module: \"${", module,
                      "}\", listen: [\"http://127.0.0.1:0\"]", more, "}\n");
}

absl::StatusOr<HttpAnswer> Get(const TestHost& host, const std::string& service,
                               const std::string& target = "/") {
  COHOST_ASSIGN_OR_RETURN(HttpClient client, HttpClient::Connect(host.Port(service)));
  return client.Get(target);
}

int StatusOf(const TestHost& host, const std::string& service) {
  const auto answer = Get(host, service);
  return answer.ok() ? answer->status : -1;
}

std::vector<pid_t> Pids(const std::string& lines) {
  std::vector<pid_t> pids;
  std::istringstream text(lines);
  for (pid_t pid = 0; text >> pid;) pids.push_back(pid);
  return pids;
}

size_t Zombies(pid_t keeper) {
  const std::vector<pid_t> all = DescendantsOf(keeper);
  return static_cast<size_t>(std::count_if(all.begin(), all.end(), [](pid_t pid) {
    return StatusField(pid, "State").rfind("Z", 0) == 0;
  }));
}

const char kPair[] = R"(
groups:
  - {name: pair, match: {class: [latency]}, workers: 2}
services:
  - {name: both, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"], load: {class: latency}}
)";

// A worker's life hangs on no thread: neither on those that handle the admin calls which start it,
// nor on the supervisor. (The case waits 5 minutes; a death signal comes when the thread ends, so
// threads that ended are enough.)
TEST(ProcessCases, PRC_02_WorkersOutliveTheThreadsThatAskedForThem) {
  const auto host = TestHost::StartOrDie({kPair, {}, {}});
  const auto recycled = host->Recycle("pair");
  ASSERT_TRUE(recycled.ok()) << recycled.status();
  ASSERT_EQ(recycled->recycled_size(), 2);
  const auto before = host->WorkerPids();
  ASSERT_EQ(before.size(), 2u);
  for (const auto& [slot, pid] : before) {
    EXPECT_EQ(StatusField(pid, "PPid"), absl::StrCat(host->keeper().pid())) << slot;
  }
  const pid_t supervisor = host->SupervisorPid();
  for (int call = 0; call < 100; ++call) {
    std::thread([&] { EXPECT_TRUE(host->Status().ok()); }).join();
  }
  EXPECT_EQ(host->WorkerPids(), before);
  ASSERT_EQ(kill(supervisor, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] {
    const pid_t next = host->SupervisorPid();
    return next > 0 && next != supervisor && host->WorkerPids().size() == 2;
  })) << host->Log();
  EXPECT_EQ(host->WorkerPids(), before);
}

TEST(ProcessCases, PRC_04_NothingIsLeftOfTenGenerationsWithGrandchildren) {
  const auto host = TestHost::StartOrDie(
      {absl::StrCat("groups:\n  - {name: kids}\nservices:\n", ServiceLine("kids", "kids",
                                                                          ", group: kids, "
                                                                          "settings: {count: 3}")),
       {},
       {}});
  std::set<pid_t> gone;
  for (int round = 0; round < 10; ++round) {
    const auto answer = Get(*host, "kids");
    ASSERT_TRUE(answer.ok()) << answer.status();
    const std::vector<pid_t> pids = Pids(answer->body);
    ASSERT_EQ(pids.size(), 3u) << answer->body;
    for (const pid_t pid : pids) EXPECT_TRUE(IsAlive(pid));
    gone.insert(pids.begin(), pids.end());
    const auto recycled = host->Recycle("kids");
    ASSERT_TRUE(recycled.ok()) << recycled.status();
    ASSERT_EQ(recycled->failed_size(), 0) << recycled->failed(0);
    ASSERT_TRUE(Eventually([&] { return std::none_of(pids.begin(), pids.end(), IsAlive); }));
  }
  EXPECT_EQ(gone.size(), 30u);
  const auto last = Get(*host, "kids");
  ASSERT_TRUE(last.ok());
  ASSERT_EQ(host->Stop()->exit_code, 0);
  for (const pid_t pid : Pids(last->body)) EXPECT_FALSE(IsAlive(pid)) << "left after the end";
}

TEST(ProcessCases, PRC_05_TwentyCrashesAtOnceAreAllReportedRightly) {
  constexpr int kServices = 20;
  std::string text = "grouping: {max_services_per_worker: 1}\nservices:\n";
  for (int i = 0; i < kServices; ++i) {
    absl::StrAppend(&text,
                    ServiceLine(absl::StrCat("crash", i), "crash",
                                absl::StrCat(", settings: {how: exit, code: ", 100 + i, "}")));
  }
  const auto host = TestHost::StartOrDie({text, {}, {}});
  std::vector<HttpClient> clients;
  for (int i = 0; i < kServices; ++i) {
    auto client = HttpClient::Connect(host->Port(absl::StrCat("crash", i)));
    ASSERT_TRUE(client.ok()) << client.status();
    clients.push_back(*std::move(client));
  }
  for (HttpClient& client : clients) {
    ASSERT_TRUE(client.Send("GET /crash HTTP/1.1\r\nHost: a\r\n\r\n").ok());
  }
  for (HttpClient& client : clients) EXPECT_TRUE(client.WaitUntilClosed());
  EXPECT_TRUE(Eventually([&] { return Zombies(host->keeper().pid()) == 0; }, absl::Seconds(2)));
  ASSERT_TRUE(host->WaitUntilReady()) << host->Log();
  std::map<std::string, std::string> exits;
  for (const auto& worker : host->Workers()) {
    ASSERT_EQ(worker.services_size(), 1);
    exits[worker.services(0)] = worker.last_exit();
    EXPECT_EQ(worker.last_reason(), v1::RECYCLE_REASON_CRASH);
  }
  for (int i = 0; i < kServices; ++i) {
    EXPECT_EQ(exits[absl::StrCat("crash", i)], absl::StrCat("exit code ", 100 + i));
  }
}

constexpr char kIgnoring[] = "trap '' PIPE HUP CHLD; exec \"$@\"";

// Documented: a worker handles its signals on its loop (blocked: HUP, INT, QUIT, USR1, TERM as far
// as the loop reads them) and ignores SIGPIPE. What is inherited must not show: CHLD and HUP.
TEST(ProcessCases, PRC_07_WorkersHaveACleanSignalStateWhateverStartedTheHost) {
  const auto host = TestHost::StartOrDie({kPair, {}, {}, {"/bin/sh", "-c", kIgnoring, "sh"}});
  const auto clean = TestHost::StartOrDie({kPair, {}, {}});
  const auto of_clean = clean->WorkerPids();
  const auto workers = host->WorkerPids();
  ASSERT_EQ(workers.size(), 2u);
  constexpr uint64_t kPipeOnly = uint64_t{1} << (SIGPIPE - 1);
  for (const auto& [slot, pid] : workers) {
    EXPECT_EQ(std::stoull(StatusField(pid, "SigIgn"), nullptr, 16), kPipeOnly) << slot;
    EXPECT_EQ(StatusField(pid, "SigBlk"), StatusField(of_clean.at(slot), "SigBlk")) << slot;
  }
  const pid_t victim = workers.at("pair/0");
  const absl::Time begin = absl::Now();
  ASSERT_EQ(kill(victim, SIGTERM), 0);
  EXPECT_TRUE(Eventually([&] { return !IsAlive(victim); }));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
  // Its end was seen although SIGCHLD had been ignored.
  EXPECT_TRUE(Eventually([&] { return host->WorkerPids().size() == 2u; })) << host->Log();
}

TEST(ProcessCases, PRC_08_WorkersHoldOnlyWhatIsTheirs) {
  const auto host = TestHost::StartOrDie({kPair, {}, {}});
  for (const auto& [slot, pid] : host->WorkerPids()) {
    size_t sockets = 0;
    for (const auto& [number, target] : DescriptorsOf(pid)) {
      if (number > 2) {
        EXPECT_TRUE(HasCloseOnExec(pid, number)) << slot << " " << number << " " << target;
      }
      sockets += target.rfind("socket:", 0) == 0;
      const bool known = target == "/dev/null" || target.rfind("socket:", 0) == 0 ||
                         target.rfind("anon_inode:", 0) == 0 ||
                         target.find("/state/logs/") != std::string::npos;
      EXPECT_TRUE(known) << slot << " holds " << number << " " << target;
    }
    // The link, its end of the channel, one listener, and the two ends to a replacement at most.
    EXPECT_LE(sockets, 5u) << slot;
  }
}

TEST(ProcessCases, PRC_08_ARestartBindsTheSamePortsThoughGrandchildrenHeldThem) {
  const std::string kids = ServiceLine("kids", "kids");
  const auto host = TestHost::StartOrDie({absl::StrCat("services:\n", kids), {}, {}});
  const uint16_t port = host->Port("kids");
  const auto answer = Get(*host, "kids");
  ASSERT_TRUE(answer.ok());
  // A grandchild that was forked without exec does hold the listener, as long as it lives.
  EXPECT_GT(CountDescriptors(Pids(answer->body).at(0), "socket:"), 0u);
  ASSERT_EQ(host->Stop()->exit_code, 0) << host->Log();
  std::string fixed = absl::StrCat("services:\n", kids);
  fixed.replace(fixed.find("127.0.0.1:0"), 11, absl::StrCat("127.0.0.1:", port));
  const auto again = TestHost::Start({fixed, {}, {}});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->Port("kids"), port);
  EXPECT_EQ(StatusOf(**again, "kids"), 200);
}

// The case says 500 recycles; a descriptor lost in each shows in 50 too.
TEST(ProcessCases, PRC_08_FiftyRecyclesLeaveNoDescriptorBehind) {
  const auto host = TestHost::StartOrDie({kPair, {}, {}});
  const auto count = [](pid_t pid) { return DescriptorsOf(pid).size(); };
  const pid_t supervisor = host->SupervisorPid();
  const auto settled = [&] { return host->Workers().size() == 2u; };
  ASSERT_TRUE(host->Recycle("pair").ok());
  ASSERT_TRUE(Eventually(settled));
  const size_t of_supervisor = count(supervisor);
  const size_t of_keeper = count(host->keeper().pid());
  for (int round = 0; round < 25; ++round) {
    const auto recycled = host->Recycle("pair");
    ASSERT_TRUE(recycled.ok()) << recycled.status();
    ASSERT_EQ(recycled->recycled_size(), 2) << host->Log();
  }
  ASSERT_TRUE(Eventually(settled));
  // Admin calls that have just ended may still hold theirs.
  EXPECT_TRUE(Eventually([&] { return count(supervisor) <= of_supervisor + 1; }))
      << of_supervisor << " became " << count(supervisor);
  EXPECT_TRUE(Eventually([&] { return count(host->keeper().pid()) <= of_keeper; }))
      << of_keeper << " became " << count(host->keeper().pid());
}

// The case has 400 services; two in each of the 100 workers pass 1,024 descriptors as well.
TEST(ProcessCases, PRC_09_AHundredWorkersWithMoreThan1024Descriptors) {
  constexpr int kServices = 200;
  std::string text = "grouping: {max_services_per_worker: 2}\nservices:\n";
  for (int i = 0; i < kServices; ++i) {
    absl::StrAppend(&text, ServiceLine(absl::StrCat("s", i), "echo"));
  }
  const auto host =
      TestHost::StartOrDie({text, {}, {}, {"/bin/sh", "-c", "ulimit -n 20000; exec \"$@\"", "sh"}});
  EXPECT_EQ(host->WorkerPids().size(), 100u);
  EXPECT_TRUE(host->Status()->healthy());
  EXPECT_GT(DescriptorsOf(host->keeper().pid()).rbegin()->first, 400);
  for (int i = 0; i < kServices; ++i) {
    EXPECT_EQ(StatusOf(*host, absl::StrCat("s", i)), 200) << i;
  }
}

TEST(ProcessCases, PRC_09_ATooLowLimitIsAStartErrorWithTheNeededNumber) {
  std::string text = "grouping: {max_services_per_worker: 1}\nservices:\n";
  for (int i = 0; i < 40; ++i) absl::StrAppend(&text, ServiceLine(absl::StrCat("s", i), "echo"));
  const auto host =
      TestHost::Start({text, {}, {}, {"/bin/sh", "-c", "ulimit -n 100; exec \"$@\"", "sh"}});
  ASSERT_FALSE(host.ok());
  // 128 to spare, 42 listeners with those of admin and metrics, 7 for each of 40 workers.
  const std::string message(host.status().message());
  EXPECT_NE(message.find("needs up to 450 descriptors"), std::string::npos) << message;
  EXPECT_NE(message.find("the limit is 100"), std::string::npos) << message;
}

// Calls and scrapes that come without a pause, each on a connection of its own.
class Callers {
 public:
  explicit Callers(const TestHost& host) {
    for (int i = 0; i < 2; ++i) {
      threads_.emplace_back([this, &host] {
        while (!stopping_) answered_ += host.Status().ok();
      });
    }
    threads_.emplace_back([this, &host] {
      while (!stopping_) scraped_ += !host.Metrics().empty();
    });
  }
  ~Callers() {
    stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  int answered() const { return answered_; }
  int scraped() const { return scraped_; }

 private:
  std::atomic<bool> stopping_{false};
  std::atomic<int> answered_{0};
  std::atomic<int> scraped_{0};
  std::vector<std::thread> threads_;
};

// The case has 2,000 workers; what can lock up at a fork does so far more often than once in 200.
TEST(ProcessCases, PRC_12_TwoHundredWorkersStartWhileCallsAndScrapesRun) {
  const auto host =
      TestHost::StartOrDie({absl::StrCat("groups:\n  - {name: four, workers: 4}\nservices:\n",
                                         ServiceLine("s", "echo", ", group: four")),
                            {},
                            {}});
  const Callers callers(*host);
  for (int round = 0; round < 50; ++round) {
    const auto recycled = host->Recycle("four");
    ASSERT_TRUE(recycled.ok()) << recycled.status() << " in round " << round;
    ASSERT_EQ(recycled->recycled_size(), 4) << recycled->failed(0);
  }
  EXPECT_GT(callers.answered(), 50);
  EXPECT_GT(callers.scraped(), 10);
  for (const auto& worker : host->Workers()) {
    if (worker.state() == v1::WORKER_STATE_READY) {
      EXPECT_EQ(worker.generation(), 51u);
    }
  }
}

}  // namespace
}  // namespace cohost::testing
