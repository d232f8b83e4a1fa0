// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/config_error.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {

std::string Render(const ConfigError& error) {
  std::string text = error.file;
  if (error.line > 0) absl::StrAppend(&text, ":", error.line, ":", error.column);
  if (!error.key_path.empty()) absl::StrAppend(&text, ": ", error.key_path);
  absl::StrAppend(&text, ": ", error.message);
  return text;
}

void ConfigErrors::Add(ConfigError error) {
  if (full()) {
    ++dropped_;
    return;
  }
  errors_.push_back(std::move(error));
}

std::vector<ConfigError> ConfigErrors::Take() {
  std::sort(errors_.begin(), errors_.end());
  errors_.erase(std::unique(errors_.begin(), errors_.end()), errors_.end());
  if (dropped_ > 0) {
    errors_.push_back(
        {.file = errors_.back().file, .message = absl::StrCat("and ", dropped_, " more errors")});
  }
  return std::exchange(errors_, {});
}

}  // namespace cohost::supervisor
