// SPDX-License-Identifier: Apache-2.0
//
// Ends the process with code 7 while it is being loaded.
#include <cstdlib>

#include "worker/sdk/cohost.hpp"

namespace {

struct Exiter {
  Exiter() { std::exit(7); }
};
const Exiter exiter;

class Never final : public cohost::Service {
 public:
  using Service::Service;
  void Handle(cohost::Request request) override { request.Text("never\n"); }
};

}  // namespace

COHOST_MODULE(Never, 0)
