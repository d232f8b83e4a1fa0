// SPDX-License-Identifier: Apache-2.0
//
// tree_300: laying out an application of 300 files that the store has already (240 assemblies and
// 10 native libraries of 4 to 200 KB, 40 static assets, 10 files of configuration, in 24 folders)
// for a service that had no tree of it, durably. The peer of the same run copies the same folder
// file by file and syncs it, which is what a deployment without a store does. Eleven turns each,
// one after the other, every tree in a place of its own; medians.
//   tree_300          milliseconds for LayOut
//   tree_300_publish  milliseconds for publishing the unchanged folder again before that
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"
#include "supervisor/modules/tree/tree_layout.h"
#include "supervisor/modules/tree/tree_publisher.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/supervisor/modules/tree/tree_world.h"

namespace cohost::benchmarks {
namespace {

using supervisor::Assembly;
using supervisor::LibraryBytes;
using supervisor::TreeWorld;

constexpr int kTurns = 11;
constexpr size_t kFiles = 300;

double MillisecondsSince(SteadyTime begin) {
  return absl::ToDoubleMilliseconds(SystemClock().Steady() - begin);
}

// Different content each, sizes as libraries have them: many small ones, few large ones.
std::string Content(size_t i) {
  const size_t size = i % 10 == 0 ? 200'000 : i % 3 == 0 ? 40'000 : 4'000;
  std::string content = absl::StrCat(i, ":");
  content.resize(size, static_cast<char>('a' + i % 26));
  return content;
}

void WriteApplication(TreeWorld& world) {
  for (size_t i = 0; i < 180; ++i) {
    world.Write(absl::StrCat("Library", i, ".dll"), Assembly(Content(i)));
  }
  // Translations and what differs between systems have folders of their own.
  for (size_t i = 0; i < 60; ++i) {
    world.Write(absl::StrCat("lang", i % 12, "/Library", i, ".resources.dll"),
                Assembly(Content(i + 180)));
  }
  for (size_t i = 0; i < 10; ++i) {
    world.Write(absl::StrCat("runtimes/linux-x64/native/lib", i, ".so"),
                LibraryBytes(Content(i + 240)));
  }
  for (size_t i = 0; i < 40; ++i) {
    world.Write(absl::StrCat("wwwroot/part", i % 6, "/file", i, ".js"), Content(i + 250));
  }
  for (size_t i = 0; i < 10; ++i) {
    world.Write(absl::StrCat("settings", i, ".json"), absl::StrCat("{\"number\": ", i, "}"));
  }
}

double CopyDurably(const std::string& from, const std::string& to) {
  const SteadyTime begin = SystemClock().Steady();
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  const UniqueFd fd = Require(OpenFile(to, O_RDONLY | O_DIRECTORY), "open the copy");
  if (::syncfs(fd.get()) != 0) Fail("syncfs");
  return MillisecondsSince(begin);
}

void Benchmark() {
  TreeWorld world;
  WriteApplication(world);
  Require(world.Publish().status(), "publish");
  // So old by now that the store remembers which source gave which file.
  Require(world.Publish().status(), "publish again");

  std::vector<double> laid_out, copied, published;
  for (int turn = 0; turn < kTurns; ++turn) {
    SteadyTime begin = SystemClock().Steady();
    const auto tree = Require(world.Publish(), "publish unchanged");
    published.push_back(MillisecondsSince(begin));
    if (tree.manifest.entries().size() != kFiles) Fail("the application has not 300 files");

    begin = SystemClock().Steady();
    const auto laid = Require(
        world.layout().LayOut(absl::StrCat("service", turn), tree.manifest, {}, {}), "lay out");
    laid_out.push_back(MillisecondsSince(begin));
    if (!laid.is_new) Fail("the tree was there before");

    copied.push_back(CopyDurably(world.app(), absl::StrCat(world.state(), "/copy", turn)));
  }
  BenchmarkReport("tree_300", Median(laid_out), "ms")
      .Compare("copy of the folder, synced", Median(copied))
      .Note("slowest_ms", Percentile(laid_out, 1.0))
      .Print();
  BenchmarkReport("tree_300_publish", Median(published), "ms").Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
