// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/yaml/yaml_writer.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/strings.h"
#include "supervisor/config/yaml/text_check.h"

namespace cohost::supervisor {
namespace {

// yaml-cpp gives up on a key of this length (1024, YAML 1.2 section 8.2.2) that is not announced
// by '?'.
constexpr size_t kLongKey = 1000;

// What stands for the character at the start of `rest`, and how many bytes that has; no text: it
// stands for itself. Escaped is what ends a string, what some reader takes for a line end, and what
// CheckText refuses.
struct Escape {
  std::string text;
  size_t length = 1;
};

Escape EscapeAt(std::string_view rest) {
  const char c = rest[0];
  if (c == '"') return {"\\\""};
  if (c == '\\') return {"\\\\"};
  if (c == '\n') return {"\\n"};
  if (c == '\r') return {"\\r"};
  if (c == '\t') return {"\\t"};
  if (IsControl(c)) return {absl::StrFormat("\\x%02x", static_cast<unsigned char>(c))};
  // U+0080 to U+009F: the second byte is the code point.
  if (c == '\xc2' && rest.size() > 1 && static_cast<unsigned char>(rest[1]) < 0xa0) {
    return {absl::StrFormat("\\x%02x", static_cast<unsigned char>(rest[1])), 2};
  }
  if (rest.substr(0, 3) == "\xe2\x80\xa8") return {"\\L", 3};
  if (rest.substr(0, 3) == "\xe2\x80\xa9") return {"\\P", 3};
  if (rest.substr(0, 3) == "\xef\xbb\xbf") return {"\\ufeff", 3};
  return {};
}

std::string InQuotes(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const Escape escape = EscapeAt(text);
    absl::StrAppend(&quoted, escape.text.empty() ? AsAbsl(text.substr(0, 1)) : AsAbsl(escape.text));
    text.remove_prefix(escape.length);
  }
  quoted += '"';
  return quoted;
}

}  // namespace

void YamlWriter::Line(std::string_view first, std::string_view second, std::string_view third) {
  const int indent = 2 * (item_begins_ ? depth_ - 1 : depth_);
  text_.append(static_cast<size_t>(indent), ' ');
  if (item_begins_) text_ += "- ";
  item_begins_ = false;
  absl::StrAppend(&text_, AsAbsl(first), AsAbsl(second), AsAbsl(third), "\n");
}

void YamlWriter::Open(std::string_view key) {
  Line(key, ":");
  ++depth_;
}

void YamlWriter::OpenItem() {
  ++depth_;
  item_begins_ = true;
}

void YamlWriter::Close() { --depth_; }

void YamlWriter::Word(std::string_view key, std::string_view value) { Line(key, ": ", value); }

void YamlWriter::Text(std::string_view key, std::string_view value) {
  Line(key, ": ", InQuotes(value));
}

void YamlWriter::Entry(std::string_view key, std::string_view value) {
  const std::string quoted = InQuotes(key);
  if (quoted.size() < kLongKey) {
    Text(quoted, value);
  } else {
    Line("? ", quoted);
    Line(": ", InQuotes(value));
  }
}

void YamlWriter::Words(std::string_view key, const std::vector<std::string_view>& values) {
  Line(key, values.empty() ? ": []" : ":");
  ++depth_;
  for (const std::string_view value : values) Line("- ", value);
  --depth_;
}

void YamlWriter::Texts(std::string_view key, const std::vector<std::string>& values) {
  Line(key, values.empty() ? ": []" : ":");
  ++depth_;
  for (const std::string& value : values) Line("- ", InQuotes(value));
  --depth_;
}

}  // namespace cohost::supervisor
