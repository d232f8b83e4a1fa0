// SPDX-License-Identifier: Apache-2.0
//
// module_31mb: memory of one worker for a module of 31 MB that 47 services in six workers share.
// The module has 6,400 classes with virtual functions, all of which have run. What counts is the
// proportional set size of the mappings of the module's file, relocated pages included, as the
// host's own report tells it (cohostctl memory --modules), divided by the six workers. The peer, in
// the same run: the same services with six copies of the file, one for each worker.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_host.h"
#include "tests/support/test_process.h"

namespace cohost::benchmarks {
namespace {

constexpr int kServices = 47;
constexpr int kWorkers = 6;
constexpr std::chrono::seconds kLimit(60);
constexpr char kPeer[] = "a copy of the file for each of the six workers";

struct Memory {
  double megabytes = 0;  // of one worker
  double private_megabytes = 0;
  int modules = 0;
};

// `modules` has a path for each worker.
std::string Deployment(const std::vector<std::string>& modules) {
  std::string text = "groups:\n";
  for (int group = 0; group < kWorkers; ++group) {
    absl::StrAppend(&text, "  - {name: g", group, "}\n");
  }
  text += "services:\n";
  for (int service = 0; service < kServices; ++service) {
    const int group = service % kWorkers;
    absl::StrAppend(&text, "  - {name: s", service, ", group: g", group,
                    ", module: ", modules[group], ", listen: [\"http://127.0.0.1:0\"]}\n");
  }
  return text;
}

Memory Measure(const std::vector<std::string>& modules) {
  const auto host = testing::TestHost::StartOrDie({Deployment(modules), {}, {}});
  if (!host->WaitUntilReady(absl::Seconds(60))) Fail("the services did not become ready");
  if (host->WorkerPids().size() != kWorkers) Fail("there are not six workers");
  const auto stub = host->Connect();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLimit);
  admin::v1::GetMemoryRequest request;
  request.set_modules(true);
  admin::v1::Memory report;
  const grpc::Status status = stub->GetMemory(&context, request, &report);
  if (!status.ok()) Fail(status.error_message());
  Memory memory;
  for (const admin::v1::ModuleMemory& module : report.module_memory()) {
    if (module.processes() == 0) continue;
    const admin::v1::ModuleBytes& bytes = module.bytes();
    memory.megabytes += static_cast<double>(bytes.pss_bytes()) / 1e6 / kWorkers;
    memory.private_megabytes += static_cast<double>(bytes.relocated_bytes()) / 1e6 / kWorkers;
    ++memory.modules;
  }
  return memory;
}

void Benchmark() {
  const std::string module =
      std::filesystem::absolute(testing::ProgramPath("tests/benchmarks/large_module.so"));
  const testing::TemporaryFolder folder;
  std::vector<std::string> copies;
  for (int i = 0; i < kWorkers; ++i) {
    copies.push_back(folder / absl::StrCat("copy", i, ".so"));
    std::filesystem::copy_file(module, copies.back());
    std::filesystem::permissions(copies.back(), std::filesystem::perms::owner_all);
    // Behind the end of what is loaded: another content, the same module.
    std::ofstream(copies.back(), std::ios::app) << i;
  }
  const Memory shared = Measure(std::vector<std::string>(kWorkers, module));
  const Memory apart = Measure(copies);
  if (shared.modules != 1 || apart.modules != kWorkers) Fail("the module is not shared as meant");
  BenchmarkReport("module_31mb", shared.megabytes, "MB per worker")
      .Compare(kPeer, apart.megabytes)
      .Note("relocated", shared.private_megabytes)
      .Note("file_size", static_cast<double>(std::filesystem::file_size(module)) / 1e6)
      .Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
