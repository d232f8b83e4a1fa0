// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "supervisor/config/config_error.h"

namespace cohost::supervisor {

// What all readers of one load share. Answers of the file system and the account database are kept,
// since a thousand services name the same module and user. Not thread-safe.
struct ReadContext {
  explicit ReadContext(ConfigErrors& all_errors) : errors(all_errors) {}

  ConfigErrors& errors;
  // Files that are named must exist. Not those of a text from the state: what they held is in the
  // module store.
  bool checks_files = true;
  // By path or name: OK, or what is wrong with it.
  std::map<std::string, absl::Status> regular_files;
  std::map<std::string, absl::Status> users;
  std::map<std::string, absl::Status> user_groups;
};

}  // namespace cohost::supervisor
