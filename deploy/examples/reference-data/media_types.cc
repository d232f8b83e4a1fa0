// SPDX-License-Identifier: Apache-2.0
//
// Media types and file endings: `by: type` answers /text/html, `by: extension` answers /html and
// /index.html.
#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

class MediaTypes final : public ReferenceService {
 public:
  explicit MediaTypes(cohost::Context context)
      : ReferenceService(context),
        image_(context.image("network")),
        by_(context.setting("by", "type")) {
    if (by_ != "type" && by_ != "extension")
      throw std::runtime_error("setting by: type or extension");
    SetExamples(by_ == "type" ? std::vector<Example>{{"/text/html", "the endings of a type"}}
                              : std::vector<Example>{{"/png", "the types of an ending"},
                                                     {"/a/b.tar", "of a file"}});
  }

 protected:
  void Answer(cohost::Request request, const std::string& path) override {
    std::string key = LowerAscii(path);
    if (by_ == "extension") key = key.substr(key.rfind('.') + 1);
    const auto entry = image_.Find(by_ + "/" + key);
    if (!entry) return NotFound(std::move(request), "unknown " + by_ + " " + key);
    request.Json(*entry);
  }

 private:
  const cohost::DataImage image_;
  const std::string by_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::MediaTypes, COHOST_INLINE)
