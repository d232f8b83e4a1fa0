// SPDX-License-Identifier: Apache-2.0
//
// SICK: answers /fail with 500 and all else with 200. The setting health says how its health
// callback is: fine (default), bad, or hang, which never returns.
#include <unistd.h>

#include "worker/sdk/cohost.hpp"

namespace {

class Sick final : public cohost::Service {
 public:
  explicit Sick(cohost::Context context)
      : Service(context), health_(context.setting("health", "fine")) {}

  void Handle(cohost::Request request) override {
    if (request.target() == "/fail") return (void)request.Text("failed\n", 500);
    request.Text("served\n");
  }
  std::string Health() override {
    while (health_ == "hang") pause();
    return health_ == "bad" ? "out of pills" : "";
  }

 private:
  const std::string health_;
};

}  // namespace

COHOST_MODULE(Sick, 0)
