// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "base/units.h"

namespace cohost::supervisor {

// What a stored file is: how it is checked before it enters the store, and its extension there.
enum class StoredKind {
  kModule,     // ".so": a shared object with our entry point
  kDataImage,  // ".img"
  kAssembly,   // ".dll": a .NET assembly, IL or ReadyToRun
  kFile,       // ".file": anything else of a tree; not checked
  kProgram,    // ".program": the same with permission to execute
};
inline constexpr StoredKind kStoredKinds[] = {StoredKind::kModule, StoredKind::kDataImage,
                                              StoredKind::kAssembly, StoredKind::kFile,
                                              StoredKind::kProgram};

// "module", "data image", "assembly", "file", "program": as the admin API says it.
std::string_view StoredKindName(StoredKind kind);

// One file of the module store.
struct StoredFile {
  std::string hash;  // SHA-256 of the content, 64 hexadecimal digits
  std::string path;  // absolute
  Bytes size;
  StoredKind kind = StoredKind::kModule;
  // What may hurt later though it is allowed ("uses static thread-local storage"), one line each.
  // Only told when the file is copied, not when it was there.
  std::vector<std::string> warnings;
};

struct ListedFile {
  StoredFile file;
  std::string source;                 // copied from there last; empty when the index was lost
  std::vector<std::string> services;  // by name
  absl::Time published;               // first, by the file's time
  std::vector<std::string> copies;    // paths of further ones of the same content
};

}  // namespace cohost::supervisor
