// SPDX-License-Identifier: Apache-2.0
//
// HELLO: the smallest service; benchmarks compare it with a bare HTTP loop.
#include "worker/sdk/cohost.hpp"

namespace {

class Hello final : public cohost::Service {
 public:
  using Service::Service;
  void Handle(cohost::Request request) override { request.Text("Hello, World!\n"); }
};

}  // namespace

COHOST_MODULE(Hello, COHOST_INLINE)
