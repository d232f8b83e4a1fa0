// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "worker/sdk/cohost.h"

namespace cohost::worker::native {

// A loaded shared object and the table that it gave. It stays mapped until the process ends: code
// of it may run on threads and in thread-local clean-ups that nobody can wait for. Immutable but
// for the count of its services; thread-safe.
class Module {
 public:
  // Loads and asks the module for its table. The error names the file, the reason and what to do.
  // May run code of the module (constructors), so it may also block or end the process.
  static absl::StatusOr<std::unique_ptr<Module>> Load(const std::string& path,
                                                      const cohost_host& host);

  const std::string& path() const { return path_; }
  // Complete: what the module's own table does not reach is null.
  const cohost_module& table() const { return table_; }
  bool Has(cohost_module_flags flag) const { return (table_.flags & flag) != 0; }

  // Counts one more service of this module. FAILED_PRECONDITION when it takes only one.
  absl::Status AddService();
  void RemoveService();

 private:
  Module(std::string path, const cohost_module& table) : path_(std::move(path)), table_(table) {}

  // Set in the constructor, never changed.
  const std::string path_;
  const cohost_module table_;

  Mutex mutex_;
  uint32_t services_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The modules of this worker, each file loaded once. Thread-safe; one load at a time, as the
// dynamic linker does it anyway.
class ModuleSet {
 public:
  // `host` outlives every module, so it is a static.
  explicit ModuleSet(const cohost_host& host) : host_(host) {}

  // Valid as long as the set. A path that could not be loaded is tried again.
  absl::StatusOr<Module*> Load(const std::string& path);

 private:
  const cohost_host& host_;

  Mutex mutex_;
  std::map<std::string, std::unique_ptr<Module>> modules_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::worker::native
