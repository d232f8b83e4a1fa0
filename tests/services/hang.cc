// SPDX-License-Identifier: Apache-2.0
//
// HANG: a request for /hang never returns; all others are answered. Its health callback is always
// fine.
#include <unistd.h>

#include "worker/sdk/cohost.hpp"

namespace {

class Hang final : public cohost::Service {
 public:
  using Service::Service;

  void Handle(cohost::Request request) override {
    while (cohost::TargetPath(request.target()) == "/hang") pause();
    request.Text("alive\n");
  }
};

}  // namespace

COHOST_MODULE(Hang, 0)
