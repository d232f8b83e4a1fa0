// SPDX-License-Identifier: Apache-2.0
//
// KIDS: leaves grandchildren in sessions of their own that keep every inherited descriptor.
// Settings: count (default 1); memory_mb, what each then allocates; seconds, how long each lives
// (default 3600). Answers their process ids, one a line.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "worker/sdk/cohost.hpp"

namespace {

class Kids final : public cohost::Service {
 public:
  using Service::Service;

  void Start() override {
    const int64_t count = context().number("count", 1);
    for (int64_t i = 0; i < count; ++i) pids_ += std::to_string(LeaveGrandchild()) + "\n";
  }
  void Handle(cohost::Request request) override { request.Text(pids_); }

 private:
  pid_t LeaveGrandchild() const {
    const auto memory = static_cast<size_t>(context().number("memory_mb", 0)) * 1000000;
    const auto seconds = static_cast<unsigned>(context().number("seconds", 3600));
    int channel[2];
    if (pipe(channel) != 0) throw std::runtime_error("pipe failed");
    const pid_t child = fork();
    if (child == 0) {
      // From here on only what is safe after a fork of a process with threads.
      setsid();
      if (fork() != 0) _exit(0);
      const pid_t self = getpid();
      if (write(channel[1], &self, sizeof(self)) != sizeof(self)) _exit(1);
      if (memory > 0) {
        void* base =
            mmap(nullptr, memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base != MAP_FAILED) std::memset(base, 1, memory);
      }
      sleep(seconds);
      _exit(0);
    }
    close(channel[1]);
    pid_t grandchild = 0;
    const bool told = child > 0 && read(channel[0], &grandchild, sizeof(grandchild)) > 0;
    close(channel[0]);
    while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    if (!told) throw std::runtime_error("fork failed");
    return grandchild;
  }

  std::string pids_;
};

}  // namespace

COHOST_MODULE(Kids, 0)
