// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "supervisor/modules/verify/elf_image.h"

namespace cohost::supervisor {

// Where the dynamic loader looks for libraries that are named without a folder.
struct LibrarySearch {
  std::string cache = "/etc/ld.so.cache";
  std::vector<std::string> folders = DefaultFolders();

  // Those that are built into the loader, of this machine's distributions.
  static std::vector<std::string> DefaultFolders();
};

// Checks that the libraries that a module needs (DT_NEEDED), and those that they need in turn, are
// on this host and define the versions of symbols that are asked of them, as dlopen(3) in a worker
// will find them: DT_RPATH (also of what needs it) or DT_RUNPATH, the cache of ldconfig, the
// default folders. Not looked at: LD_LIBRARY_PATH, which workers are not given, and variants for
// single processors, which the cache names like the others. The worker brings no library but those
// that every program on the host has.
//
// A module is loaded from the module store, under a name of the store's: $ORIGIN in its paths is no
// folder of libraries, and a relative path depends on where the worker was started. Neither finds
// anything. In libraries found elsewhere $ORIGIN is their own folder.
//
// INVALID_ARGUMENT naming the library and who needs it. Reads the headers of at most 256 files.
absl::Status CheckNeededLibraries(const ElfImage& module, const LibrarySearch& search);

}  // namespace cohost::supervisor
