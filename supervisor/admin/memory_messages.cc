// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/memory_messages.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "base/strings.h"
#include "supervisor/admin/message_values.h"

namespace cohost::supervisor {
namespace {

using admin::v1::Memory;

void Set(admin::v1::ModuleBytes* message, const ModuleBytes& bytes) {
  message->set_pss_bytes(bytes.pss);
  message->set_shared_bytes(bytes.shared);
  message->set_private_clean_bytes(bytes.private_clean);
  message->set_relocated_bytes(bytes.relocated);
  message->set_anonymous_bytes(bytes.anonymous);
}

uint32_t CountWorkersOf(const ModuleView& module, const HostSnapshot& snapshot) {
  uint32_t workers = 0;
  for (const WorkerView& worker : snapshot.workers) {
    const bool runs_one =
        worker.pid > 0 &&
        std::any_of(
            worker.services.begin(), worker.services.end(), [&module](const std::string& service) {
              return std::binary_search(module.services.begin(), module.services.end(), service);
            });
    workers += runs_one ? 1 : 0;
  }
  return workers;
}

void AddProcess(Memory& memory, const char* role, pid_t pid, const ProcessMemoryView& view,
                const WorkerView* worker) {
  admin::v1::ProcessMemory& process = *memory.add_processes();
  process.set_role(role);
  process.set_pid(static_cast<uint32_t>(pid));
  process.set_pss_bytes(view.pss.count);
  process.set_private_bytes(view.private_bytes.count);
  process.set_anonymous_bytes(view.anonymous.count);
  if (worker != nullptr) {
    process.set_group(worker->group);
    process.set_slot(worker->slot);
    process.set_generation(worker->generation);
    process.set_services(static_cast<uint32_t>(worker->services.size()));
  }
  memory.set_pss_bytes(memory.pss_bytes() + view.pss.count);
  memory.set_private_bytes(memory.private_bytes() + view.private_bytes.count);
}

}  // namespace

admin::v1::Module ModuleMessage(const ModuleView& view, const HostSnapshot& snapshot) {
  admin::v1::Module module;
  module.set_hash(view.hash);
  module.set_path(view.path);
  module.set_size_bytes(view.size.count);
  module.set_source_path(Text(view.source_path));
  for (const std::string& service : view.services) module.add_services(service);
  module.set_kind(std::string(view.kind));
  if (view.published != absl::Time()) Set(module.mutable_published(), view.published);
  module.set_workers(CountWorkersOf(view, snapshot));
  if (snapshot.module_memory != nullptr) {
    for (const ModuleMemory& memory : snapshot.module_memory->modules) {
      if (memory.hash == view.hash) module.set_saved_bytes(memory.saved);
    }
  }
  return module;
}

Memory MemoryMessage(const HostSnapshot& snapshot) {
  Memory memory;
  AddProcess(memory, "keeper", snapshot.keeper_pid, snapshot.keeper_memory, nullptr);
  AddProcess(memory, "supervisor", snapshot.supervisor_pid, snapshot.supervisor_memory, nullptr);
  for (const WorkerView& worker : snapshot.workers) {
    if (worker.pid > 0) AddProcess(memory, "worker", worker.pid, worker.memory, &worker);
  }
  memory.set_services(static_cast<uint32_t>(snapshot.services.size()));
  return memory;
}

void AddModuleMemory(const HostSnapshot& snapshot, Memory& memory) {
  if (snapshot.module_memory == nullptr) return;
  const MemoryReport& report = *snapshot.module_memory;
  std::map<std::string_view, const ModuleView*> views;
  for (const ModuleView& view : snapshot.modules) views.emplace(view.hash, &view);
  for (const ModuleMemory& measured : report.modules) {
    admin::v1::ModuleMemory& module = *memory.add_module_memory();
    module.set_hash(measured.hash);
    if (const auto view = views.find(measured.hash); view != views.end()) {
      module.set_source_path(Text(view->second->source_path));
      module.set_kind(std::string(view->second->kind));
    }
    module.set_processes(measured.processes);
    module.set_services(measured.services);
    Set(module.mutable_bytes(), measured.bytes);
    Set(module.mutable_unused(), measured.unused);
    module.set_saved_bytes(measured.saved);
  }
  for (const ServiceMemory& measured : report.services) {
    admin::v1::ServiceMemory& service = *memory.add_service_memory();
    service.set_service(measured.service);
    service.set_processes(measured.processes);
    service.set_modules(measured.modules);
    Set(service.mutable_bytes(), measured.bytes);
  }
  memory.set_saved_bytes(report.saved);
  memory.set_unmeasured_processes(report.unmeasured);
  Set(memory.mutable_modules_measured(), report.measured);
}

admin::v1::UnsharedMemory UnsharedMessage(const UnsharedMemory& memory) {
  admin::v1::UnsharedMemory message;
  for (const UnsharedSample& measured : memory.samples) {
    admin::v1::UnsharedSample& sample = *message.add_samples();
    sample.set_service(measured.service);
    sample.set_own_bytes(measured.own);
    sample.set_file_bytes(measured.files);
    sample.set_failure(Text(AsStd(measured.status.message())));
  }
  message.set_services(memory.services);
  message.set_workers(memory.workers);
  message.set_present_bytes(memory.present);
  message.set_own_bytes(memory.own);
  message.set_files_once_bytes(memory.files_once);
  message.set_files_copied_bytes(memory.files_copied);
  return message;
}

}  // namespace cohost::supervisor
