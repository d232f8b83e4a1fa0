// SPDX-License-Identifier: Apache-2.0
//
// Whether a word of a language is spelled right, and the words that one mistake may have made of
// it. `alphabet`: the letters that may have been left out or mistaken.
#include <set>
#include <utility>

#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

constexpr size_t kLongestWord = 40;  // letters; the work grows with the square
constexpr size_t kMostSuggestions = 10;

class Spelling final : public ReferenceService {
 public:
  explicit Spelling(cohost::Context context)
      : ReferenceService(context),
        words_(context.image("words")),
        alphabet_(Decode(context.setting("alphabet", "abcdefghijklmnopqrstuvwxyz")).value_or(U"")) {
    if (alphabet_.empty()) throw std::runtime_error("setting alphabet: not UTF-8, or empty");
    const std::string example(context.setting("example", ""));
    SetExamples({{"/" + cohost::UrlEncode(example), "a word"},
                 {"/" + cohost::UrlEncode(example.substr(1)), "the same with a letter missing"}});
  }

 protected:
  void Answer(cohost::Request request, const std::string& path) override {
    const auto letters = Decode(path);
    if (!letters || letters->size() > kLongestWord) {
      return NotFound(std::move(request), "no word: at most 40 letters of UTF-8");
    }
    const std::u32string word = Lower(*letters);
    const bool known = Known(word);
    std::string out = "{\"word\":" + cohost::JsonString(Encode(word)) +
                      ",\"known\":" + (known ? "true" : "false");
    if (!known) out += ",\"suggestions\":" + Suggestions(word);
    request.Json(out + "}");
  }

 private:
  bool Known(std::u32string_view word) const { return words_.Find(Encode(word)).has_value(); }

  std::string Suggestions(const std::u32string& word) const {
    std::set<std::u32string> found;
    const auto consider = [&](std::u32string candidate) {
      if (found.size() < kMostSuggestions && Known(candidate)) found.insert(std::move(candidate));
    };
    for (size_t i = 0; i < word.size(); ++i) {
      consider(word.substr(0, i) + word.substr(i + 1));
      if (i + 1 < word.size()) {
        std::u32string swapped = word;
        std::swap(swapped[i], swapped[i + 1]);
        consider(std::move(swapped));
      }
    }
    for (size_t i = 0; i <= word.size(); ++i) {
      for (const char32_t letter : alphabet_) {
        consider(word.substr(0, i) + letter + word.substr(i));
        if (i < word.size()) consider(word.substr(0, i) + letter + word.substr(i + 1));
      }
    }
    JsonList list;
    for (const std::u32string& candidate : found) list.AddString(Encode(candidate));
    return list.Take();
  }

  const cohost::DataImage words_;
  const std::u32string alphabet_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::Spelling, 0)
