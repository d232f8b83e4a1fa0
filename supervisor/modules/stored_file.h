// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace cohost::supervisor {

enum class StoredKind { kModule, kDataImage };

// "module" or "data image", as the admin API says it.
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
};

}  // namespace cohost::supervisor
