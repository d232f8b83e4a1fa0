// SPDX-License-Identifier: Apache-2.0
//
// SLOW: answers "/" at once and everything else after ?ms=, or the setting ms, without holding a
// thread.
#include <chrono>
#include <memory>

#include "worker/sdk/cohost.hpp"

namespace {

class Slow final : public cohost::Service {
 public:
  using Service::Service;

  void Handle(cohost::Request request) override {
    if (request.target() == "/") return (void)request.Text("slow\n");
    int64_t ms = context().number("ms", 1000);
    if (const auto asked = request.query("ms")) ms = std::stol(*asked);
    const auto held = std::make_shared<cohost::Request>(std::move(request));
    const auto answer = [held, ms] { held->Text("after " + std::to_string(ms) + " ms\n"); };
    if (context().After(std::chrono::milliseconds(ms), answer) == 0) {
      held->Text("too many timers\n", 503);
    }
  }
};

}  // namespace

COHOST_MODULE(Slow, 0)
