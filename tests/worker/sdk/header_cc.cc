// SPDX-License-Identifier: Apache-2.0
//
// The public headers by themselves, as C++17 and pedantically, with the macro of a module.
#include "worker/sdk/cohost.hpp"

namespace {

class Empty final : public cohost::Service {
 public:
  using Service::Service;
  void Handle(cohost::Request request) override { request.NotFound(); }
};

}  // namespace

COHOST_MODULE(Empty, COHOST_SERIAL | COHOST_NO_OVERLAP)
