// SPDX-License-Identifier: Apache-2.0
//
// Whom a hardware (MAC) address belongs to: the owner of its first 24, 28 or 36 bits. `registries`:
// which of IEEE's registries to look in, the most specific first (small, medium, large).
#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

class HardwareOwners final : public ReferenceService {
 public:
  explicit HardwareOwners(cohost::Context context)
      : ReferenceService(context), image_(context.image("hardware")) {
    for (const std::string_view name : context.list("registries")) {
      const size_t digits = name == "large" ? 6 : name == "medium" ? 7 : name == "small" ? 9 : 0;
      if (digits == 0) throw std::runtime_error("setting registries: large, medium or small");
      registries_.push_back({std::string(name), digits});
    }
    const std::string example(context.setting("example", ""));
    SetExamples({{"/" + example, "the owner of an address"}});
  }

 protected:
  void Answer(cohost::Request request, const std::string& path) override {
    std::string digits;
    for (const char c : UpperAscii(path)) {
      if (c == ':' || c == '-' || c == '.') continue;
      if (cohost::text_internal::HexDigit(c) < 0 || digits.size() == 12) {
        return NotFound(std::move(request), "no hardware address: up to 12 hexadecimal digits");
      }
      digits += c;
    }
    for (const Registry& registry : registries_) {
      if (digits.size() < registry.digits) continue;
      if (const auto owner = image_.Find(registry.name + "/" + digits.substr(0, registry.digits))) {
        request.Json(*owner);
        return;
      }
    }
    NotFound(std::move(request), "the address belongs to nobody in these registries");
  }

 private:
  struct Registry {
    std::string name;
    size_t digits;
  };

  const cohost::DataImage image_;
  std::vector<Registry> registries_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::HardwareOwners, COHOST_INLINE)
