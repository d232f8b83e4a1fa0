// SPDX-License-Identifier: Apache-2.0
#include "worker/dotnet/managed_shim.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"

namespace cohost::worker::dotnet {
namespace {

// hostfxr.h and coreclr_delegates.h of .NET 5 and later, which are stable.
using Handle = void*;
using InitializeForCommandLine = int32_t (*)(int argc, const char** argv, const void* parameters,
                                             Handle* handle);
using GetRuntimeDelegate = int32_t (*)(Handle handle, int32_t type, void** delegate);
using Close = int32_t (*)(Handle handle);
using SetErrorWriter = void* (*)(void (*writer)(const char* message));
using GetFunctionPointer = int32_t (*)(const char* type, const char* method,
                                       const char* delegate_type, void* load_context,
                                       void* reserved, void** function);

using LoadAndGetFunctionPointer = int32_t (*)(const char* assembly, const char* type,
                                              const char* method, const char* delegate_type,
                                              void* reserved, void** function);

constexpr int32_t kLoadAndGetFunctionPointerDelegate = 5;  // hdt_load_assembly_and_get_...
constexpr int32_t kGetFunctionPointerDelegate = 6;         // hdt_get_function_pointer
// UNMANAGEDCALLERSONLY_METHOD.
const char* const kUnmanagedCallersOnly = reinterpret_cast<const char*>(-1);

constexpr const char* kShimType = "Cohost.Worker.Boundary, Cohost.Worker";
constexpr const char* kInitialize = "Initialize";

// What hostfxr and hostpolicy say about an error, line by line; they have no other way to return
// it. Only the thread in StartShim writes it.
std::string* error_text = nullptr;

void WriteError(const char* message) {
  if (error_text == nullptr || message == nullptr) return;
  if (!error_text->empty()) error_text->append("; ");
  error_text->append(message);
}

absl::Status Failed(std::string_view step, int32_t code, const std::string& said) {
  return absl::FailedPreconditionError(absl::StrCat(AsAbsl(step), " failed with 0x",
                                                    absl::Hex(code, absl::kZeroPad8),
                                                    said.empty() ? "" : ": ", said));
}

template <typename Function>
absl::StatusOr<Function> Find(void* library, const std::string& path, const char* name) {
  void* const function = ::dlsym(library, name);
  if (function != nullptr) return reinterpret_cast<Function>(function);
  return absl::FailedPreconditionError(
      absl::StrCat(path, " has no ", name, ": it is no hostfxr of .NET 5 or later"));
}

struct Hostfxr {
  InitializeForCommandLine initialize;
  GetRuntimeDelegate get_delegate;
  Close close;
  SetErrorWriter set_error_writer;
};

absl::StatusOr<Hostfxr> LoadHostfxr(const std::string& path) {
  // Never closed: CoreCLR cannot leave a process.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("cannot load hostfxr: ", ::dlerror()));
  }
  Hostfxr hostfxr{};
  COHOST_ASSIGN_OR_RETURN(
      hostfxr.initialize,
      Find<InitializeForCommandLine>(library, path, "hostfxr_initialize_for_dotnet_command_line"));
  COHOST_ASSIGN_OR_RETURN(hostfxr.get_delegate,
                          Find<GetRuntimeDelegate>(library, path, "hostfxr_get_runtime_delegate"));
  COHOST_ASSIGN_OR_RETURN(hostfxr.close, Find<Close>(library, path, "hostfxr_close"));
  COHOST_ASSIGN_OR_RETURN(hostfxr.set_error_writer,
                          Find<SetErrorWriter>(library, path, "hostfxr_set_error_writer"));
  return hostfxr;
}

// The runtime makes its diagnostics socket and its debugger's pipes in TMPDIR, and looks for that
// when it starts; applications have their temporary files where they always are, native code of
// theirs by this and managed code by managed/Process/EnvironmentVariables.cs. Changing the
// environment beside other threads is safe here: glibc's first new variable leaves the array that
// they may be reading as it is, and later ones are changed and taken out in their place.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& folder) : changed_(!folder.empty()) {
    if (!changed_) return;
    if (const char* const value = ::getenv(kVariable); value != nullptr) before_ = value;
    (void)::setenv(kVariable, folder.c_str(), 1);
  }
  ~TemporaryFolder() {
    if (!changed_) return;
    if (before_) {
      (void)::setenv(kVariable, before_->c_str(), 1);
    } else {
      (void)::unsetenv(kVariable);
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

 private:
  static constexpr const char* kVariable = "TMPDIR";

  const bool changed_;
  std::optional<std::string> before_;
};

// Starts the runtime for `assembly`; the function of it by which others are found.
absl::StatusOr<void*> StartRuntime(const Hostfxr& hostfxr, const std::string& assembly,
                                   int32_t delegate, const std::string& said) {
  std::array<const char*, 1> arguments = {assembly.c_str()};
  Handle handle = nullptr;
  const int32_t started =
      hostfxr.initialize(static_cast<int>(arguments.size()), arguments.data(), nullptr, &handle);
  const absl::Cleanup close = [&] {
    // Ignoring: the runtime goes on whether or not its start-up's context was freed.
    if (handle != nullptr) (void)hostfxr.close(handle);
  };
  // Positive codes are successes with remarks.
  if (started < 0 || handle == nullptr) {
    return Failed(absl::StrCat("preparing .NET for ", assembly), started, said);
  }
  void* function = nullptr;
  const int32_t code = hostfxr.get_delegate(handle, delegate, &function);
  if (code != 0 || function == nullptr) return Failed("starting CoreCLR", code, said);
  return function;
}

// Starts the runtime and finds the shim's entry point.
absl::StatusOr<InitializeFunction> FindInitialize(const Hostfxr& hostfxr, const std::string& shim,
                                                  const std::string& application,
                                                  const std::string& said) {
  void* function = nullptr;
  int32_t code = 0;
  if (application.empty()) {
    COHOST_ASSIGN_OR_RETURN(void* const get,
                            StartRuntime(hostfxr, shim, kGetFunctionPointerDelegate, said));
    code = reinterpret_cast<GetFunctionPointer>(get)(kShimType, kInitialize, kUnmanagedCallersOnly,
                                                     nullptr, nullptr, &function);
  } else {
    COHOST_ASSIGN_OR_RETURN(
        void* const load,
        StartRuntime(hostfxr, application, kLoadAndGetFunctionPointerDelegate, said));
    code = reinterpret_cast<LoadAndGetFunctionPointer>(load)(
        shim.c_str(), kShimType, kInitialize, kUnmanagedCallersOnly, nullptr, &function);
  }
  if (code != 0 || function == nullptr) {
    return Failed(absl::StrCat("finding ", kShimType, " in ", shim), code, said);
  }
  return reinterpret_cast<InitializeFunction>(function);
}

}  // namespace

absl::StatusOr<ManagedTable> StartShim(const std::string& hostfxr_path, const std::string& shim,
                                       const HostTable& host, const std::string& application,
                                       const std::string& diagnostics_folder) {
  if (::access(shim.c_str(), R_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(
        "the worker's managed part is missing: ", shim,
        " cannot be read; it is built where the .NET SDK is present (deploy/README.md)"));
  }
  COHOST_ASSIGN_OR_RETURN(const Hostfxr hostfxr, LoadHostfxr(hostfxr_path));
  std::string said;
  error_text = &said;
  hostfxr.set_error_writer(WriteError);
  const absl::Cleanup forget = [] { error_text = nullptr; };

  absl::StatusOr<InitializeFunction> initialize;
  {
    const TemporaryFolder folder(diagnostics_folder);
    initialize = FindInitialize(hostfxr, shim, application, said);
  }
  if (!initialize.ok()) return initialize.status();
  ManagedTable managed{};
  managed.version = kBoundaryVersion;
  managed.size = sizeof(ManagedTable);
  if ((*initialize)(&host, &managed) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(shim,
                     " could not be initialized: it is of another build, or the worker's log "
                     "says why"));
  }
  if (managed.version != kBoundaryVersion || managed.size != sizeof(ManagedTable)) {
    return absl::FailedPreconditionError(
        absl::StrCat(shim, " speaks version ", managed.version, " of the boundary and the worker ",
                     kBoundaryVersion, ": they are of different builds"));
  }
  return managed;
}

}  // namespace cohost::worker::dotnet
