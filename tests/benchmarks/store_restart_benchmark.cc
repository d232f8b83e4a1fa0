// SPDX-License-Identifier: Apache-2.0
//
// store_restart: what a full module store adds to a start of 47 services whose files are in it and
// have not changed: the store with 1,000 files is opened, the modules are found, the index is
// saved. The median of 21 starts.
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "supervisor/modules/module_store.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/support/temporary_folder.h"

namespace cohost::benchmarks {
namespace {

using supervisor::ModuleStore;
using supervisor::StoredKind;

constexpr int kFiles = 1000;
constexpr int kServices = 47;
constexpr int kStarts = 21;
// Files younger than this are read again by the next start.
constexpr std::chrono::milliseconds kSettled(200);

void Publish(ModuleStore& store, const std::vector<std::string>& paths) {
  ModuleStore::Batch batch(store);
  for (const std::string& path : paths) {
    (void)Require(batch.Add(path, StoredKind::kFile), "publish");
  }
  Require(batch.Commit(), "commit");
  Require(store.SaveIndex(), "save");
}

void Benchmark() {
  const testing::TemporaryFolder folder;
  std::vector<std::string> paths;
  for (int i = 0; i < kFiles; ++i) {
    paths.push_back(folder / absl::StrCat("file", i));
    std::ofstream(paths.back()) << "content " << i;
  }
  std::this_thread::sleep_for(kSettled);
  std::vector<std::string> notices;
  const supervisor::StoreOptions options{.folder = folder / "store"};
  Publish(*Require(ModuleStore::Open(options, &notices), "store"), paths);
  paths.resize(kServices);
  std::vector<double> starts;
  for (int start = 0; start < kStarts; ++start) {
    const SteadyTime began = SystemClock().Steady();
    const auto store = Require(ModuleStore::Open(options, &notices), "store");
    Publish(*store, paths);
    starts.push_back(absl::ToDoubleMilliseconds(SystemClock().Steady() - began));
  }
  BenchmarkReport("store_restart", Median(starts), "ms").Note("files", kFiles).Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
