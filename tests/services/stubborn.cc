// SPDX-License-Identifier: Apache-2.0
//
// STUBBORN: ignores SIGTERM, and never returns from what the setting block names: drain, stop
// (default), start, or nothing.
#include <signal.h>
#include <unistd.h>

#include "worker/sdk/cohost.hpp"

namespace {

class Stubborn final : public cohost::Service {
 public:
  explicit Stubborn(cohost::Context context)
      : Service(context), block_(context.setting("block", "stop")) {
    signal(SIGTERM, SIG_IGN);
  }

  void Start() override { BlockIn("start"); }
  void Drain() override { BlockIn("drain"); }
  void Stop() override { BlockIn("stop"); }
  void Handle(cohost::Request request) override { request.Text("stubborn\n"); }

 private:
  void BlockIn(std::string_view step) const {
    while (block_ == step) pause();
  }

  const std::string block_;
};

}  // namespace

COHOST_MODULE(Stubborn, 0)
