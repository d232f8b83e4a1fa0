// SPDX-License-Identifier: Apache-2.0
//
// CRASH: ends the process. Settings: how (segv, abort, throw, exit), code for exit; when (create,
// start, request, timer, thread, stop); request: on the n-th request below /crash (default 1);
// timer and thread: after_ms (default 1000). Other requests are answered.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "worker/sdk/cohost.hpp"

namespace {

// An exception that nobody may catch.
void ThrowOut() noexcept {
  const auto thrower = [] { throw std::runtime_error("crash service"); };
  thrower();
}

class Crash final : public cohost::Service {
 public:
  explicit Crash(cohost::Context context)
      : Service(context),
        how_(context.setting("how", "segv")),
        when_(context.setting("when", "request")),
        code_(static_cast<int>(context.number("code", 1))),
        left_(context.number("n", 1)) {
    if (when_ == "create") End();
  }

  void Start() override {
    const std::chrono::milliseconds after(context().number("after_ms", 1000));
    if (when_ == "start") End();
    if (when_ == "timer") context().After(after, [this] { End(); });
    if (when_ == "thread") {
      context().Spawn("crash", [this, after] {
        std::this_thread::sleep_for(after);
        End();
      });
    }
  }
  void Stop() override {
    if (when_ == "stop") End();
  }

  void Handle(cohost::Request request) override {
    const bool counts = when_ == "request" && cohost::TargetPath(request.target()) == "/crash";
    if (counts && left_.fetch_sub(1) == 1) End();
    request.Text("alive\n");
  }

 private:
  void End() {
    if (how_ == "abort") std::abort();
    if (how_ == "throw") ThrowOut();
    if (how_ == "exit") std::exit(code_);
    // A real fault, which tells the handler an address, and not a raised signal.
    volatile int* volatile nowhere = nullptr;
    *nowhere = 1;
  }

  const std::string how_;
  const std::string when_;
  const int code_;
  std::atomic<int64_t> left_;
};

}  // namespace

COHOST_MODULE(Crash, 0)
