// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/memory_views.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/units.h"
#include "supervisor/ctl/cells.h"
#include "supervisor/ctl/quantity.h"
#include "supervisor/ctl/table.h"

namespace cohost::supervisor {
namespace {

// As many names as fit into a column, and how many more there are.
template <typename Names>
std::string FirstOf(const Names& names) {
  constexpr size_t kWidth = 40;
  std::string text;
  int shown = 0;
  for (const std::string& name : names) {
    if (shown > 0 && text.size() + name.size() + 1 > kWidth) break;
    absl::StrAppend(&text, shown++ > 0 ? " " : "", name);
  }
  if (shown < names.size()) absl::StrAppend(&text, " +", names.size() - shown);
  return text;
}

// The file's name alone; the whole path is in `cohostctl modules`.
std::string ModuleName(const admin::v1::ModuleMemory& module) {
  const std::string& path = module.source_path();
  return path.empty() ? ShortHash(module.hash()) : path.substr(path.rfind('/') + 1);
}

void AddBytes(const admin::v1::ModuleBytes& bytes, std::vector<Cell>& row) {
  row.push_back(MegabytesCell(bytes.pss_bytes()));
  row.push_back(MegabytesCell(bytes.shared_bytes()));
  row.push_back(MegabytesCell(bytes.private_clean_bytes()));
  row.push_back(MegabytesCell(bytes.relocated_bytes() + bytes.anonymous_bytes()));
}

void Add(const admin::v1::ModuleBytes& bytes, admin::v1::ModuleBytes& sum) {
  sum.set_pss_bytes(sum.pss_bytes() + bytes.pss_bytes());
  sum.set_shared_bytes(sum.shared_bytes() + bytes.shared_bytes());
  sum.set_private_clean_bytes(sum.private_clean_bytes() + bytes.private_clean_bytes());
  sum.set_relocated_bytes(sum.relocated_bytes() + bytes.relocated_bytes());
  sum.set_anonymous_bytes(sum.anonymous_bytes() + bytes.anonymous_bytes());
}

// The largest first; those of one size as they came.
template <typename Item>
void SortBySize(std::vector<const Item*>& items) {
  std::stable_sort(items.begin(), items.end(), [](const Item* a, const Item* b) {
    return a->bytes().pss_bytes() > b->bytes().pss_bytes();
  });
}

}  // namespace

std::string ModulesView(const admin::v1::ListModulesResponse& list, const Look& look) {
  Table table({{"SOURCE"},
               {"KIND"},
               {"SIZE", Align::kRight},
               {"SERVICES", Align::kRight},
               {"WORKERS", Align::kRight},
               {"SAVED", Align::kRight},
               {"AGE", Align::kRight},
               {"SHA-256"},
               {"USED BY"}});
  for (const admin::v1::Module& module : list.modules()) {
    table.Add({module.source_path(), module.kind(), BytesCell(module.size_bytes()),
               CountCell(static_cast<uint64_t>(module.services_size())),
               CountCell(module.workers()),
               module.has_saved_bytes() ? MegabytesCell(module.saved_bytes()) : BytesCell(0),
               FormatAge(module.published(), look.now), ShortHash(module.hash()),
               FirstOf(module.services())});
  }
  return table.Render(look.colour);
}

std::string MemoryView(const admin::v1::Memory& memory, const Look& look) {
  Table table({{"PROCESS"},
               {"PID", Align::kRight},
               {"SERVICES", Align::kRight},
               {"PSS", Align::kRight},
               {"PRIVATE", Align::kRight},
               {"ANONYMOUS", Align::kRight}});
  uint64_t anonymous = 0;
  for (const admin::v1::ProcessMemory& process : memory.processes()) {
    const bool is_worker = process.role() == "worker";
    anonymous += process.anonymous_bytes();
    table.Add({is_worker ? SlotName(process.group(), process.slot()) : process.role(),
               absl::StrCat(process.pid()), is_worker ? CountCell(process.services()) : Cell(""),
               BytesCell(process.pss_bytes()), BytesCell(process.private_bytes()),
               BytesCell(process.anonymous_bytes())});
  }
  table.AddRule();
  table.Add({"all", "", CountCell(memory.services()), BytesCell(memory.pss_bytes()),
             BytesCell(memory.private_bytes()), BytesCell(anonymous)});
  if (memory.services() > 0) {
    table.Add({"each service", "", "", BytesCell(memory.pss_bytes() / memory.services()),
               BytesCell(memory.private_bytes() / memory.services()),
               BytesCell(anonymous / memory.services())});
  }
  return table.Render(look.colour);
}

std::string ModuleMemoryView(const admin::v1::Memory& memory, const Look& look) {
  std::vector<const admin::v1::ModuleMemory*> modules;
  for (const admin::v1::ModuleMemory& module : memory.module_memory()) modules.push_back(&module);
  std::vector<const admin::v1::ServiceMemory*> services;
  for (const admin::v1::ServiceMemory& service : memory.service_memory()) {
    services.push_back(&service);
  }
  SortBySize(modules);
  SortBySize(services);
  Table by_module({{"MODULE"},
                   {"WORKERS", Align::kRight},
                   {"SERVICES", Align::kRight},
                   {"PSS", Align::kRight},
                   {"SHARED", Align::kRight},
                   {"PRIVATE", Align::kRight},
                   {"WRITTEN", Align::kRight},
                   {"SAVED", Align::kRight}});
  admin::v1::ModuleBytes all;
  for (const admin::v1::ModuleMemory* module : modules) {
    std::vector<Cell> row = {ModuleName(*module), CountCell(module->processes()),
                             CountCell(module->services())};
    AddBytes(module->bytes(), row);
    row.push_back(MegabytesCell(module->saved_bytes()));
    by_module.Add(std::move(row));
    Add(module->bytes(), all);
  }
  if (modules.size() > 1) {
    by_module.AddRule();
    std::vector<Cell> row = {"all", "", ""};
    AddBytes(all, row);
    row.push_back(MegabytesCell(memory.saved_bytes()));
    by_module.Add(std::move(row));
  }
  Table by_service({{"SERVICE"},
                    {"WORKERS", Align::kRight},
                    {"MODULES", Align::kRight},
                    {"PSS", Align::kRight},
                    {"SHARED", Align::kRight},
                    {"PRIVATE", Align::kRight},
                    {"WRITTEN", Align::kRight}});
  for (const admin::v1::ServiceMemory* service : services) {
    std::vector<Cell> row = {service->service(), CountCell(service->processes()),
                             CountCell(service->modules())};
    AddBytes(service->bytes(), row);
    by_service.Add(std::move(row));
  }
  std::string text =
      absl::StrCat(by_module.Render(look.colour), "\n", by_service.Render(look.colour), "\n");
  absl::StrAppend(&text, "Modules: ", FormatMegabytes(Bytes{all.pss_bytes()}), " of ",
                  FormatMegabytes(Bytes{memory.pss_bytes()}), " PSS; with a copy for each service ",
                  FormatMegabytes(Bytes{memory.saved_bytes()}), " more.\n");
  if (memory.unmeasured_processes() > 0) {
    absl::StrAppend(&text, "Not measured: ", memory.unmeasured_processes(),
                    memory.unmeasured_processes() == 1 ? " process" : " processes",
                    ", ended meanwhile or not to be read.\n");
  }
  return text;
}

std::string UnsharedMemoryView(const admin::v1::UnsharedMemory& memory, const Look& look) {
  Table samples({{"SAMPLE"}, {"OWN", Align::kRight}, {"FILES", Align::kRight}, {"FAILURE"}});
  for (const admin::v1::UnsharedSample& sample : memory.samples()) {
    samples.Add({sample.service(), BytesCell(sample.own_bytes()), BytesCell(sample.file_bytes()),
                 Cell(sample.failure(), Tone::kBad)});
  }
  Table sums({{absl::StrCat("MEMORY OF ", memory.services(), " SERVICES")},
              {"ALL", Align::kRight},
              {"EACH", Align::kRight}});
  const auto add = [&](const std::string& what, uint64_t bytes) {
    sums.Add({what, MegabytesCell(bytes),
              memory.services() == 0 ? Cell("-") : MegabytesCell(bytes / memory.services())});
  };
  add(absl::StrCat("now, in ", Plural(memory.workers(), "worker"), " (PSS)"),
      memory.present_bytes());
  add("a worker for each, files shared", memory.own_bytes() + memory.files_once_bytes());
  add("a worker for each, files of its own", memory.own_bytes() + memory.files_copied_bytes());
  return absl::StrCat(samples.Render(look.colour), "\n", sums.Render(look.colour));
}

}  // namespace cohost::supervisor
