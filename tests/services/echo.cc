// SPDX-License-Identifier: Apache-2.0
//
// ECHO: answers "<pid> <generation> <build>". Settings: build; start_ms, drain_ms and stop_ms, how
// long each of these takes; progress_ms and progress_until_ms, how often and until when the start
// reports progress.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "worker/sdk/cohost.hpp"

#ifndef ECHO_BUILD
#define ECHO_BUILD "1"
#endif

namespace {

class Echo final : public cohost::Service {
 public:
  explicit Echo(cohost::Context context)
      : Service(context),
        answer_(std::to_string(getpid()) + " " + std::to_string(context.info().generation) + " " +
                std::string(context.setting("build", ECHO_BUILD)) + "\n") {}

  void Start() override {
    const int64_t whole = context().number("start_ms", 0);
    const int64_t step = std::max<int64_t>(1, context().number("progress_ms", whole));
    const int64_t until = context().number("progress_until_ms", whole);
    for (int64_t done = 0; done < whole;) {
      const int64_t part = std::min(step, whole - done);
      Take(part);
      done += part;
      if (done < whole && done <= until) context().Progress("");
    }
  }
  void Drain() override { Take(context().number("drain_ms", 0)); }
  void Stop() override { Take(context().number("stop_ms", 0)); }

  void Handle(cohost::Request request) override { request.Text(answer_); }

 private:
  static void Take(int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

  const std::string answer_;
};

}  // namespace

COHOST_MODULE(Echo, 0)
