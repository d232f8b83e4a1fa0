// SPDX-License-Identifier: Apache-2.0
//
// Unicode characters by the words of their names: /?q=left+arrow.
#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

constexpr size_t kMostResults = 50;
constexpr size_t kMostWords = 8;

class CharacterSearch final : public ReferenceService {
 public:
  explicit CharacterSearch(cohost::Context context)
      : ReferenceService(context), image_(context.image("unicode")) {
    SetExamples({{"/?q=left+arrow", "characters with these words in their names"}});
  }

 protected:
  bool WantsRoot(const cohost::Request& request) const override {
    return request.query("q").has_value();
  }

  void Answer(cohost::Request request, const std::string& path) override {
    const auto query = request.query("q");
    if (!path.empty() || !query) return NotFound(std::move(request), "ask as /?q=words");
    const std::vector<std::string> words = Words(UpperAscii(*query));
    if (words.empty() || words.size() > kMostWords)
      return NotFound(std::move(request), "one to eight words");
    request.Json(Search(words));
  }

 private:
  static std::vector<std::string> Words(std::string_view text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
      if (c != ' ') {
        words.back() += c;
      } else if (!words.back().empty()) {
        words.emplace_back();
      }
    }
    if (words.back().empty()) words.pop_back();
    return words;
  }

  // Goes through the characters of the rarest word and asks for each whether it has the others.
  std::string Search(const std::vector<std::string>& words) const {
    size_t rarest = 0;
    for (size_t i = 1; i < words.size(); ++i) {
      if (Having(words[i]).size() < Having(words[rarest]).size()) rarest = i;
    }
    const auto range = Having(words[rarest]);
    JsonList found;
    for (uint64_t i = range.begin; i < range.end && found.size() < kMostResults; ++i) {
      const auto record = image_.At(i);
      if (!record) break;
      const std::string number(record->key.substr(record->key.size() - 6));
      bool all = true;
      for (const std::string& word : words)
        all = all && image_.Find("word/" + word + "/" + number).has_value();
      const auto entry = all ? image_.Find("character/" + number) : std::nullopt;
      if (entry) found.AddJson(*entry);
    }
    return found.Take();
  }

  cohost::DataImage::Range Having(const std::string& word) const {
    return image_.WithPrefix("word/" + word + "/");
  }

  const cohost::DataImage image_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::CharacterSearch, 0)
