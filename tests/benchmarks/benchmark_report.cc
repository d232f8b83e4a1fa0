// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/benchmark_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/strings.h"

namespace cohost::benchmarks {
namespace {

// Four significant digits: more than repeats from run to run.
std::string Number(double value) {
  const int digits = value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::fabs(value))));
  return absl::StrFormat("%.*f", std::clamp(3 - digits, 0, 9), value);
}

}  // namespace

BenchmarkReport::BenchmarkReport(std::string_view name, double value, std::string_view unit)
    : value_(value) {
  Note("name", name).Note("value", value).Note("unit", unit);
}

BenchmarkReport& BenchmarkReport::Compare(std::string_view peer, double peer_value) {
  return Compare(peer, peer_value, value_ / peer_value);
}

BenchmarkReport& BenchmarkReport::Compare(std::string_view peer, double peer_value, double ratio) {
  return Note("peer", peer).Note("peer_value", peer_value).Note("ratio", ratio);
}

BenchmarkReport& BenchmarkReport::Note(std::string_view key, double value) {
  absl::StrAppend(&fields_, fields_.empty() ? "" : ", ", "\"", AsAbsl(key), "\": ", Number(value));
  return *this;
}

BenchmarkReport& BenchmarkReport::Note(std::string_view key, std::string_view text) {
  absl::StrAppend(&fields_, fields_.empty() ? "" : ", ", "\"", AsAbsl(key), "\": \"", AsAbsl(text),
                  "\"");
  return *this;
}

void BenchmarkReport::Print() const {
  std::printf("{%s}\n", fields_.c_str());
  (void)std::fflush(stdout);  // a failure shows when the program ends
}

double Median(std::vector<double> values) { return Percentile(values, 0.5); }

double Percentile(std::vector<double>& values, double share) {
  if (values.empty()) Fail("there is nothing to take a percentile of");
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

void Fail(std::string_view what) { throw BenchmarkFailure{std::string(what)}; }

int RunBenchmark(void (*benchmark)()) {
  try {
    benchmark();
    return 0;
  } catch (const BenchmarkFailure& failure) {
    std::fprintf(stderr, "the benchmark failed: %s\n", failure.what.c_str());
    return 2;
  }
}

void Require(const absl::Status& status, std::string_view what) {
  if (!status.ok()) Fail(absl::StrCat(AsAbsl(what), ": ", status.message()));
}

}  // namespace cohost::benchmarks
