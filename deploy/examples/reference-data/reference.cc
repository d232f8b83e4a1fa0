// SPDX-License-Identifier: Apache-2.0
#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

constexpr std::string_view kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:3em auto;padding:0 "
    "1em;color:#222}"
    "h1{font-size:1.5em}code{background:#f2f2f2;padding:.1em .3em;border-radius:3px}"
    "footer{margin-top:2em;color:#777;font-size:.85em}";

}  // namespace

ReferenceService::ReferenceService(cohost::Context context) : Service(context) { SetExamples({}); }

void ReferenceService::SetExamples(const std::vector<Example>& examples) {
  const std::string title = cohost::HtmlEscape(context().setting("title", context().name()));
  page_ = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>" + title +
          "</title><style>";
  page_ += kStyle;
  page_ += "</style><h1>" + title + "</h1><p>" +
           cohost::HtmlEscape(context().setting("about", "")) + "</p><ul>";
  for (const Example& example : examples) {
    const std::string target = cohost::HtmlEscape(example.target);
    page_ += "<li><a href=\"" + target + "\"><code>" + target + "</code></a> " +
             cohost::HtmlEscape(example.text) + "</li>";
  }
  page_ += "</ul><footer>Service <b>" + cohost::HtmlEscape(context().name()) +
           "</b>, one of many in this worker process.</footer></html>\n";
}

void ReferenceService::Handle(cohost::Request request) {
  if (!Accepts(request.method())) {
    request.Respond(405, "text/plain", "this service does not take that method\n",
                    {{"Allow", "GET, HEAD"}});
    return;
  }
  const std::string path = request.path();
  if (path == "/" && !WantsRoot(request)) {
    request.Html(page_);
    return;
  }
  Answer(std::move(request), path.empty() ? path : path.substr(1));
}

void NotFound(cohost::Request request, std::string_view message) {
  request.Json("{\"error\":" + cohost::JsonString(message) + "}\n", 404);
}

void JsonList::AddJson(std::string_view json) {
  if (size_++ != 0) out_ += ',';
  out_ += json;
}

std::string JsonList::Take() {
  out_ += "]";
  return std::move(out_);
}

std::optional<std::u32string> Decode(std::string_view text) {
  std::u32string codes;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const size_t length = first < 0x80       ? 1
                          : first >> 5 == 6  ? 2
                          : first >> 4 == 14 ? 3
                          : first >> 3 == 30 ? 4
                                             : 0;
    if (length == 0 || length > text.size() - i) return std::nullopt;
    char32_t code = length == 1 ? first : first & (0xffu >> (length + 1));
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if (next >> 6 != 2) return std::nullopt;
      code = code << 6 | (next & 0x3f);
    }
    // Shorter forms and surrogates are not UTF-8.
    constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kLeast[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      return std::nullopt;
    codes += code;
    i += length;
  }
  return codes;
}

void AppendUtf8(char32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

std::string Encode(std::u32string_view codes) {
  std::string out;
  for (const char32_t code : codes) AppendUtf8(code, out);
  return out;
}

std::u32string Lower(std::u32string_view text) {
  std::u32string out(text);
  for (char32_t& code : out) {
    const bool plus_32 = (code >= 'A' && code <= 'Z') ||
                         (code >= 0xc0 && code <= 0xde && code != 0xd7) ||
                         (code >= 0x391 && code <= 0x3a9) || (code >= 0x410 && code <= 0x42f);
    if (plus_32) {
      code += 32;
    } else if ((code >= 0x100 && code <= 0x137) || (code >= 0x14a && code <= 0x177)) {
      code |= 1;
    }
  }
  return out;
}

std::string UpperAscii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::string LowerAscii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::optional<char32_t> ParseCodePoint(std::string_view hexadecimal) {
  if (hexadecimal.empty() || hexadecimal.size() > 6) return std::nullopt;
  char32_t code = 0;
  for (const char c : hexadecimal) {
    const int digit = cohost::text_internal::HexDigit(c);
    if (digit < 0) return std::nullopt;
    code = code * 16 + static_cast<char32_t>(digit);
  }
  if (code > 0x10ffff) return std::nullopt;
  return code;
}

std::string CodePointKey(std::string_view table, char32_t code) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string key(table);
  key += '/';
  for (int shift = 20; shift >= 0; shift -= 4) key += kHex[code >> shift & 15];
  return key;
}

}  // namespace reference
