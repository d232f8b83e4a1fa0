// SPDX-License-Identifier: Apache-2.0
#include "worker/native/loader/module.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "worker/native/loader/module_file.h"

namespace cohost::worker::native {
namespace {

constexpr char kEntry[] = "cohost_module_v1";
// A table that ends before `destroy` cannot be used; one of more than this is not a table.
constexpr size_t kSmallestTable = offsetof(cohost_module, destroy) + sizeof(cohost_module::destroy);
constexpr size_t kLargestTable = 64 << 10;

absl::Status Refused(const std::string& path, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat(path, ": ", why));
}

// noexcept: an exception of a constructor would leave the dynamic linker's lock taken, so that
// nothing could be loaded ever after. It ends the process here, while the thread still names the
// service.
void* OpenLibrary(const std::string& path) noexcept {
  // The C library promises that dlopen does not throw, and the compiler would leave out what makes
  // noexcept true; hence by a pointer that promises nothing.
  void* (*volatile open)(const char*, int) = ::dlopen;
  // No RTLD_DEEPBIND: with it a module would free with libc's allocator what another one gave it.
  return open(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

std::string LastLoaderError() {
  const char* error = ::dlerror();
  return error == nullptr ? "unknown error" : error;
}

absl::Status CannotLoad(const std::string& path, const ModuleFile& file, const std::string& error) {
  if (absl::StrContains(error, "static TLS")) {
    return absl::ResourceExhaustedError(absl::StrCat(
        path, ": needs ", file.tls_bytes, " bytes of static thread-local storage, and the area of ",
        "about 1,600 bytes that all modules of a worker share is used up; build it without ",
        "-ftls-model=initial-exec, or put the service into another group"));
  }
  if (absl::StrContains(error, "undefined symbol")) {
    return Refused(path, absl::StrCat(error, "; link the module with what it needs (-Wl,-z,defs ",
                                      "shows it): a worker exports no symbols"));
  }
  if (absl::StrContains(error, "cannot open shared object file")) {
    return Refused(path, absl::StrCat(error, "; install the library or link it statically"));
  }
  return Refused(path, absl::StrCat("cannot be loaded: ", error));
}

// The module's table, completed with nulls to the size that this build knows.
absl::StatusOr<cohost_module> CompleteTable(const std::string& path, const cohost_module* given) {
  if (given == nullptr) return Refused(path, absl::StrCat(kEntry, " gave no table"));
  if (given->major != COHOST_ABI_MAJOR) {
    return Refused(path,
                   absl::StrCat("built for major version ", given->major,
                                " of the module interface, this worker has ", COHOST_ABI_MAJOR,
                                "; rebuild it with this version's cohost.h"));
  }
  const size_t size = given->size;
  if (size < kSmallestTable || size > kLargestTable) {
    return Refused(path, absl::StrCat("its table has an impossible size of ", size,
                                      " bytes; set `size` to sizeof(cohost_module)"));
  }
  cohost_module table = {};
  std::memcpy(&table, given, std::min(size, sizeof(table)));
  if (table.create == nullptr || table.request == nullptr || table.destroy == nullptr) {
    return Refused(path, "create, request and destroy are required");
  }
  constexpr cohost_module_flags kBoth = COHOST_INLINE | COHOST_SERIAL;
  if ((table.flags & kBoth) == kBoth) {
    return Refused(path, "COHOST_INLINE and COHOST_SERIAL do not go together; choose one");
  }
  return table;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> Module::Load(const std::string& path,
                                                     const cohost_host& host) {
  COHOST_ASSIGN_OR_RETURN(const ModuleFile file, InspectModuleFile(path));
  void* handle = OpenLibrary(path);
  if (handle == nullptr) return CannotLoad(path, file, LastLoaderError());
  void* symbol = ::dlsym(handle, kEntry);
  if (symbol == nullptr) {
    return Refused(path, absl::StrCat("exports no ", kEntry,
                                      "; define it with COHOST_EXPORT, in C++ as extern \"C\""));
  }
  const auto entry = reinterpret_cast<cohost_module_entry>(symbol);
  const cohost_module* given = nullptr;
  const cohost_status status = entry(&host, &given);
  if (status != COHOST_OK) {
    return Refused(path, absl::StrCat("does not fit this worker (", kEntry, " answered ", status,
                                      "); build it with this version's headers, or update Cohost"));
  }
  COHOST_ASSIGN_OR_RETURN(const cohost_module table, CompleteTable(path, given));
  return std::unique_ptr<Module>(new Module(path, table));
}

absl::Status Module::AddService() {
  MutexLock lock(mutex_);
  if (services_ > 0 && Has(COHOST_ONE_SERVICE_PER_WORKER)) {
    return Refused(path_, "takes one service per worker, and this worker has one already");
  }
  ++services_;
  return absl::OkStatus();
}

void Module::RemoveService() {
  MutexLock lock(mutex_);
  --services_;
}

absl::StatusOr<Module*> ModuleSet::Load(const std::string& path) {
  MutexLock lock(mutex_);
  std::unique_ptr<Module>& module = modules_[path];
  if (module == nullptr) {
    COHOST_ASSIGN_OR_RETURN(module, Module::Load(path, host_));
  }
  return module.get();
}

}  // namespace cohost::worker::native
