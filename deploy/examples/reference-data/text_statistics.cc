// SPDX-License-Identifier: Apache-2.0
//
// Counts the characters of a text by their Unicode category, its words and lines: POST it, or
// /?text=.
#include <map>

#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

constexpr size_t kLongestText = 4 << 20;

class TextStatistics final : public ReferenceService {
 public:
  explicit TextStatistics(cohost::Context context)
      : ReferenceService(context), image_(context.image("unicode")) {
    SetExamples({{"/?text=Hello,%20world", "a short text; POST a longer one to /"}});
  }

 protected:
  bool Accepts(std::string_view method) const override {
    return method == "POST" || ReferenceService::Accepts(method);
  }
  bool WantsRoot(const cohost::Request& request) const override {
    return request.method() == "POST" || request.query("text").has_value();
  }

  void Answer(cohost::Request request, const std::string& path) override {
    if (!path.empty()) return NotFound(std::move(request), "ask as /?text=... or POST to /");
    const bool posted = request.method() == "POST";
    const auto text = posted ? request.ReadAll(kLongestText) : request.query("text");
    const auto codes = text ? Decode(*text) : std::nullopt;
    if (!codes) {
      request.Json("{\"error\":\"the text is longer than 4 MiB or not UTF-8\"}", 400);
      return;
    }
    request.Json(Count(*codes));
  }

 private:
  std::string Count(std::u32string_view codes) const {
    std::map<std::string, uint64_t> categories;
    uint64_t words = 0;
    uint64_t lines = 0;
    bool in_word = false;
    for (const char32_t code : codes) {
      const std::string category(image_.Find(CodePointKey("category", code)).value_or("Cn"));
      ++categories[category];
      const bool letter = category[0] == 'L' || category[0] == 'N' || category[0] == 'M';
      words += letter && !in_word ? 1 : 0;
      in_word = letter;
      lines += code == U'\n' ? 1 : 0;
    }
    std::string out = "{\"characters\":" + std::to_string(codes.size()) +
                      ",\"words\":" + std::to_string(words) +
                      ",\"lines\":" + std::to_string(lines) + ",\"categories\":{";
    for (const auto& [category, count] : categories) {
      if (out.back() != '{') out += ',';
      out += cohost::JsonString(category) + ":" + std::to_string(count);
    }
    return out + "}}";
  }

  const cohost::DataImage image_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::TextStatistics, 0)
