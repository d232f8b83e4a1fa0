// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/dotnet_fleet.h"

#include <fcntl.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/benchmarks/process_figures.h"
#include "tests/support/http_client.h"
#include "tests/support/process_view.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wait.h"
#include "tests/support/worker_peer.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::benchmarks {
namespace {

using testing::HttpClient;
using testing::TestHost;
using testing::TestProcess;

constexpr std::chrono::seconds kSettle(5);
constexpr std::chrono::seconds kIdle(10);
constexpr absl::Duration kStartLimit = absl::Minutes(3);

std::string ServiceName(int number) { return absl::StrCat("service-", number); }

std::string Deployment(const Fleet& fleet, int workers) {
  std::string text = absl::StrCat("grouping: {strategy: load_profile, max_services_per_worker: ",
                                  (fleet.count + workers - 1) / workers,
                                  ", worker_memory: 64Gi, worker_cpu: 1000}\n",
                                  "group_defaults: {dotnet: {", fleet.dotnet, "}}\nservices:\n");
  for (int i = 0; i < fleet.count; ++i) {
    absl::StrAppend(&text, "  - {name: ", ServiceName(i), ", runtime: dotnet, app: \"",
                    fleet.folder, "/", fleet.application,
                    ".dll\", listen: [\"http://127.0.0.1:0\"], load: {class: steady, memory: 1Mi, "
                    "cpu: 0.001}, environment: {Logging__LogLevel__Default: Warning}",
                    fleet.keys, "}\n");
  }
  return text;
}

// Waits for the first answer of each.
void WaitForAnswers(const Fleet& fleet, const std::vector<uint16_t>& ports) {
  for (const uint16_t port : ports) {
    const bool answered = testing::Eventually(
        [&] {
          absl::StatusOr<HttpClient> client = HttpClient::Connect(port);
          if (!client.ok()) return false;
          const auto answer = client->Get(fleet.target);
          return answer.ok() && answer->status == 200;
        },
        kStartLimit);
    if (!answered) Fail(absl::StrCat("nobody answers at port ", port));
  }
}

// A folder with the same files, by hard links where the two are on one file system.
void LinkFolder(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  const fs::path source = fs::canonical(from);
  fs::create_directories(to);
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const fs::path target = to / fs::relative(entry.path(), source);
    if (entry.is_directory()) {
      fs::create_directories(target);
      continue;
    }
    std::error_code other_file_system;
    fs::create_hard_link(entry.path(), target, other_file_system);
    if (other_file_system) fs::copy_file(entry.path(), target);
  }
}

FleetFigures MeasureRunning(const Fleet& fleet, const std::vector<uint16_t>& ports,
                            const std::vector<pid_t>& processes) {
  FleetFigures figures;
  for (const uint16_t port : ports) {
    HttpClient client = Require(HttpClient::Connect(port), "connect");
    for (uint64_t i = 0; i < fleet.requests; ++i) {
      if (Require(client.Get(fleet.target), "request").status != 200) Fail("an answer is not 200");
    }
  }
  std::this_thread::sleep_for(kSettle);
  figures.megabytes = ProportionalMegabytes(processes);
  // By the process and not by its threads, some of which end meanwhile.
  absl::Duration before;
  for (const pid_t pid : processes) before += testing::CpuTimeOf(pid);
  std::this_thread::sleep_for(kIdle);
  absl::Duration after;
  for (const pid_t pid : processes) after += testing::CpuTimeOf(pid);
  figures.idle_cores = absl::FDivDuration(after - before, absl::FromChrono(kIdle));
  return figures;
}

std::vector<std::string> TunedEnvironment() {
  return {"DOTNET_gcServer=0", "DOTNET_gcConcurrent=0", "DOTNET_TieredPGO=0",
          "DOTNET_EnableWriteXorExecute=0", "DOTNET_GCgen0size=0x400000"};
}

}  // namespace

bool HaveDotnet() {
  if (!testing::DotnetRoot().empty()) return true;
  std::fputs("not measured: no .NET SDK on this machine\n", stderr);
  return false;
}

SharedFleet::SharedFleet(const Fleet& fleet, int workers) : fleet_(fleet) {
  const absl::Time start = absl::Now();
  host_ = testing::StartDotnetHost(Deployment(fleet, workers));
  if (!host_->WaitUntilReady(kStartLimit)) Fail("the services do not get ready: " + host_->Log());
  for (int i = 0; i < fleet.count; ++i) ports_.push_back(host_->Port(ServiceName(i)));
  WaitForAnswers(fleet, ports_);
  first_ready_ = absl::Now() - start;

  std::set<std::string> groups;
  for (const auto& service : host_->Services()) groups.insert(service.group());
  if (groups.size() != static_cast<size_t>(workers)) {
    Fail(absl::StrCat(groups.size(), " groups instead of ", workers));
  }
  const absl::Time begin = absl::Now();
  for (const std::string& group : groups) Require(host_->Recycle(group).status(), "recycle");
  WaitForAnswers(fleet, ports_);
  ready_ = absl::Now() - begin;
  processes_ = {host_->keeper().pid(), host_->SupervisorPid()};
  for (const auto& [slot, pid] : host_->WorkerPids()) processes_.push_back(pid);
}

FleetFigures SharedFleet::Measure() const {
  FleetFigures figures = MeasureRunning(fleet_, ports_, processes_);
  figures.ready = ready_;
  figures.first_ready = first_ready_;
  return figures;
}

OwnFleet::OwnFleet(const Fleet& fleet) : fleet_(fleet) {
  const UniqueFd log(::open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  for (int i = 0; i < fleet.count; ++i) {
    // Free now; nobody else asks for one in the next second.
    ports_.push_back(testing::ListenOnLoopback().port);
    LinkFolder(fleet.folder, folder_ / absl::StrCat(i));
  }
  const absl::Time begin = absl::Now();
  for (int i = 0; i < fleet.count; ++i) {
    const uint16_t port = ports_[static_cast<size_t>(i)];
    TestProcess::Options options;
    options.command = {"/bin/sh",
                       "-c",
                       "cd \"$1\" && shift && exec \"$@\"",
                       "sh",
                       folder_ / absl::StrCat(i),
                       testing::DotnetRoot() + "/dotnet",
                       fleet.application + ".dll"};
    options.environment = TunedEnvironment();
    options.environment.push_back(absl::StrCat("ASPNETCORE_URLS=http://127.0.0.1:", port));
    options.environment.emplace_back("Logging__LogLevel__Default=Warning");
    options.environment.emplace_back("DOTNET_USE_POLLING_FILE_WATCHER=1");
    options.descriptors = {{1, log.get()}, {2, log.get()}};
    running_.push_back(Require(TestProcess::Start(options), "start"));
    processes_.push_back(running_.back()->pid());
  }
  WaitForAnswers(fleet, ports_);
  ready_ = absl::Now() - begin;
}

FleetFigures OwnFleet::Measure() const {
  FleetFigures figures = MeasureRunning(fleet_, ports_, processes_);
  figures.ready = ready_;
  return figures;
}

}  // namespace cohost::benchmarks
