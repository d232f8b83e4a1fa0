// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cohost::benchmarks {

// One figure of a benchmark: a line with one JSON object on standard output. All of it comes from
// this run. Texts are the benchmark's own and need no escapes.
class BenchmarkReport {
 public:
  BenchmarkReport(std::string_view name, double value, std::string_view unit);

  // What the value is compared with, in the same unit. `ratio` is given where it is not the plain
  // quotient but the median of pairs.
  BenchmarkReport& Compare(std::string_view peer, double peer_value);
  BenchmarkReport& Compare(std::string_view peer, double peer_value, double ratio);
  // A further field: what a reader needs to judge the value.
  BenchmarkReport& Note(std::string_view key, double value);
  BenchmarkReport& Note(std::string_view key, std::string_view text);

  void Print() const;

 private:
  std::string fields_;
  double value_;
};

double Median(std::vector<double> values);
// The smallest value that is not below `share` (0.99) of all. Reorders them.
double Percentile(std::vector<double>& values, double share);

// What a benchmark that cannot measure what it claims throws (see Fail). The one exception of our
// own: it has to pass every owner of a process on its way out.
struct BenchmarkFailure {
  std::string what;
};
[[noreturn]] void Fail(std::string_view what);
// The main function of every benchmark: 0, or 2 after printing why it failed.
int RunBenchmark(void (*benchmark)());

void Require(const absl::Status& status, std::string_view what);

template <typename T>
T Require(absl::StatusOr<T> value, std::string_view what) {
  Require(value.status(), what);
  return *std::move(value);
}

}  // namespace cohost::benchmarks
