// SPDX-License-Identifier: Apache-2.0
//
// Text without the difference of upper and lower case, as Unicode defines it: /?text=ÄSOP.
#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

class CaseFolding final : public ReferenceService {
 public:
  explicit CaseFolding(cohost::Context context)
      : ReferenceService(context), image_(context.image("unicode")) {
    SetExamples({{"/?text=%C3%84SOP", "the same in lower case"}});
  }

 protected:
  bool WantsRoot(const cohost::Request& request) const override {
    return request.query("text").has_value();
  }

  void Answer(cohost::Request request, const std::string& path) override {
    const auto text = path.empty() ? request.query("text") : std::nullopt;
    const auto codes = text ? Decode(*text) : std::nullopt;
    if (!codes) return NotFound(std::move(request), "ask as /?text=..., in UTF-8");
    std::string folded;
    for (const char32_t code : *codes) {
      const auto other = image_.Find(CodePointKey("fold", code));
      AppendUtf8(other ? ParseCodePoint(*other).value_or(code) : code, folded);
    }
    request.Json("{\"folded\":" + cohost::JsonString(folded) + "}");
  }

 private:
  const cohost::DataImage image_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::CaseFolding, COHOST_INLINE)
