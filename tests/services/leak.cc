// SPDX-License-Identifier: Apache-2.0
//
// LEAK: grows private memory by the setting mb_per_second (default 1), up to limit_mb (default
// 1024).
#include <chrono>
#include <string>
#include <vector>

#include "worker/sdk/cohost.hpp"

namespace {

constexpr int64_t kStepsPerSecond = 10;

class Leak final : public cohost::Service {
 public:
  using Service::Service;

  void Start() override {
    const auto step =
        static_cast<size_t>(context().number("mb_per_second", 1) * 1000000 / kStepsPerSecond);
    const auto limit = static_cast<size_t>(context().number("limit_mb", 1024)) * 1000000;
    context().Every(std::chrono::milliseconds(1000 / kStepsPerSecond), [this, step, limit] {
      if (leaked_.size() * step >= limit) return;
      // Written, so that the pages are really there.
      leaked_.emplace_back(step, 'x');
    });
  }

  void Handle(cohost::Request request) override { request.Text("leaking\n"); }

 private:
  std::vector<std::string> leaked_;
};

}  // namespace

COHOST_MODULE(Leak, COHOST_SERIAL)
