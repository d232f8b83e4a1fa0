// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/sdk/cohost.hpp"

// What the services of this example have in common: a page at "/" that says what the service is,
// JSON everywhere else.
namespace reference {

// Something to try on a service's page.
struct Example {
  std::string target;
  std::string text;
};

// Answers "/" with the page and everything else through Answer. Settings used here: `title` and
// `about`.
class ReferenceService : public cohost::Service {
 public:
  explicit ReferenceService(cohost::Context context);

  void Handle(cohost::Request request) final;

 protected:
  // What a service does with "/": the page, unless it says otherwise (a query on "/").
  virtual bool WantsRoot(const cohost::Request&) const { return false; }
  // Any target but the page's. `path` is decoded and has no leading slash.
  virtual void Answer(cohost::Request request, const std::string& path) = 0;
  // Called once by the constructor of the derived class, before requests come.
  void SetExamples(const std::vector<Example>& examples);
  // Services that take a body say true for POST.
  virtual bool Accepts(std::string_view method) const {
    return method == "GET" || method == "HEAD";
  }

 private:
  std::string page_;
};

// 404 with {"error": message}.
void NotFound(cohost::Request request, std::string_view message);

// A list of JSON values or strings as one JSON array.
class JsonList {
 public:
  void AddJson(std::string_view json);
  void AddString(std::string_view text) { AddJson(cohost::JsonString(text)); }
  size_t size() const { return size_; }
  std::string Take();

 private:
  std::string out_ = "[";
  size_t size_ = 0;
};

// UTF-8 to code points; nothing when it is not UTF-8.
std::optional<std::u32string> Decode(std::string_view text);
void AppendUtf8(char32_t code, std::string& out);
std::string Encode(std::u32string_view codes);

// Lower case of ASCII, Latin-1, Latin Extended-A and Greek and Cyrillic capitals: enough for the
// word lists here.
std::u32string Lower(std::u32string_view text);
std::string UpperAscii(std::string_view text);
std::string LowerAscii(std::string_view text);

// "1F600" to a number; nothing above 10FFFF.
std::optional<char32_t> ParseCodePoint(std::string_view hexadecimal);
// The six digits of the keys of the unicode image.
std::string CodePointKey(std::string_view table, char32_t code);

}  // namespace reference
