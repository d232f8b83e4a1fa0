// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/runtime_environment.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/strings.h"

namespace cohost::supervisor {
namespace {

std::string Flag(std::string_view name, bool value) {
  return absl::StrCat(AsAbsl(name), "=", value ? 1 : 0);
}

// The runtime reads its numbers as hexadecimal ones.
std::string Number(std::string_view name, uint64_t value) {
  return absl::StrCat(AsAbsl(name), "=0x", absl::Hex(value));
}

}  // namespace

Bytes HeapLimit(const GroupPolicy& policy) {
  if (policy.dotnet.heap_limit.count > 0) return policy.dotnet.heap_limit;
  return Bytes{policy.limits.memory.count / 4 * 3};
}

std::vector<std::string> DotnetEnvironment(const GroupPolicy& policy, const std::string& root) {
  const DotnetPolicy& dotnet = policy.dotnet;
  std::vector<std::string> environment = {
      Flag("DOTNET_gcServer", dotnet.gc == GarbageCollector::kServer),
      Flag("DOTNET_gcConcurrent", dotnet.concurrent), Flag("DOTNET_TieredPGO", dotnet.tiered_pgo),
      Flag("DOTNET_EnableWriteXorExecute", dotnet.write_xor_execute),
      Flag("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", dotnet.invariant_globalization)};
  // Threads of the pool that have nothing to do would spin before they sleep, and take from their
  // neighbours what they save of one application's next request.
  if (dotnet.profile == DotnetProfile::kDensity) {
    environment.emplace_back("DOTNET_ThreadPool_UnfairSemaphoreSpinLimit=0");
  }
  if (!dotnet.diagnostics) environment.push_back(Flag("DOTNET_EnableDiagnostics", false));
  if (dotnet.gen0_size.count > 0) {
    environment.push_back(Number("DOTNET_GCgen0size", dotnet.gen0_size.count));
  }
  if (dotnet.conserve_memory > 0) {
    environment.push_back(Number("DOTNET_GCConserveMemory", dotnet.conserve_memory));
  }
  if (const Bytes limit = HeapLimit(policy); limit.count > 0) {
    environment.push_back(Number("DOTNET_GCHeapHardLimit", limit.count));
  }
  if (!root.empty()) environment.push_back(absl::StrCat("DOTNET_ROOT=", root));
  return environment;
}

}  // namespace cohost::supervisor
