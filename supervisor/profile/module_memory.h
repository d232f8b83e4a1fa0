// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/units.h"
#include "supervisor/profile/process_maps.h"

// Who pays for which module: pure, no I/O. Files are told by device and inode, never by path: a
// module may have several copies in the store, and hard links in trees.
namespace cohost::supervisor {

// A file of the store, as mappings name it.
struct IdentifiedFile {
  std::string hash;
  Bytes bss;  // MappedFile::bss
};

// One process and the services that run in it.
struct MeasuredProcess {
  std::string name;
  std::vector<std::string> services;
  ProcessMaps maps;
};

struct MemoryInput {
  std::vector<MeasuredProcess> processes;
  std::map<FileIdentity, IdentifiedFile> files;
  // Hashes of the files that each service uses now.
  std::map<std::string, std::vector<std::string>> uses;
};

// Resident bytes that modules cause.
struct ModuleBytes {
  // Proportional: of the file pages each process's share, and all of the two last below.
  uint64_t pss = 0;
  // The file's pages. Shared: also mapped by other processes, and counted here for each of them.
  // Private: mapped by this process alone, and given back when it ends.
  uint64_t shared = 0;
  uint64_t private_clean = 0;
  // Pages of the file that the process has written, as the loader does with relocations: its own.
  uint64_t relocated = 0;
  // The zeroed rest of the module's data (.bss): its own.
  uint64_t anonymous = 0;

  ModuleBytes& operator+=(const ModuleBytes& other);
  friend bool operator==(const ModuleBytes&, const ModuleBytes&) = default;
};

struct ModuleMemory {
  std::string hash;
  uint32_t processes = 0;  // that map it
  uint32_t services = 0;   // that use it in one of these
  ModuleBytes bytes;       // sum over the processes
  // Of `bytes`, what is in processes where no service uses the module any more (a worker of the
  // revision before): no service's sum has it.
  ModuleBytes unused;
  // What interning saves of it, in file pages: the same processes with one copy of the file per
  // service, less what they map now. A service's copy is taken to have as many resident pages in a
  // worker as the module has there now, and to be shared by all workers that run the service, so:
  //   sum over services (largest number of file bytes in one worker that runs it)
  //   - file bytes that are there now, each page once (the sum of their PSS).
  // An estimate: two services may look at different pages of the one file. Pages that were written
  // are not in it, though each copy would have its own of those too.
  uint64_t saved = 0;
};

struct ServiceMemory {
  std::string service;
  uint32_t processes = 0;  // in which it uses any module
  uint32_t modules = 0;
  // Its parts of its modules. The module's bytes in one process are divided evenly by the services
  // that use it there; of n services, the first by name get the bytes that n does not divide, one
  // each. So for each module, the parts and `unused` are exactly the whole.
  ModuleBytes bytes;
};

// Modules and data images alone: what a service allocates cannot be told from its neighbours' by
// mappings, since one process has one heap.
struct MemoryReport {
  absl::Time measured;
  std::vector<ModuleMemory> modules;    // by hash
  std::vector<ServiceMemory> services;  // by name; those that use any
  uint64_t saved = 0;                   // of all modules
  // Processes that could not be measured: they ended meanwhile, or may not be read.
  uint32_t unmeasured = 0;
  // Of workers alone, whatever they map: how many were measured, the sum of their PSS, and files.
  uint32_t workers = 0;
  uint64_t workers_pss = 0;
  FilePages files;
};

MemoryReport AttributeMemory(const MemoryInput& input);

}  // namespace cohost::supervisor
