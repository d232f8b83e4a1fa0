// SPDX-License-Identifier: Apache-2.0
//
// Words of the same letters. Looks at every word of the language: CPU for milliseconds, hence a
// service of class batch.
#include <algorithm>

#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

constexpr size_t kMostResults = 100;

class Anagrams final : public ReferenceService {
 public:
  explicit Anagrams(cohost::Context context)
      : ReferenceService(context), words_(context.image("words")) {
    SetExamples(
        {{"/" + cohost::UrlEncode(context.setting("example", "")), "words of the same letters"}});
  }

 protected:
  void Answer(cohost::Request request, const std::string& path) override {
    const auto letters = Decode(path);
    if (!letters) return NotFound(std::move(request), "not UTF-8");
    const std::u32string word = Lower(*letters);
    const std::string spelled = Encode(word);
    const std::u32string sorted = Sorted(word);
    JsonList found;
    for (uint64_t i = 0; i < words_.size() && found.size() < kMostResults; ++i) {
      const auto candidate = words_.At(i);
      // The same letters take the same number of bytes.
      if (!candidate || candidate->key.size() != spelled.size() || candidate->key == spelled)
        continue;
      const auto decoded = Decode(candidate->key);
      if (decoded && Sorted(*decoded) == sorted) found.AddString(candidate->key);
    }
    request.Json(found.Take());
  }

 private:
  static std::u32string Sorted(std::u32string letters) {
    std::sort(letters.begin(), letters.end());
    return letters;
  }

  const cohost::DataImage words_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::Anagrams, 0)
