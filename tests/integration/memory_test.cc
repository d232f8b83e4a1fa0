// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/http_client.h"
#include "tests/support/process_view.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

// Invariant 8 (memory is PSS and private bytes, never a sum of RSS) and case MEM-02.
namespace cohost::testing {
namespace {

constexpr char kServices[] = R"(
grouping: {max_services_per_worker: 1}
services:
  - {name: a, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: b, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: kids, runtime: native, module: "${kids}", listen: ["http://127.0.0.1:0"]}
)";

absl::StatusOr<admin::v1::Memory> MeasureWithCohostctl(TestHost& host,
                                                       const std::string& option = "") {
  const std::string file = host.folder() / "memory.json";
  UniqueFd output(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  TestProcess::Options process;
  process.command = {ProgramPath("supervisor/ctl/cohostctl"),
                     "--socket",
                     host.admin_socket(),
                     "-o",
                     "json",
                     "memory"};
  if (!option.empty()) process.command.push_back(option);
  process.descriptors = {{1, output.get()}};
  const auto ctl = TestProcess::Start(process);
  if (!ctl.ok()) return ctl.status();
  const auto ended = (*ctl)->WaitUntilEnded();
  if (!ended || ended->exit_code != 0) return absl::InternalError("cohostctl memory failed");
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  admin::v1::Memory memory;
  if (!google::protobuf::util::JsonStringToMessage(text.str(), &memory).ok()) {
    return absl::InternalError(absl::StrCat("not a Memory: ", text.str()));
  }
  return memory;
}

// Processes work on between two looks.
bool IsNear(uint64_t a, uint64_t b) {
  const double difference = std::abs(static_cast<double>(a) - static_cast<double>(b));
  return difference <= std::max(0.1 * static_cast<double>(std::max(a, b)), 400e3);
}

using Figures = std::map<pid_t, MemoryFigures>;

Figures LookAt(TestHost& host) {
  Figures figures;
  for (const pid_t pid : {host.keeper().pid(), host.SupervisorPid()}) figures[pid] = MemoryOf(pid);
  for (const auto& [slot, pid] : host.WorkerPids()) figures[pid] = MemoryOf(pid);
  return figures;
}

bool AreNear(const Figures& a, const Figures& b) {
  return std::all_of(a.begin(), a.end(), [&](const auto& process) {
    const auto other = b.find(process.first);
    return other != b.end() && IsNear(process.second.pss.count, other->second.pss.count) &&
           IsNear(process.second.private_bytes.count, other->second.private_bytes.count);
  });
}

TEST(Memory, FiguresAreTheKernelsProportionalAndPrivateOnes) {
  const auto host = TestHost::StartOrDie({kServices, {}, {}});
  // Another host on this machine that starts or ends shares pages with this one or leaves them to
  // it: what was measured counts when the same was there before and after.
  absl::StatusOr<admin::v1::Memory> memory;
  Figures real;
  ASSERT_TRUE(Eventually([&] {
    real = LookAt(*host);
    memory = MeasureWithCohostctl(*host);
    return AreNear(real, LookAt(*host));
  }));
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(memory->services(), 3u);
  ASSERT_EQ(memory->processes_size(), 5);
  uint64_t pss = 0;
  uint64_t private_bytes = 0;
  uint64_t rss = 0;
  std::map<std::string, int> roles;
  for (const auto& process : memory->processes()) {
    const MemoryFigures& figures = real[static_cast<pid_t>(process.pid())];
    ++roles[process.role()];
    EXPECT_GT(process.pss_bytes(), 0u) << process.role();
    EXPECT_TRUE(IsNear(process.pss_bytes(), figures.pss.count))
        << process.role() << ": " << process.pss_bytes() << " and " << figures.pss.count;
    EXPECT_TRUE(IsNear(process.private_bytes(), figures.private_bytes.count))
        << process.role() << ": " << process.private_bytes() << " and "
        << figures.private_bytes.count;
    EXPECT_LT(process.pss_bytes(), figures.rss.count) << process.role() << ": this is RSS";
    pss += process.pss_bytes();
    private_bytes += process.private_bytes();
    rss += figures.rss.count;
  }
  EXPECT_EQ(roles, (std::map<std::string, int>{{"keeper", 1}, {"supervisor", 1}, {"worker", 3}}));
  EXPECT_EQ(memory->pss_bytes(), pss);
  EXPECT_EQ(memory->private_bytes(), private_bytes);
  // Three workers of one program share most of what each has resident.
  EXPECT_LT(memory->pss_bytes(), rss * 3 / 4);
}

// What the kernel says of one file in one process, all its mappings added up.
struct FileFigures {
  uint64_t resident = 0;
  uint64_t pss = 0;
  uint64_t anonymous = 0;
};
FileFigures FiguresOf(pid_t pid, const std::string& path) {
  FileFigures figures;
  std::ifstream smaps(absl::StrCat("/proc/", pid, "/smaps"));
  bool is_it = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.empty() || line[0] < 'A' || line[0] > 'Z') {
      is_it = line.size() > path.size() && line.ends_with(path);
      continue;
    }
    if (!is_it) continue;
    const auto take = [&line](const std::string& key, uint64_t& sum) {
      if (line.starts_with(key)) sum += std::stoull(line.substr(key.size())) * 1024;
    };
    take("Rss:", figures.resident);
    take("Pss:", figures.pss);
    take("Anonymous:", figures.anonymous);
  }
  return figures;
}

bool IsWithinOnePercent(uint64_t a, uint64_t b) {
  return std::max(a, b) - std::min(a, b) <= std::max(a, b) / 100;
}

constexpr char kLarge[] = R"(
grouping: {max_services_per_worker: 2}
services:
  - {name: a, runtime: native, module: "${large}", listen: ["http://127.0.0.1:0"]}
  - {name: b, runtime: native, module: "${large}", listen: ["http://127.0.0.1:0"]}
  - {name: c, runtime: native, module: "${large}", listen: ["http://127.0.0.1:0"]}
)";

TEST(Memory, OneModuleInTwoWorkersIsThereOnceAndItsPartsAreTheKernels) {
  const auto host = TestHost::StartOrDie({kLarge, {}, {}});
  const auto workers = host->WorkerPids();
  ASSERT_EQ(workers.size(), 2u);
  const std::string path = host->Service("a")->module_path();
  const auto memory = MeasureWithCohostctl(*host, "--modules");
  ASSERT_TRUE(memory.ok()) << memory.status();
  ASSERT_EQ(memory->module_memory_size(), 1);
  const admin::v1::ModuleMemory& module = memory->module_memory(0);
  EXPECT_EQ(module.hash(), host->Service("a")->module_hash());
  EXPECT_EQ(module.processes(), 2u);
  EXPECT_EQ(module.services(), 3u);
  EXPECT_EQ(memory->unmeasured_processes(), 0u);

  FileFigures real;
  for (const auto& [slot, pid] : workers) {
    const FileFigures figures = FiguresOf(pid, path);
    real.resident += figures.resident;
    real.pss += figures.pss;
    real.anonymous += figures.anonymous;
  }
  const admin::v1::ModuleBytes& bytes = module.bytes();
  EXPECT_TRUE(IsWithinOnePercent(
      bytes.shared_bytes() + bytes.private_clean_bytes() + bytes.relocated_bytes(), real.resident))
      << bytes.DebugString() << real.resident;
  EXPECT_TRUE(IsWithinOnePercent(bytes.pss_bytes() - bytes.anonymous_bytes(), real.pss))
      << bytes.DebugString() << real.pss;
  EXPECT_TRUE(IsWithinOnePercent(bytes.relocated_bytes(), real.anonymous))
      << bytes.DebugString() << real.anonymous;

  // 8 MiB in each, one of which is there; each has its own pointers and zeroed data.
  EXPECT_GE(bytes.shared_bytes(), 2 * MiB(8).count);
  EXPECT_LT(bytes.private_clean_bytes(), bytes.shared_bytes() / 50);
  EXPECT_GE(bytes.relocated_bytes(), 2 * KiB(512).count);
  EXPECT_LE(bytes.relocated_bytes(), 2 * KiB(600).count);
  EXPECT_GE(bytes.anonymous_bytes(), 2 * KiB(252).count);
  EXPECT_LE(bytes.anonymous_bytes(), 2 * KiB(264).count);
  EXPECT_LT(bytes.pss_bytes(), MiB(8).count + 2 * KiB(1024).count);
  // Three services would have three copies of 8 MiB.
  EXPECT_GE(module.saved_bytes(), 2 * MiB(8).count);
  EXPECT_LE(module.saved_bytes(), 2 * MiB(9).count);

  uint64_t parts = module.unused().pss_bytes();
  ASSERT_EQ(memory->service_memory_size(), 3);
  for (const auto& service : memory->service_memory()) parts += service.bytes().pss_bytes();
  EXPECT_EQ(parts, bytes.pss_bytes());
}

TEST(Memory, ModulesAreInTheListAndAmongTheMetricsOnceTheyWereMeasured) {
  const auto host = TestHost::StartOrDie({kLarge, {}, {}});
  const std::string label = host->Service("a")->module_hash().substr(0, 12);
  EXPECT_EQ(host->Metrics().find("cohost_module_pss_bytes{"), std::string::npos);
  ASSERT_TRUE(MeasureWithCohostctl(*host, "--modules").ok());
  EXPECT_NE(host->Metrics().find("cohost_module_processes{module=\"" + label + "\"} 2\n"),
            std::string::npos);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  admin::v1::ListModulesResponse list;
  ASSERT_TRUE(host->Connect()->ListModules(&context, {}, &list).ok());
  ASSERT_EQ(list.modules_size(), 1);
  EXPECT_EQ(list.modules(0).services_size(), 3);
  EXPECT_EQ(list.modules(0).workers(), 2u);
  EXPECT_GE(list.modules(0).saved_bytes(), 2 * MiB(8).count);
  const absl::Duration age =
      absl::Now() - absl::FromUnixSeconds(list.modules(0).published().seconds());
  EXPECT_GE(age, absl::ZeroDuration());
  EXPECT_LT(age, absl::Hours(1));
}

// What a client gets and sees of a host whose services are being sampled.
TEST(Memory, ASampleOfServicesIsMeasuredAndNothingOfItIsLeft) {
  const auto host = TestHost::StartOrDie({kLarge, {}, {}});
  const auto workers = host->WorkerPids();
  const size_t processes = DescendantsOf(host->keeper().pid()).size();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  admin::v1::MeasureUnsharedRequest request;
  request.set_samples(2);
  admin::v1::UnsharedMemory memory;
  const grpc::Status status = host->Connect()->MeasureUnshared(&context, request, &memory);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(memory.samples_size(), 2);
  EXPECT_NE(memory.samples(0).service(), memory.samples(1).service());
  for (const admin::v1::UnsharedSample& sample : memory.samples()) {
    EXPECT_EQ(sample.failure(), "");
    // Pointers and zeroed data, and the worker's own.
    EXPECT_GT(sample.own_bytes(), KiB(512 + 256).count);
    EXPECT_LT(sample.own_bytes(), MiB(8).count);
    // The module, the program, libc.
    EXPECT_GT(sample.file_bytes(), MiB(8).count);
    EXPECT_LT(sample.file_bytes(), MiB(24).count);
  }
  EXPECT_EQ(memory.services(), 3u);
  EXPECT_EQ(memory.workers(), 2u);
  EXPECT_GT(memory.present_bytes(), MiB(8).count);
  EXPECT_NEAR(
      static_cast<double>(memory.own_bytes()),
      1.5 * static_cast<double>(memory.samples(0).own_bytes() + memory.samples(1).own_bytes()), 3);
  EXPECT_GT(memory.files_copied_bytes(), 3 * MiB(8).count);
  EXPECT_GT(memory.files_once_bytes(), MiB(8).count);
  EXPECT_LT(memory.files_once_bytes(), 2 * MiB(8).count) << "the module is there once";

  // The same workers serve as before; samples have left no process, log, worker or descriptor.
  EXPECT_EQ(host->WorkerPids(), workers);
  EXPECT_EQ(host->Workers().size(), 2u);
  EXPECT_TRUE(Eventually([&] { return DescendantsOf(host->keeper().pid()).size() == processes; }));
  EXPECT_NE(access((host->folder() / "state/logs/~sample-0.log").c_str(), F_OK), 0);
  EXPECT_EQ(host->Metrics().find("~sample"), std::string::npos);
  for (const char* service : {"a", "b", "c"}) {
    EXPECT_EQ(host->Service(service)->requests(), 0u) << service;
  }
}

// It dies while a sample lives: the next one has neither process nor entry of it.
TEST(Memory, ASampleDoesNotOutliveItsSupervisorForLong) {
  const auto host = TestHost::StartOrDie({R"(
services:
  - {name: a, runtime: native, module: "${large}", listen: ["http://127.0.0.1:0"]}
  - {name: b, runtime: native, module: "${large}", listen: ["http://127.0.0.1:0"]}
)",
                                          {},
                                          {}});
  const auto workers = host->WorkerPids();
  const pid_t supervisor = host->SupervisorPid();
  const size_t processes = DescendantsOf(host->keeper().pid()).size();
  const auto stub = host->Connect();
  // Samples follow each other for as long as it takes to see one live.
  std::atomic<bool> seen = false;
  std::thread caller([&] {
    for (int i = 0; i < 200 && !seen; ++i) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
      admin::v1::MeasureUnsharedRequest request;
      request.set_samples(16);
      admin::v1::UnsharedMemory memory;
      if (!stub->MeasureUnshared(&context, request, &memory).ok()) return;
    }
  });
  seen = Eventually([&] { return DescendantsOf(host->keeper().pid()).size() > processes; });
  EXPECT_TRUE(seen);
  kill(supervisor, SIGKILL);
  caller.join();
  EXPECT_TRUE(Eventually([&] {
    const pid_t now = host->SupervisorPid();
    return now != 0 && now != supervisor;
  }));
  EXPECT_TRUE(host->WaitUntilReady());
  EXPECT_TRUE(Eventually([&] { return DescendantsOf(host->keeper().pid()).size() == processes; }));
  EXPECT_EQ(host->WorkerPids(), workers) << "who serves is not touched";
  EXPECT_TRUE(Eventually([&] { return host->Workers().size() == workers.size(); }));
}

// Whether this process may protect itself or what it starts: without it a container keeps what it
// was given, as an ordinary user does.
bool MayLowerScores() {
  constexpr int kSysResource = 24;
  return std::stoull(StatusField(getpid(), "CapEff"), nullptr, 16) >> kSysResource & 1;
}

// The scores are stated in keeper/main.cc and process_launcher.h: a machine out of memory takes a
// service's process first, and could still take the keeper (-1000 would forbid that, and panic it
// instead).
TEST(Memory, MEM_02_WorkersGoBeforeTheKeeperAndTheSupervisor) {
  const auto host = TestHost::StartOrDie({kServices, {}, {}});
  const int keeper = OomScoreAdjustment(host->keeper().pid());
  const int supervisor = OomScoreAdjustment(host->SupervisorPid());
  EXPECT_EQ(keeper, MayLowerScores() ? -900 : OomScoreAdjustment(getpid()));
  EXPECT_EQ(supervisor, keeper);
  const auto workers = host->WorkerPids();
  ASSERT_EQ(workers.size(), 3u);
  for (const auto& [slot, pid] : workers) EXPECT_EQ(OomScoreAdjustment(pid), 300) << slot;
  auto client = HttpClient::Connect(host->Port("kids"));
  ASSERT_TRUE(client.ok());
  const auto answer = client->Get("/");
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(OomScoreAdjustment(std::stoi(answer->body)), 300) << "what a service starts";
}

TEST(Memory, MEM_02_ProtectionOfTheStarterIsNotPassedOn) {
  // Who may not protect itself can only give protection up.
  const std::string score = MayLowerScores() ? "-1000" : "200";
  const auto host = TestHost::StartOrDie(
      {kServices,
       {},
       {},
       {"/bin/sh", "-c", "echo " + score + " > /proc/$$/oom_score_adj; exec \"$@\"", "sh"}});
  EXPECT_GT(OomScoreAdjustment(host->keeper().pid()), -1000);
  for (const auto& [slot, pid] : host->WorkerPids()) {
    EXPECT_EQ(OomScoreAdjustment(pid), 300) << slot;
  }
}

}  // namespace
}  // namespace cohost::testing
