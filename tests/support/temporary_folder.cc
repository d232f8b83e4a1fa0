// SPDX-License-Identifier: Apache-2.0
#include "tests/support/temporary_folder.h"

#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

namespace cohost::testing {

TemporaryFolder::TemporaryFolder() : path_("/tmp/ch.XXXXXX") {
  // Not below TEST_TMPDIR: its path alone is longer than a unix socket's may be.
  if (mkdtemp(path_.data()) == nullptr) {
    std::perror("mkdtemp");
    abort();
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // what cannot be removed is the machine's to clean
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace cohost::testing
