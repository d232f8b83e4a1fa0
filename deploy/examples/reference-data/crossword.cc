// SPDX-License-Identifier: Apache-2.0
//
// Words that fit a pattern: "c.t" finds cat, cot and cut. Looks at every word of the language.
#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

constexpr size_t kMostResults = 100;

class Crossword final : public ReferenceService {
 public:
  explicit Crossword(cohost::Context context)
      : ReferenceService(context), words_(context.image("words")) {
    SetExamples({{"/" + cohost::UrlEncode(context.setting("example", "")),
                  "words that fit; a dot is any letter"}});
  }

 protected:
  void Answer(cohost::Request request, const std::string& path) override {
    const auto letters = Decode(path);
    if (!letters) return NotFound(std::move(request), "not UTF-8");
    const std::u32string pattern = Lower(*letters);
    // Words are sorted, so the letters before the first dot leave only a part of them to look at.
    const auto range = words_.WithPrefix(Encode(pattern.substr(0, pattern.find(U'.'))));
    JsonList found;
    for (uint64_t i = range.begin; i < range.end && found.size() < kMostResults; ++i) {
      const auto word = words_.At(i);
      const auto decoded = word ? Decode(word->key) : std::nullopt;
      if (decoded && Fits(*decoded, pattern)) found.AddString(word->key);
    }
    request.Json(found.Take());
  }

 private:
  static bool Fits(std::u32string_view word, std::u32string_view pattern) {
    if (word.size() != pattern.size()) return false;
    for (size_t i = 0; i < word.size(); ++i) {
      if (pattern[i] != U'.' && pattern[i] != word[i]) return false;
    }
    return true;
  }

  const cohost::DataImage words_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::Crossword, 0)
