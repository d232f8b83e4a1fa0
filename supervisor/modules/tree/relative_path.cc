// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/relative_path.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/strings.h"

namespace cohost::supervisor {

namespace {

constexpr char kDigits[] = "0123456789ABCDEF";

bool IsPlain(char c) { return c > ' ' && c < 0x7F && c != '%'; }

absl::Status Wrong(std::string_view path, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("path '", EscapeWord(path.substr(0, 200)), "': ", AsAbsl(why)));
}

size_t DepthOf(std::string_view folder) {
  return folder.empty() ? 0
                        : 1 + static_cast<size_t>(std::count(folder.begin(), folder.end(), '/'));
}

}  // namespace

absl::Status CheckRelativePath(std::string_view path) {
  if (path.empty()) return Wrong(path, "it is empty");
  if (path.size() > kMaxTreePath) return Wrong(path, "it is longer than 2,048 bytes");
  if (path[0] == '/') return Wrong(path, "it is absolute");
  if (path.find('\0') != std::string_view::npos) return Wrong(path, "it has a NUL");
  size_t depth = 0;
  for (const absl::string_view part : absl::StrSplit(AsAbsl(path), '/')) {
    const std::string_view name = AsStd(part);
    if (name.empty()) return Wrong(path, "it has an empty part");
    if (name == "." || name == "..") return Wrong(path, "it has '.' or '..'");
    if (name.size() > kMaxTreeName) return Wrong(path, "it has a name longer than 255 bytes");
    if (++depth > kMaxTreeDepth) return Wrong(path, "it is deeper than 64 folders");
  }
  return absl::OkStatus();
}

absl::Status CheckLinkTarget(std::string_view path, std::string_view target) {
  std::string_view rest = target;
  size_t ups = 0;
  while (rest == ".." || rest.starts_with("../")) {
    ++ups;
    rest.remove_prefix(std::min<size_t>(3, rest.size()));
    // "../" with nothing behind is written "..".
    if (rest.empty() && target.ends_with('/')) return Wrong(target, "it ends in '/'");
  }
  if (ups > DepthOf(FolderOf(path))) {
    return Wrong(path,
                 absl::StrCat("it is a link to '", EscapeWord(target), "', outside the folder"));
  }
  if (rest.empty()) return ups > 0 ? absl::OkStatus() : Wrong(path, "it is a link to nothing");
  return CheckRelativePath(rest);
}

absl::StatusOr<std::string> NormalLinkTarget(std::string_view path, std::string_view target) {
  if (target.starts_with('/')) {
    return Wrong(path, absl::StrCat("it is a link to the absolute path '", EscapeWord(target),
                                    "'; make it relative, to something in the same folder, or "
                                    "put the file itself there"));
  }
  std::vector<absl::string_view> parts;
  for (const absl::string_view part : absl::StrSplit(AsAbsl(target), '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      return Wrong(path, absl::StrCat("it is a link to '", EscapeWord(target),
                                      "'; write it without '..' after a name"));
    }
    parts.push_back(part);
  }
  std::string normal = absl::StrJoin(parts, "/");
  if (absl::Status status = CheckLinkTarget(path, normal); !status.ok()) return status;
  return normal;
}

std::string_view FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

bool IsBelow(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

std::string EscapeWord(std::string_view text) {
  std::string word;
  word.reserve(text.size());
  for (const char c : text) {
    if (IsPlain(c)) {
      word += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    word += '%';
    word += kDigits[byte >> 4];
    word += kDigits[byte & 15];
  }
  return word;
}

absl::StatusOr<std::string> UnescapeWord(std::string_view word) {
  std::string text;
  text.reserve(word.size());
  for (size_t i = 0; i < word.size(); ++i) {
    if (IsPlain(word[i])) {
      text += word[i];
      continue;
    }
    const std::string_view digits(kDigits, 16);
    const size_t high = word[i] == '%' && i + 2 < word.size() ? digits.find(word[i + 1]) : 16;
    const size_t low = high < 16 ? digits.find(word[i + 2]) : 16;
    if (high > 15 || low > 15) return absl::InvalidArgumentError("a byte that is not escaped");
    const char c = static_cast<char>(high * 16 + low);
    if (IsPlain(c)) return absl::InvalidArgumentError("an escape of a byte that needs none");
    text += c;
    i += 2;
  }
  return text;
}

}  // namespace cohost::supervisor
