// SPDX-License-Identifier: Apache-2.0
//
// Calls a function that is nowhere: it links, and cannot be loaded.
#include "worker/sdk/cohost.hpp"

extern "C" void cohost_fixture_that_is_nowhere();

namespace {

class Unloadable final : public cohost::Service {
 public:
  using Service::Service;
  void Handle(cohost::Request request) override {
    cohost_fixture_that_is_nowhere();
    request.Text("never\n");
  }
};

}  // namespace

COHOST_MODULE(Unloadable, 0)
