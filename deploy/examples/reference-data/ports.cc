// SPDX-License-Identifier: Apache-2.0
//
// Which protocol a port belongs to, and which port a protocol has. `transport`: tcp or udp.
#include "deploy/examples/reference-data/reference.h"

namespace reference {
namespace {

class Ports final : public ReferenceService {
 public:
  explicit Ports(cohost::Context context)
      : ReferenceService(context),
        image_(context.image("network")),
        transport_(context.setting("transport", "tcp")) {
    if (transport_ != "tcp" && transport_ != "udp")
      throw std::runtime_error("setting transport: tcp or udp");
    SetExamples({{"/53", "by number"}, {"/domain", "by name"}});
  }

 protected:
  void Answer(cohost::Request request, const std::string& path) override {
    std::string port = path;
    if (path.find_first_not_of("0123456789") != std::string::npos) {
      const auto range = image_.WithPrefix(transport_ + "-name/" + LowerAscii(path) + "/");
      const auto record = range.size() == 0 ? std::nullopt : image_.At(range.begin);
      port = record ? std::string(record->value) : "";
    }
    const auto entry = image_.Find(transport_ + "/" + port);
    if (!entry)
      return NotFound(std::move(request), "no " + transport_ + " port is known as " + path);
    request.Json(*entry);
  }

 private:
  const cohost::DataImage image_;
  const std::string transport_;
};

}  // namespace
}  // namespace reference

COHOST_MODULE(reference::Ports, COHOST_INLINE)
