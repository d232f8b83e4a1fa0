// SPDX-License-Identifier: Apache-2.0
#include "worker/http/http_text.h"

#include <algorithm>
#include <array>

namespace cohost::worker {
namespace {

constexpr bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr std::array<bool, 256> CharacterSet(std::string_view others) {
  std::array<bool, 256> set{};
  for (int c = 0; c < 128; ++c) {
    set[static_cast<size_t>(c)] = IsAlphanumeric(static_cast<char>(c));
  }
  for (const char c : others) set[static_cast<unsigned char>(c)] = true;
  return set;
}

constexpr std::array<bool, 256> kTokenCharacters = CharacterSet("!#$%&'*+-.^_`|~");
// unreserved, sub-delims and "%" of RFC 3986, but no comma: two Host fields joined are no host.
constexpr std::array<bool, 256> kNameCharacters = CharacterSet("-._~!$&'()*+;=%");
constexpr std::array<bool, 256> kLiteralCharacters = CharacterSet(":.");

bool AllOf(std::string_view text, const std::array<bool, 256>& set) {
  return std::all_of(text.begin(), text.end(),
                     [&set](char c) { return set[static_cast<unsigned char>(c)]; });
}

constexpr char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsPort(std::string_view text) {
  return text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool IsToken(std::string_view text) { return !text.empty() && AllOf(text, kTokenCharacters); }

bool IsFieldValue(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
  });
}

bool IsHost(std::string_view text) {
  std::string_view after;
  if (!text.empty() && text.front() == '[') {
    const size_t end = text.find(']');
    if (end == std::string_view::npos || end < 3) return false;
    if (!AllOf(text.substr(1, end - 1), kLiteralCharacters)) return false;
    after = text.substr(end + 1);
    if (!after.empty() && after.front() != ':') return false;
  } else {
    const size_t colon = text.find(':');
    if (colon == 0 || !AllOf(text.substr(0, colon), kNameCharacters)) return false;
    after = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  return after.empty() || IsPort(after.substr(1));
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return Lower(x) == Lower(y); });
}

bool ContainsIgnoringCase(std::string_view text, std::string_view lower_case_part) {
  return std::search(text.begin(), text.end(), lower_case_part.begin(), lower_case_part.end(),
                     [](char x, char y) { return Lower(x) == y; }) != text.end();
}

bool IsOriginForm(std::string_view target) {
  return !target.empty() && target.front() == '/' &&
         std::all_of(target.begin(), target.end(),
                     [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
}

bool IsHostField(std::string_view name) {
  switch (name.size()) {
    case 4:
      return EqualsIgnoringCase(name, "date");
    case 7:
      return EqualsIgnoringCase(name, "upgrade") || EqualsIgnoringCase(name, "trailer");
    case 10:
      return EqualsIgnoringCase(name, "connection") || EqualsIgnoringCase(name, "keep-alive");
    case 14:
      return EqualsIgnoringCase(name, "content-length");
    case 16:
      return EqualsIgnoringCase(name, "proxy-connection");
    case 17:
      return EqualsIgnoringCase(name, "transfer-encoding");
    default:
      return false;
  }
}

}  // namespace cohost::worker
