// SPDX-License-Identifier: Apache-2.0
//
// Throws while it is being loaded: nobody can catch that, the process ends.
#include <stdexcept>

#include "worker/sdk/cohost.hpp"

namespace {

struct Thrower {
  Thrower() { throw std::runtime_error("thrown by a constructor"); }
};
const Thrower thrower;

class Never final : public cohost::Service {
 public:
  using Service::Service;
  void Handle(cohost::Request request) override { request.Text("never\n"); }
};

}  // namespace

COHOST_MODULE(Never, 0)
