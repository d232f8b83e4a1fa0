// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/reader/value_check.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/nearest.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/config/accounts.h"
#include "supervisor/config/yaml/scalar.h"
#include "supervisor/config/yaml/text_check.h"

namespace cohost::supervisor {
namespace {

// Longest text of one line, and longest path the kernel takes (PATH_MAX with its NUL).
constexpr size_t kMaxText = 1024;
constexpr size_t kMaxPath = 4095;

// Compares with the key's range, which is written in the table as the value is in the file.
template <typename Value, typename Parse>
absl::StatusOr<Value> InRange(const Key& key, const YamlNode& node, Parse parse) {
  absl::StatusOr<Value> value = parse(node);
  if (!value.ok() && value.status().code() != absl::StatusCode::kOutOfRange) return value;
  const auto limit = [&parse](std::string_view text) {
    YamlNode written;
    written.kind = YamlNode::Kind::kScalar;
    written.text = text;
    return parse(written);
  };
  bool inside = value.ok();
  if (inside && !key.least.empty()) inside = *value >= *limit(key.least);
  if (inside && !key.most.empty()) inside = *value <= *limit(key.most);
  if (inside) return value;
  if (key.least.empty() && key.most.empty()) return value;
  return absl::OutOfRangeError(absl::StrCat(Quoted(node.text), " is out of range, allowed: ",
                                            AsAbsl(key.least), " to ", AsAbsl(key.most)));
}

absl::Status CheckTarget(std::string_view text) {
  const bool printable =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (text.substr(0, 1) == "/" && printable) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected the target of a request like /path?query, not ", Quoted(text)));
}

absl::Status StatRegularFile(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "stat", path);
  if (S_ISREG(info.st_mode)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("'", path, "' is not a regular file"));
}

// The answer for `name`, asked once.
template <typename Ask>
absl::Status Remembered(std::map<std::string, absl::Status>& answers, const std::string& name,
                        Ask ask) {
  const auto known = answers.find(name);
  if (known != answers.end()) return known->second;
  return answers.emplace(name, ask(name)).first->second;
}

absl::Status CheckLine(std::string_view text, size_t most) {
  if (text.size() > most) {
    return absl::OutOfRangeError(
        absl::StrCat("longer than ", most, " bytes (it has ", text.size(), ")"));
  }
  if (std::any_of(text.begin(), text.end(), IsControl)) {
    return absl::InvalidArgumentError("one line of text is expected, without control characters");
  }
  return absl::OkStatus();
}

std::vector<std::string_view> Split(std::string_view choices) {
  std::vector<std::string_view> parts;
  for (const absl::string_view part : absl::StrSplit(AsAbsl(choices), '|', absl::SkipEmpty())) {
    parts.push_back(AsStd(part));
  }
  return parts;
}

}  // namespace

absl::StatusOr<int64_t> CheckedInteger(const Key& key, const YamlNode& node) {
  return InRange<int64_t>(key, node, ScalarToInteger);
}

absl::StatusOr<double> CheckedNumber(const Key& key, const YamlNode& node) {
  return InRange<double>(key, node, ScalarToNumber);
}

absl::StatusOr<Bytes> CheckedBytes(const Key& key, const YamlNode& node) {
  return InRange<Bytes>(key, node, [](const YamlNode& n) { return ParseBytes(n.text); });
}

absl::StatusOr<absl::Duration> CheckedDuration(const Key& key, const YamlNode& node) {
  return InRange<absl::Duration>(key, node,
                                 [](const YamlNode& n) { return ParseDuration(n.text); });
}

absl::StatusOr<std::string> CheckedText(const Key& key, const YamlNode& node,
                                        const std::string& folder, ReadContext& context) {
  const std::string& text = node.text;
  if (text.empty()) return absl::InvalidArgumentError("must not be empty");
  const bool is_path = key.type == KeyType::kFile || key.type == KeyType::kFolder;
  COHOST_RETURN_IF_ERROR(CheckLine(text, is_path ? kMaxPath : kMaxText));
  std::string checked = is_path ? ResolvePath(folder, text) : text;
  if (is_path) COHOST_RETURN_IF_ERROR(CheckPath(checked));
  absl::Status status;
  if (key.type == KeyType::kName) status = CheckName(text);
  if (key.type == KeyType::kTarget) status = CheckTarget(text);
  if (key.type == KeyType::kFile && context.checks_files) {
    status = Remembered(context.regular_files, checked, StatRegularFile);
  }
  if (key.type == KeyType::kUser) {
    status = Remembered(context.users, text,
                        [](const std::string& name) { return FindUser(name).status(); });
  }
  if (key.type == KeyType::kUserGroup) {
    status = Remembered(context.user_groups, text,
                        [](const std::string& name) { return FindUserGroup(name).status(); });
  }
  if (!status.ok()) return status;
  return checked;
}

absl::Status CheckPath(std::string_view path) {
  if (!IsUtf8(path)) return absl::InvalidArgumentError("the name of its folder is not valid UTF-8");
  return CheckLine(path, kMaxPath);
}

absl::Status CheckChoice(const Key& key, const YamlNode& node) {
  const std::vector<std::string_view> choices = Split(key.choices);
  if (std::find(choices.begin(), choices.end(), node.text) != choices.end()) {
    return absl::OkStatus();
  }
  const std::vector<std::string_view> reserved = Split(key.reserved_choices);
  if (std::find(reserved.begin(), reserved.end(), node.text) != reserved.end()) {
    return absl::UnimplementedError(absl::StrCat(Quoted(node.text), " is not in this version"));
  }
  const auto nearest =
      FindNearest(choices, node.text, [](std::string_view choice) { return choice; });
  return absl::InvalidArgumentError(absl::StrCat(
      "expected one of ",
      absl::StrJoin(
          choices, ", ",
          [](std::string* out, std::string_view choice) { absl::StrAppend(out, AsAbsl(choice)); }),
      ", not ", Quoted(node.text),
      nearest == choices.end() ? "" : absl::StrCat(", did you mean '", AsAbsl(*nearest), "'?")));
}

std::string_view DescribeKind(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kEmpty:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return "text";
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kList:
      return "a list";
  }
  return "";
}

std::string ResolvePath(const std::string& folder, std::string_view path) {
  const std::string whole =
      path.substr(0, 1) == "/" ? std::string(path) : absl::StrCat(folder, "/", AsAbsl(path));
  std::string resolved;
  for (const absl::string_view part : absl::StrSplit(whole, '/', absl::SkipEmpty())) {
    if (part != ".") absl::StrAppend(&resolved, "/", part);
  }
  return resolved.empty() ? "/" : resolved;
}

}  // namespace cohost::supervisor
