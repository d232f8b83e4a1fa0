// SPDX-License-Identifier: Apache-2.0
//
// What a Unicode character is: by itself (/ä) or by its number (/U+00E4).
#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

class Characters final : public ReferenceService {
 public:
  explicit Characters(cohost::Context context)
      : ReferenceService(context), image_(context.image("unicode")) {
    SetExamples({{"/U+00E4", "by number"}, {"/%E2%86%90", "by the character itself"}});
  }

 protected:
  void Answer(cohost::Request request, const std::string& path) override {
    const auto code = CodeOf(path);
    if (!code) return NotFound(std::move(request), "neither one character nor U+ and its number");
    const auto entry = image_.Find(CodePointKey("character", *code));
    if (!entry)
      return NotFound(std::move(request),
                      "no character has that number, or it has no name of its own");
    request.Json(*entry);
  }

 private:
  static std::optional<char32_t> CodeOf(std::string_view text) {
    if (text.size() > 2 && (text[0] == 'U' || text[0] == 'u') && text[1] == '+')
      return ParseCodePoint(text.substr(2));
    const auto codes = Decode(text);
    if (!codes || codes->size() != 1) return std::nullopt;
    return codes->front();
  }

  const cohost::DataImage image_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::Characters, COHOST_INLINE)
