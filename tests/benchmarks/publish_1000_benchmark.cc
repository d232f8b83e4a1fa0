// SPDX-License-Identifier: Apache-2.0
//
// publish_1000: the time in which 1,000 files of 256 KiB, of which 900 are equal to one of the
// other 100, are published as one batch into an empty store, copied, checked, synced and named; on
// as many threads as a host uses for it. The peer, in the same run: reading and hashing the same
// files on one thread. The ratio is the median of the pairs.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "base/system/file.h"
#include "supervisor/modules/module_store.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/support/temporary_folder.h"

namespace cohost::benchmarks {
namespace {

using supervisor::ModuleStore;
using supervisor::StoredKind;

constexpr int kFiles = 1000;
constexpr int kDistinct = 100;
constexpr size_t kSize = 256 << 10;
constexpr int kPairs = 9;
constexpr size_t kPart = 64 << 10;

std::vector<std::string> WriteFiles(const testing::TemporaryFolder& folder) {
  std::vector<std::string> paths;
  for (int i = 0; i < kFiles; ++i) {
    std::string content;
    uint32_t state = static_cast<uint32_t>(i % kDistinct) + 1;
    while (content.size() < kSize) {
      state = state * 1664525 + 1013904223;
      content.append(reinterpret_cast<const char*>(&state), sizeof state);
    }
    paths.push_back(folder / absl::StrCat("file", i));
    std::ofstream(paths.back(), std::ios::binary) << content;
  }
  return paths;
}

double Seconds(SteadyTime from) { return absl::ToDoubleSeconds(SystemClock().Steady() - from); }

double Hash(const std::vector<std::string>& paths) {
  const SteadyTime began = SystemClock().Steady();
  std::string part(kPart, '\0');
  for (const std::string& path : paths) {
    const UniqueFd file = Require(OpenFile(path, O_RDONLY), "open");
    Sha256 sha256;
    for (ssize_t n; (n = ::read(file.get(), part.data(), part.size())) > 0;) {
      sha256.Update(std::string_view(part).substr(0, static_cast<size_t>(n)));
    }
    (void)sha256.Finish();
  }
  return Seconds(began);
}

// Into a folder that is new: ext4 searches long for an inode where many were just given back.
double Publish(const std::vector<std::string>& paths, const std::string& store_folder) {
  std::vector<std::string> notices;
  const auto store = Require(ModuleStore::Open({.folder = store_folder}, &notices), "store");
  const SteadyTime began = SystemClock().Steady();
  ModuleStore::Batch batch(*store);
  std::vector<std::pair<std::string, StoredKind>> sources;
  for (const std::string& path : paths) sources.emplace_back(path, StoredKind::kFile);
  batch.ReadAhead(sources);
  for (const std::string& path : paths) {
    (void)Require(batch.Add(path, StoredKind::kFile), "publish");
  }
  Require(batch.Commit(), "commit");
  const double seconds = Seconds(began);
  if (Require(store->List(), "list").size() != kDistinct) Fail("the store does not have 100 files");
  return seconds;
}

void Benchmark() {
  const testing::TemporaryFolder folder;
  const std::vector<std::string> paths = WriteFiles(folder);
  // What is written here is on the disk before anything is timed.
  ::sync();
  (void)Hash(paths);
  std::vector<double> publish;
  std::vector<double> hash;
  std::vector<double> ratios;
  for (int pair = 0; pair < kPairs; ++pair) {
    hash.push_back(Hash(paths));
    publish.push_back(Publish(paths, folder / absl::StrCat("store", pair)));
    ratios.push_back(publish.back() / hash.back());
  }
  BenchmarkReport("publish_1000", Median(publish) * 1e3, "ms")
      .Compare("reading and hashing the same files", Median(hash) * 1e3, Median(ratios))
      .Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
