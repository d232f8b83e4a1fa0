// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/memory_families.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "supervisor/metrics/names.h"
#include "supervisor/profile/module_memory.h"

namespace cohost::supervisor {
namespace {

constexpr size_t kLabelDigits = 12;

struct Series {
  std::string label;
  ModuleBytes bytes;
  uint64_t saved = 0;
  uint32_t processes = 0;
};

// By label, since a page with one series twice is refused whole: should two hashes ever begin
// alike, they are one series. The largest first.
std::vector<Series> SeriesOf(const MemoryReport& report) {
  std::map<std::string, Series> by_label;
  for (const ModuleMemory& module : report.modules) {
    const std::string label = module.hash.substr(0, kLabelDigits);
    Series& series = by_label[label];
    series.label = label;
    series.bytes += module.bytes;
    series.saved += module.saved;
    series.processes = std::max(series.processes, module.processes);
  }
  std::vector<Series> all;
  all.reserve(by_label.size());
  for (auto& [label, series] : by_label) all.push_back(std::move(series));
  std::stable_sort(all.begin(), all.end(),
                   [](const Series& a, const Series& b) { return a.bytes.pss > b.bytes.pss; });
  all.resize(std::min(all.size(), kMostModuleSeries));
  return all;
}

template <typename Value>
void AddPerModule(const std::vector<Series>& all, Families& families, const MetricName& name,
                  Value value) {
  prometheus::MetricFamily family = MakeFamily(name);
  family.metric.reserve(all.size());
  for (const Series& series : all) {
    AddValue(family, {MakeLabel("module", series.label)}, static_cast<double>(value(series)));
  }
  families.push_back(std::move(family));
}

}  // namespace

void AddModuleMemoryFamilies(const HostSnapshot& snapshot, Families& families) {
  if (snapshot.module_memory == nullptr) return;
  const std::vector<Series> all = SeriesOf(*snapshot.module_memory);
  AddPerModule(all, families, kModulePss, [](const Series& s) { return s.bytes.pss; });
  AddPerModule(all, families, kModuleShared, [](const Series& s) { return s.bytes.shared; });
  AddPerModule(all, families, kModulePrivate, [](const Series& s) {
    return s.bytes.private_clean + s.bytes.relocated + s.bytes.anonymous;
  });
  AddPerModule(all, families, kModuleProcesses, [](const Series& s) { return s.processes; });
  AddPerModule(all, families, kModuleSaved, [](const Series& s) { return s.saved; });
  AddSingle(families, kModulesMeasured,
            absl::ToDoubleSeconds(snapshot.module_memory->measured - absl::UnixEpoch()));
}

}  // namespace cohost::supervisor
