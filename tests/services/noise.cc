// SPDX-License-Identifier: Apache-2.0
//
// NOISE: writes the setting bytes_per_second (default 1,000,000) to stdout and as much to stderr,
// as numbered lines of 100 bytes. GET /written answers how many bytes were written so far.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "worker/sdk/cohost.hpp"

namespace {

constexpr size_t kLine = 100;
constexpr int64_t kStepsPerSecond = 100;

class Noise final : public cohost::Service {
 public:
  using Service::Service;

  void Start() override {
    thread_ = context().Spawn("noise", [this] { Write(); });
  }
  void Stop() override {
    stopping_ = true;
    context().Join(thread_);
  }
  void Handle(cohost::Request request) override {
    request.Text(std::to_string(written_.load()) + "\n");
  }

 private:
  void Write() {
    const int64_t lines = context().number("bytes_per_second", 1000000) / kStepsPerSecond /
                          static_cast<int64_t>(kLine);
    auto next = std::chrono::steady_clock::now();
    for (uint64_t number = 0; !stopping_;) {
      std::string part;
      for (int64_t i = 0; i < lines; ++i) {
        char line[kLine + 1];
        std::snprintf(line, sizeof(line), "%0*llu\n", static_cast<int>(kLine - 1),
                      static_cast<unsigned long long>(++number));
        part += line;
      }
      for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
        const ssize_t n = ::write(fd, part.data(), part.size());
        if (n > 0) written_ += static_cast<uint64_t>(n);
      }
      next += std::chrono::milliseconds(1000 / kStepsPerSecond);
      std::this_thread::sleep_until(next);
    }
  }

  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> written_{0};
  cohost_thread thread_ = 0;
};

}  // namespace

COHOST_MODULE(Noise, 0)
