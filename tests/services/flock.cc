// SPDX-License-Identifier: Apache-2.0
//
// FLOCK: may run once at a time (COHOST_NO_OVERLAP), which it proves by a lock on the file that the
// setting `path` names; its start fails when somebody else holds it. Answers its process id.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "worker/sdk/cohost.hpp"

namespace {

class Flock final : public cohost::Service {
 public:
  using Service::Service;
  ~Flock() override {
    if (fd_ >= 0) close(fd_);
  }

  void Start() override {
    const std::string path(context().setting("path", ""));
    fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ < 0) throw std::runtime_error("cannot open " + path);
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      throw std::runtime_error(path + " is locked by another process");
    }
  }
  void Handle(cohost::Request request) override { request.Text(std::to_string(getpid()) + "\n"); }

 private:
  int fd_ = -1;
};

}  // namespace

COHOST_MODULE(Flock, COHOST_NO_OVERLAP)
