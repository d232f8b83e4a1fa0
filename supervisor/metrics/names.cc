// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/names.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cohost::supervisor {
namespace {

constexpr size_t kLongestName = 64;
constexpr std::string_view kTotal = "_total";

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

// The host's families that begin as those of modules do.
bool IsOfTheHost(std::string_view shown) {
  constexpr std::array kNames = {
      kStoreFiles.name, kStoreSize.name,    kModuleMetricsDropped.name, kModuleMetricConflicts.name,
      kModulePss.name,  kModuleShared.name, kModulePrivate.name,        kModuleProcesses.name,
      kModuleSaved.name};
  return std::find(kNames.begin(), kNames.end(), shown) != kNames.end();
}

}  // namespace

std::optional<std::string> ModuleMetricName(std::string_view name, MetricKind kind) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.empty() || name.size() > kLongestName || !is_letter(name.front())) return std::nullopt;
  if (!std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_digit(c); })) {
    return std::nullopt;
  }
  std::string shown = "cohost_module_" + std::string(name);
  if (kind == MetricKind::kCounter) {
    if (!EndsWith(name, kTotal)) shown += kTotal;
    return IsOfTheHost(shown) ? std::nullopt : std::make_optional(shown);
  }
  constexpr std::array<std::string_view, 4> kOfOtherTypes = {kTotal, "_count", "_sum", "_bucket"};
  for (std::string_view suffix : kOfOtherTypes) {
    if (EndsWith(name, suffix)) return std::nullopt;
  }
  return IsOfTheHost(shown) ? std::nullopt : std::make_optional(shown);
}

}  // namespace cohost::supervisor
