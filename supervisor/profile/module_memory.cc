// SPDX-License-Identifier: Apache-2.0
#include "supervisor/profile/module_memory.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace cohost::supervisor {
namespace {

constexpr std::array kParts = {&ModuleBytes::pss, &ModuleBytes::shared, &ModuleBytes::private_clean,
                               &ModuleBytes::relocated, &ModuleBytes::anonymous};

// What one process has of one module, in all copies of it.
struct Part {
  ModuleBytes bytes;
  uint64_t file_bytes = 0;  // resident pages of the file
  uint64_t file_pss = 0;
};

using PartsByHash = std::map<std::string, Part>;

PartsByHash PartsOf(const MeasuredProcess& process, const MemoryInput& input) {
  PartsByHash parts;
  for (const auto& [identity, memory] : process.maps.files) {
    const auto file = input.files.find(identity);
    if (file == input.files.end()) continue;
    // The kernel may have joined .bss with memory behind it; never more than the file asks for.
    const uint64_t bss = std::min(memory.following.count, file->second.bss.count);
    Part& part = parts[file->second.hash];
    const uint64_t file_bytes = memory.shared.count + memory.private_clean.count;
    // Written pages are the process's own, so all of them is in its PSS; a child that was forked
    // later may share them, and then the figure is a little small.
    const uint64_t file_pss = memory.pss.count - std::min(memory.relocated.count, memory.pss.count);
    part.bytes += {memory.pss.count + bss, memory.shared.count, memory.private_clean.count,
                   memory.relocated.count, bss};
    part.file_bytes += file_bytes;
    part.file_pss += std::min(file_pss, file_bytes);
  }
  return parts;
}

// The `index`th of `count` even parts of `whole`.
ModuleBytes Divide(const ModuleBytes& whole, size_t count, size_t index) {
  ModuleBytes part;
  for (const auto field : kParts) {
    part.*field = whole.*field / count + (index < whole.*field % count ? 1 : 0);
  }
  return part;
}

struct ModuleSum {
  ModuleMemory memory;
  uint64_t file_pss = 0;
  uint64_t largest = 0;                      // file bytes in one process
  std::map<std::string, uint64_t> own_copy;  // by service: what a copy of its own would have
};

struct ServiceSum {
  ServiceMemory memory;
  std::set<std::string> modules;
};

// Names of the services of `process` that use the module, each once and sorted.
std::vector<std::string> UsersIn(const MeasuredProcess& process, const std::string& hash,
                                 const MemoryInput& input) {
  std::set<std::string> users;
  for (const std::string& service : process.services) {
    const auto uses = input.uses.find(service);
    if (uses == input.uses.end()) continue;
    if (std::find(uses->second.begin(), uses->second.end(), hash) != uses->second.end()) {
      users.insert(service);
    }
  }
  return {users.begin(), users.end()};
}

uint64_t Saved(const ModuleSum& sum) {
  uint64_t copies = 0;
  for (const auto& [service, bytes] : sum.own_copy) copies += bytes;
  // A process that is not ours may map the file too, and take its share of every page.
  const uint64_t now = std::max(sum.file_pss, sum.largest);
  return copies - std::min(copies, now);
}

}  // namespace

ModuleBytes& ModuleBytes::operator+=(const ModuleBytes& other) {
  for (const auto field : kParts) this->*field += other.*field;
  return *this;
}

MemoryReport AttributeMemory(const MemoryInput& input) {
  std::map<std::string, ModuleSum> modules;
  std::map<std::string, ServiceSum> services;
  for (const MeasuredProcess& process : input.processes) {
    std::set<std::string> active;
    for (const auto& [hash, part] : PartsOf(process, input)) {
      ModuleSum& module = modules[hash];
      ++module.memory.processes;
      module.memory.bytes += part.bytes;
      module.file_pss += part.file_pss;
      module.largest = std::max(module.largest, part.file_bytes);
      const std::vector<std::string> users = UsersIn(process, hash, input);
      if (users.empty()) module.memory.unused += part.bytes;
      for (size_t i = 0; i < users.size(); ++i) {
        uint64_t& copy = module.own_copy[users[i]];
        copy = std::max(copy, part.file_bytes);
        ServiceSum& service = services[users[i]];
        service.memory.bytes += Divide(part.bytes, users.size(), i);
        service.modules.insert(hash);
        active.insert(users[i]);
      }
    }
    for (const std::string& service : active) ++services[service].memory.processes;
  }
  MemoryReport report;
  for (auto& [hash, sum] : modules) {
    ModuleMemory& module = report.modules.emplace_back(std::move(sum.memory));
    module.hash = hash;
    module.services = static_cast<uint32_t>(sum.own_copy.size());
    module.saved = Saved(sum);
    report.saved += module.saved;
  }
  for (auto& [name, sum] : services) {
    ServiceMemory& service = report.services.emplace_back(std::move(sum.memory));
    service.service = name;
    service.modules = static_cast<uint32_t>(sum.modules.size());
  }
  return report;
}

}  // namespace cohost::supervisor
