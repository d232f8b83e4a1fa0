// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/dotnet_fleet.h"

#include <fcntl.h>

#include <cstdio>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/benchmarks/process_figures.h"
#include "tests/support/http_client.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wait.h"
#include "tests/support/worker_peer.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::benchmarks {
namespace {

using testing::ApplicationFolder;
using testing::HttpClient;
using testing::TestHost;
using testing::TestProcess;

constexpr std::chrono::seconds kSettle(5);
constexpr std::chrono::seconds kIdle(10);
constexpr absl::Duration kStartLimit = absl::Minutes(3);

std::string ServiceName(int number) { return absl::StrCat("service-", number); }

std::string Deployment(const Fleet& fleet, int workers, const std::string& more) {
  std::string text = absl::StrCat("grouping: {strategy: load_profile, max_services_per_worker: ",
                                  (fleet.count + workers - 1) / workers,
                                  ", worker_memory: 64Gi, worker_cpu: 1000}\nservices:\n");
  for (int i = 0; i < fleet.count; ++i) {
    absl::StrAppend(&text, "  - {name: ", ServiceName(i), ", runtime: dotnet, app: \"",
                    ApplicationFolder(fleet.application), "/", fleet.application,
                    ".dll\", listen: [\"http://127.0.0.1:0\"], load: {class: steady, memory: 1Mi, "
                    "cpu: 0.001}, environment: {Logging__LogLevel__Default: Warning}",
                    more, "}\n");
  }
  return text;
}

// Waits for the first answer of each.
void WaitForAnswers(const std::vector<uint16_t>& ports) {
  for (const uint16_t port : ports) {
    const bool answered = testing::Eventually(
        [port] {
          absl::StatusOr<HttpClient> client = HttpClient::Connect(port);
          if (!client.ok()) return false;
          const auto answer = client->Get("/");
          return answer.ok() && answer->status == 200;
        },
        kStartLimit);
    if (!answered) Fail(absl::StrCat("nobody answers at port ", port));
  }
}

FleetFigures MeasureRunning(const Fleet& fleet, const std::vector<uint16_t>& ports,
                            const std::vector<pid_t>& processes) {
  FleetFigures figures;
  for (const uint16_t port : ports) {
    HttpClient client = Require(HttpClient::Connect(port), "connect");
    for (uint64_t i = 0; i < fleet.requests; ++i) {
      if (Require(client.Get("/"), "request").status != 200) Fail("an answer is not 200");
    }
  }
  std::this_thread::sleep_for(kSettle);
  figures.megabytes = ProportionalMegabytes(processes);
  absl::Duration before;
  for (const pid_t pid : processes) before += CpuTime(pid);
  std::this_thread::sleep_for(kIdle);
  absl::Duration after;
  for (const pid_t pid : processes) after += CpuTime(pid);
  figures.idle_cores = absl::FDivDuration(after - before, absl::FromChrono(kIdle));
  return figures;
}

}  // namespace

bool HaveDotnet() {
  if (!testing::DotnetRoot().empty()) return true;
  std::fputs("not measured: no .NET SDK on this machine\n", stderr);
  return false;
}

std::vector<std::string> TunedEnvironment() {
  return {"DOTNET_gcServer=0", "DOTNET_gcConcurrent=0", "DOTNET_TieredPGO=0",
          "DOTNET_EnableWriteXorExecute=0", "DOTNET_GCgen0size=0x400000"};
}

FleetFigures MeasureShared(const Fleet& fleet, int workers, const std::string& more) {
  const absl::Time start = absl::Now();
  const auto host = testing::StartDotnetHost(Deployment(fleet, workers, more));
  if (!host->WaitUntilReady(kStartLimit)) Fail("the services do not get ready: " + host->Log());
  std::vector<uint16_t> ports;
  for (int i = 0; i < fleet.count; ++i) ports.push_back(host->Port(ServiceName(i)));
  WaitForAnswers(ports);
  const absl::Duration first_ready = absl::Now() - start;

  std::set<std::string> groups;
  for (const auto& service : host->Services()) groups.insert(service.group());
  if (groups.size() != static_cast<size_t>(workers)) {
    Fail(absl::StrCat(groups.size(), " groups instead of ", workers));
  }
  const absl::Time begin = absl::Now();
  for (const std::string& group : groups) Require(host->Recycle(group).status(), "recycle");
  WaitForAnswers(ports);
  const absl::Duration ready = absl::Now() - begin;
  std::vector<pid_t> processes = {host->keeper().pid(), host->SupervisorPid()};
  for (const auto& [slot, pid] : host->WorkerPids()) processes.push_back(pid);
  FleetFigures figures = MeasureRunning(fleet, ports, processes);
  figures.ready = ready;
  figures.first_ready = first_ready;
  return figures;
}

FleetFigures MeasureOwn(const Fleet& fleet) {
  const testing::TemporaryFolder folder;
  const UniqueFd log(::open((folder / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  std::vector<std::unique_ptr<TestProcess>> running;
  std::vector<uint16_t> ports;
  // Free now; nobody else asks for one in the next second.
  for (int i = 0; i < fleet.count; ++i) ports.push_back(testing::ListenOnLoopback().port);
  const absl::Time begin = absl::Now();
  for (const uint16_t port : ports) {
    TestProcess::Options options;
    options.command = {"/bin/sh",
                       "-c",
                       "cd \"$1\" && shift && exec \"$@\"",
                       "sh",
                       ApplicationFolder(fleet.application),
                       testing::DotnetRoot() + "/dotnet",
                       fleet.application + ".dll"};
    options.environment = TunedEnvironment();
    options.environment.push_back(absl::StrCat("ASPNETCORE_URLS=http://127.0.0.1:", port));
    options.environment.emplace_back("Logging__LogLevel__Default=Warning");
    options.environment.emplace_back("DOTNET_USE_POLLING_FILE_WATCHER=1");
    options.descriptors = {{1, log.get()}, {2, log.get()}};
    running.push_back(Require(TestProcess::Start(options), "start"));
  }
  WaitForAnswers(ports);
  const absl::Duration ready = absl::Now() - begin;
  std::vector<pid_t> processes;
  for (const auto& process : running) processes.push_back(process->pid());
  FleetFigures figures = MeasureRunning(fleet, ports, processes);
  figures.ready = ready;
  return figures;
}

}  // namespace cohost::benchmarks
