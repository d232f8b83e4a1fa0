// SPDX-License-Identifier: Apache-2.0
//
// The blocks of Unicode: all of them (/all), or the one that a number lies in (/U+2190).
#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

class Blocks final : public ReferenceService {
 public:
  explicit Blocks(cohost::Context context)
      : ReferenceService(context),
        image_(context.image("unicode")),
        blocks_(image_.WithPrefix("block/")) {
    SetExamples({{"/U+2190", "the block of a character"}, {"/all", "all blocks"}});
  }

 protected:
  void Answer(cohost::Request request, const std::string& path) override {
    if (path == "all") return request.Json(All()), void();
    const auto code =
        path.rfind("U+", 0) == 0 ? ParseCodePoint(std::string_view(path).substr(2)) : std::nullopt;
    if (!code) return NotFound(std::move(request), "ask as /U+2190 or /all");
    const uint64_t after = image_.LowerBound(CodePointKey("block", *code + 1));
    const auto block = after > blocks_.begin ? image_.At(after - 1) : std::nullopt;
    // Blocks have gaps between them; the last one ends in the table's own value.
    if (!block || !Contains(block->value, *code))
      return NotFound(std::move(request), "it lies in no block");
    request.Json(block->value);
  }

 private:
  static bool Contains(std::string_view json, char32_t code) {
    constexpr std::string_view kLast = "\"last\":\"";
    const size_t at = json.find(kLast);
    if (at == std::string_view::npos) return false;
    const std::string_view digits = json.substr(at + kLast.size());
    const auto last = ParseCodePoint(digits.substr(0, digits.find('"')));
    return last && code <= *last;
  }

  std::string All() const {
    JsonList list;
    for (uint64_t i = blocks_.begin; i < blocks_.end; ++i) {
      if (const auto block = image_.At(i)) list.AddJson(block->value);
    }
    return list.Take();
  }

  const cohost::DataImage image_;
  const cohost::DataImage::Range blocks_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::Blocks, COHOST_INLINE)
