// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cohost::supervisor {

// Paths inside a tree: names separated by single slashes, "wwwroot/site.css". Names are bytes, as
// the kernel has them.
inline constexpr size_t kMaxTreePath = 2048;
inline constexpr size_t kMaxTreeName = 255;
inline constexpr size_t kMaxTreeDepth = 64;  // names in a path

// INVALID_ARGUMENT naming what is wrong: empty, absolute, an empty part, "." or "..", a NUL, or
// longer than the limits above. A path that passes cannot leave the folder that it is applied to,
// unless through a symbolic link.
absl::Status CheckRelativePath(std::string_view path);

// Where a symbolic link at `path` may point: "../" as often as its folder is deep at most, then
// names. Since ".." comes first only, where it leads is seen from the text, whatever other links
// there are: nowhere outside the tree. INVALID_ARGUMENT otherwise.
absl::Status CheckLinkTarget(std::string_view path, std::string_view target);

// The target without "." and doubled or closing slashes, as CheckLinkTarget wants it.
// INVALID_ARGUMENT when it leaves the tree, is absolute, or has ".." after a name.
absl::StatusOr<std::string> NormalLinkTarget(std::string_view path, std::string_view target);

// The folder of `path`; empty at the top.
std::string_view FolderOf(std::string_view path);
// Whether `path` is inside the folder, at any depth.
bool IsBelow(std::string_view path, std::string_view folder);

// `text` as one word of visible ASCII: every other byte, space and "%" as %XX with capital digits.
std::string EscapeWord(std::string_view text);
// INVALID_ARGUMENT for anything that EscapeWord does not write, so that a text has one form only.
absl::StatusOr<std::string> UnescapeWord(std::string_view word);

}  // namespace cohost::supervisor
