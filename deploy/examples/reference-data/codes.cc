// SPDX-License-Identifier: Apache-2.0
//
// Codes of a standard and what they stand for: currencies, countries, languages, scripts,
// protocols. `table` names the table of the image, `example` a code for the page, `letters` (upper,
// lower, title or as_is) how its codes are written.
#include <algorithm>

#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

constexpr size_t kMostResults = 20;

class Codes final : public ReferenceService {
 public:
  explicit Codes(cohost::Context context)
      : ReferenceService(context),
        image_(context.image("codes")),
        table_(context.setting("table", "")),
        letters_(context.setting("letters", "upper")) {
    const std::string example(context.setting("example", ""));
    if (image_.WithPrefix(table_ + "/").size() == 0) {
      throw std::runtime_error("the image has no table named '" + table_ + "'");
    }
    SetExamples({{"/" + example, "what a code stands for"},
                 {"/?q=a", "names that begin with these letters"}});
  }

 protected:
  bool WantsRoot(const cohost::Request& request) const override {
    return request.query("q").has_value();
  }

  void Answer(cohost::Request request, const std::string& path) override {
    if (path.empty()) return Search(std::move(request));
    const auto entry = image_.Find(table_ + "/" + Written(path));
    if (!entry) return NotFound(std::move(request), "there is no " + table_ + " " + Written(path));
    request.Json(*entry);
  }

 private:
  std::string Written(const std::string& code) const {
    if (letters_ == "as_is") return code;
    if (letters_ == "lower") return LowerAscii(code);
    if (letters_ == "upper") return UpperAscii(code);
    return UpperAscii(code.substr(0, 1)) +
           LowerAscii(code.substr(std::min<size_t>(1, code.size())));
  }

  void Search(cohost::Request request) const {
    const auto range = image_.WithPrefix(table_ + "-name/" + LowerAscii(*request.query("q")));
    JsonList found;
    for (uint64_t i = range.begin; i < range.end && found.size() < kMostResults; ++i) {
      const auto name = image_.At(i);
      const auto entry = name ? image_.Find(table_ + "/" + std::string(name->value)) : std::nullopt;
      if (entry) found.AddJson(*entry);
    }
    request.Json(found.Take());
  }

  const cohost::DataImage image_;
  const std::string table_;
  const std::string letters_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::Codes, COHOST_INLINE)
