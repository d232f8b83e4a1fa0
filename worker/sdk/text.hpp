// SPDX-License-Identifier: Apache-2.0
//
// Text helpers for modules: what a small HTTP service needs to take a request target apart and to
// write HTML and JSON safely. Header only, C++17, no locale and no streams (README.md says why).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cohost {

// `&<>"'` as entities: for text and for quoted attribute values.
inline std::string HtmlEscape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// A JSON string with its quotes. `text` should be UTF-8; other bytes pass as they are.
inline std::string JsonString(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  out.reserve(text.size() + 2);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

namespace text_internal {
inline int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
}  // namespace text_internal

// Undoes %XX, and `+` for a space when `form` (query strings). Nothing when a % is not followed by
// two hexadecimal digits, or stands for NUL.
inline std::optional<std::string> UrlDecode(std::string_view text, bool form = false) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = text_internal::HexDigit(text[i + 1]);
      const int low = text_internal::HexDigit(text[i + 2]);
      if (high < 0 || low < 0 || (high | low) == 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += form && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

// For a path segment or a query value: everything but unreserved characters becomes %XX.
inline std::string UrlEncode(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

// The parts of "/a%20b?c=d", as they came.
inline std::string_view TargetPath(std::string_view target) {
  return target.substr(0, target.find('?'));
}
inline std::string_view TargetQuery(std::string_view target) {
  const size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

// The decoded value of the first `name=value` of a query string; empty for a bare `name`. Nothing
// when it is not there or is not decodable.
inline std::optional<std::string> QueryValue(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    const size_t equals = pair.find('=');
    const auto key = UrlDecode(pair.substr(0, equals), true);
    if (!key || *key != name) continue;
    if (equals == std::string_view::npos) return std::string();
    return UrlDecode(pair.substr(equals + 1), true);
  }
  return std::nullopt;
}

}  // namespace cohost
