// SPDX-License-Identifier: Apache-2.0
#include "worker/dotnet/current_folder.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "base/format/segment.h"
#include "base/mutex.h"

namespace cohost::worker::dotnet {
namespace {

thread_local int32_t thread_service = -1;
// The child of a vfork has chosen its folder itself. It shares its parent thread's variables until
// it has called execve.
thread_local bool child_chose_folder = false;

// Every folder that was ever some service's: pointers into it stay valid.
struct Folders {
  Mutex mutex;
  std::set<std::string> all ABSL_GUARDED_BY(mutex);
  std::array<std::atomic<const std::string*>, kServiceRows> of_row{};
};

Folders& TheFolders() {
  static Folders* const folders = new Folders();
  return *folders;
}

// Null: the kernel's.
const std::string* ThreadFolder() {
  if (thread_service < 0) return nullptr;
  return TheFolders().of_row[static_cast<size_t>(thread_service)].load(std::memory_order_acquire);
}

bool InForkedChild() {
  static const pid_t process = ::getpid();
  return ::getpid() != process;
}

// errno is set when it is not.
bool IsUsableFolder(const char* path) {
  struct stat status {};
  if (::stat(path, &status) != 0) return false;
  if (!S_ISDIR(status.st_mode)) {
    errno = ENOTDIR;
    return false;
  }
  return ::access(path, X_OK) == 0;
}

// Taken at start, before anything forks.
[[maybe_unused]] const bool process_is_known = InForkedChild();

}  // namespace

void SetThreadService(int32_t row) {
  thread_service = row < static_cast<int32_t>(kServiceRows) ? row : -1;
}

int32_t ThreadService() { return thread_service; }

void SetServiceFolder(int32_t row, const std::string& folder) {
  if (row < 0 || row >= static_cast<int32_t>(kServiceRows)) return;
  Folders& folders = TheFolders();
  MutexLock lock(folders.mutex);
  folders.of_row[static_cast<size_t>(row)].store(&*folders.all.insert(folder).first,
                                                 std::memory_order_release);
}

}  // namespace cohost::worker::dotnet

using cohost::worker::dotnet::child_chose_folder;
using cohost::worker::dotnet::InForkedChild;
using cohost::worker::dotnet::IsUsableFolder;
using cohost::worker::dotnet::SetServiceFolder;
using cohost::worker::dotnet::ThreadFolder;
using cohost::worker::dotnet::ThreadService;

extern "C" {

// As getcwd(3), which also allocates when `buffer` is null.
char* getcwd(char* buffer, size_t size) noexcept {
  std::array<char, PATH_MAX> path;
  const std::string* const folder = ThreadFolder();
  if (folder != nullptr) {
    if (folder->size() >= path.size()) {
      errno = ENAMETOOLONG;
      return nullptr;
    }
    std::memcpy(path.data(), folder->c_str(), folder->size() + 1);
  } else if (::syscall(SYS_getcwd, path.data(), path.size()) < 0) {
    return nullptr;
  }
  const size_t length = std::strlen(path.data()) + 1;
  if (buffer == nullptr && size == 0) size = length;
  if (length > size) {
    errno = size == 0 ? EINVAL : ERANGE;
    return nullptr;
  }
  if (buffer == nullptr) buffer = static_cast<char*>(std::malloc(size));
  if (buffer != nullptr) std::memcpy(buffer, path.data(), length);
  return buffer;
}

int chdir(const char* path) noexcept {
  if (InForkedChild()) {
    child_chose_folder = true;
    return static_cast<int>(::syscall(SYS_chdir, path));
  }
  const std::string* const folder = ThreadFolder();
  if (folder == nullptr) return static_cast<int>(::syscall(SYS_chdir, path));
  if (*path == '\0') {
    errno = ENOENT;
    return -1;
  }
  const std::string wanted = *path == '/' ? path : *folder + "/" + path;
  std::array<char, PATH_MAX> real;
  if (::realpath(wanted.c_str(), real.data()) == nullptr) return -1;
  if (!IsUsableFolder(real.data())) return -1;
  SetServiceFolder(ThreadService(), real.data());
  return 0;
}

// A child that a service starts begins in the service's folder, unless it was told another.
// Async-signal-safe: it runs between vfork and exec.
int execve(const char* file, char* const arguments[], char* const environment[]) noexcept {
  const bool chosen = std::exchange(child_chose_folder, false);
  const std::string* const folder = InForkedChild() && !chosen ? ThreadFolder() : nullptr;
  if (folder != nullptr && ::syscall(SYS_chdir, folder->c_str()) != 0) return -1;
  return static_cast<int>(::syscall(SYS_execve, file, arguments, environment));
}

}  // extern "C"
