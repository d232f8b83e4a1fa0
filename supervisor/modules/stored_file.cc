// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/stored_file.h"

namespace cohost::supervisor {

std::string_view StoredKindName(StoredKind kind) {
  switch (kind) {
    case StoredKind::kModule:
      return "module";
    case StoredKind::kDataImage:
      return "data image";
    case StoredKind::kAssembly:
      return "assembly";
    case StoredKind::kFile:
      return "file";
    case StoredKind::kProgram:
      return "program";
  }
  return "file";
}

}  // namespace cohost::supervisor
