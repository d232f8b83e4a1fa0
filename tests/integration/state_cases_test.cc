// SPDX-License-Identifier: Apache-2.0
//
// What processes that die in the middle of something leave in shared memory and on the disk.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/http_load.h"
#include "tests/support/process_view.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

namespace cohost::testing {
namespace {

constexpr int kServices = 12;
constexpr int kConnections = 24;

std::string Deployment() {
  std::string text = "grouping: {max_services_per_worker: 1}\nservices:\n";
  for (int i = 0; i < kServices; ++i) {
    absl::StrAppend(&text, "  - {name: s", i,
                    ", module: \"${echo}\", listen: [\"http://127.0.0.1:0\"]}\n");
  }
  return text;
}

std::vector<uint16_t> Ports(const TestHost& host) {
  std::vector<uint16_t> ports;
  for (int i = 0; i < kServices; ++i) ports.push_back(host.Port(absl::StrCat("s", i)));
  return ports;
}

// Everything that a process can leave behind: files of the host's folders and of the shared places.
std::map<std::string, size_t> Leftovers(TestHost& host) {
  std::map<std::string, size_t> counts;
  for (const std::string& folder :
       {host.folder() / "run", host.folder() / "state", std::string("/dev/shm")}) {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
      counts[folder] += entry.is_directory() ? 0 : 1;
    }
  }
  counts["keeper's descriptors"] = DescriptorsOf(host.keeper().pid()).size();
  counts["supervisor's descriptors"] = DescriptorsOf(host.SupervisorPid()).size();
  return counts;
}

// Kills one worker after the other, so that none is so often in a row that it is backed off for
// long; each in the middle of what it does.
void KillWorkers(TestHost& host, int kills) {
  for (int kill_number = 0; kill_number < kills; ++kill_number) {
    std::vector<pid_t> workers;
    ASSERT_TRUE(Eventually([&] {
      workers.clear();
      // What the host says may be a moment old.
      for (const auto& [slot, pid] : host.WorkerPids()) {
        if (IsAlive(pid)) workers.push_back(pid);
      }
      return workers.size() > kServices / 2;
    }));
    const pid_t victim = workers[static_cast<size_t>(kill_number) % workers.size()];
    ASSERT_EQ(kill(victim, SIGKILL), 0);
    ASSERT_TRUE(Eventually([&] { return !IsAlive(victim); }));
  }
}

TEST(StateCases, STA_03_WorkersThatDieOrStopWhileTheyCountBlockNobody) {
  constexpr int kKills = 12;
  const auto host = TestHost::StartOrDie({Deployment(), {}, {}});
  HttpLoad load({.ports = Ports(*host), .connections = kConnections, .rate = 4000});
  ASSERT_TRUE(Eventually([&] { return load.answered() > 1000; }));
  const auto stopped = *host->WorkerPids().begin();
  ASSERT_EQ(kill(stopped.second, SIGSTOP), 0);
  KillWorkers(*host, kKills);
  // The supervisor reads the counters of all of them, the stopped one's too.
  for (int i = 0; i < 20; ++i) {
    const absl::Time began = absl::Now();
    ASSERT_TRUE(host->Status().ok());
    EXPECT_EQ(host->Services().size(), static_cast<size_t>(kServices));
    EXPECT_FALSE(host->Metrics().empty());
    EXPECT_LT(absl::Now() - began, absl::Seconds(2));
  }
  // Ignoring its result: it may have been among the victims.
  (void)kill(stopped.second, SIGCONT);
  EXPECT_TRUE(host->WaitUntilReady(absl::Seconds(60))) << host->Log();
  const uint64_t answered = load.answered();
  EXPECT_TRUE(Eventually([&] { return load.answered() > answered + 1000; }));
  const LoadReport report = load.Stop();
  // Whatever was counted before a death is in the totals; a request is counted after its answer was
  // written, so each connection of a victim may have one that was not.
  EXPECT_TRUE(Eventually([&] {
    uint64_t counted = 0;
    for (const auto& service : host->Services()) counted += service.requests();
    return counted + kKills * kConnections >= report.answered;
  }));
}

TEST(StateCases, STA_04_KilledWorkersLeaveNothing) {
  const auto host = TestHost::StartOrDie({Deployment(), {}, {}});
  HttpLoad load({.ports = Ports(*host), .connections = kConnections, .rate = 2000});
  ASSERT_TRUE(Eventually([&] { return load.answered() > 1000; }));
  // Logs, journals and connections of the calls are there.
  ASSERT_TRUE(host->Status().ok());
  KillWorkers(*host, kServices);
  ASSERT_TRUE(host->WaitUntilReady(absl::Seconds(60)));
  const auto before = Leftovers(*host);
  KillWorkers(*host, 2 * kServices);
  ASSERT_TRUE(host->WaitUntilReady(absl::Seconds(120))) << host->Log();
  (void)load.Stop();
  std::map<std::string, size_t> after;
  EXPECT_TRUE(Eventually([&] {
    after = Leftovers(*host);
    for (const auto& [what, count] : after) {
      // SQLite's journal and the connection of a call may be there at one time and not at another.
      const auto known = before.find(what);
      if (count > (known == before.end() ? 0 : known->second) + 2) return false;
    }
    return true;
  })) <<
      [&] {
        std::string text;
        for (const auto& [what, count] : after) {
          absl::StrAppend(&text, what, ": ", before.contains(what) ? before.at(what) : 0, " -> ",
                          count, "\n");
        }
        return text;
      }();
}

}  // namespace
}  // namespace cohost::testing
