// SPDX-License-Identifier: Apache-2.0
//
// States, provinces and districts of the countries of one continent (`continent`).
#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

class Subdivisions final : public ReferenceService {
 public:
  explicit Subdivisions(cohost::Context context)
      : ReferenceService(context),
        image_(context.image("codes")),
        table_("subdivision-of/" + std::string(context.setting("continent", "")) + "/") {
    const auto all = image_.WithPrefix(table_);
    const auto first = image_.At(all.begin);
    if (all.size() == 0 || !first)
      throw std::runtime_error("the image has nothing below " + table_);
    // subdivision-of/europe/AD/AD-02
    const std::string_view rest = first->key.substr(table_.size());
    SetExamples({{"/", "this page"},
                 {"/countries", "the countries of this continent"},
                 {"/" + std::string(rest.substr(0, 2)), "the parts of a country"},
                 {"/" + std::string(rest.substr(3)), "one of them"}});
  }

 protected:
  void Answer(cohost::Request request, const std::string& path) override {
    if (path == "countries") return request.Json(Countries()), void();
    const std::string code = UpperAscii(path);
    if (code.find('-') != std::string::npos) {
      const auto entry = image_.Find("subdivision/" + code);
      if (!entry) return NotFound(std::move(request), "there is no subdivision " + code);
      request.Json(*entry);
      return;
    }
    const auto range = image_.WithPrefix(table_ + code + "/");
    if (code.empty() || range.size() == 0) {
      return NotFound(std::move(request), "there is no country " + code + " on this continent");
    }
    JsonList parts;
    for (uint64_t i = range.begin; i < range.end; ++i) {
      if (const auto part = image_.At(i)) {
        const std::string_view part_code = part->key.substr(table_.size() + code.size() + 1);
        parts.AddJson("{\"code\":" + cohost::JsonString(part_code) +
                      ",\"name\":" + cohost::JsonString(part->value) + "}");
      }
    }
    request.Json(parts.Take());
  }

 private:
  std::string Countries() const {
    JsonList countries;
    const auto all = image_.WithPrefix(table_);
    for (uint64_t i = all.begin; i < all.end;) {
      const auto part = image_.At(i);
      if (!part) break;
      const std::string country(part->key.substr(table_.size(), 2));
      countries.AddString(country);
      i = image_.WithPrefix(table_ + country + "/").end;
    }
    return countries.Take();
  }

  const cohost::DataImage image_;
  const std::string table_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::Subdivisions, COHOST_INLINE)
