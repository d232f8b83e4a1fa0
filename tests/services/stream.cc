// SPDX-License-Identifier: Apache-2.0
//
// STREAM: POST sends the request body back while it arrives. GET /?count=&bytes=&ms= sends `count`
// parts of `bytes` bytes, `ms` apart (defaults 10, 100, 0), chunked.
#include <chrono>
#include <string>
#include <thread>

#include "worker/sdk/cohost.hpp"

namespace {

int64_t Number(const cohost::Request& request, std::string_view name, int64_t otherwise) {
  const auto text = request.query(name);
  return text ? std::stol(*text) : otherwise;
}

class Stream final : public cohost::Service {
 public:
  using Service::Service;

  void Handle(cohost::Request request) override {
    request.SendHead(200, "application/octet-stream");
    const bool complete = request.method() == "POST" ? SendBack(request) : SendParts(request);
    if (complete) request.Finish();
  }

 private:
  static bool SendBack(cohost::Request& request) {
    char buffer[16384];
    for (;;) {
      size_t read = 0;
      const cohost_status status = request.ReadBody(buffer, sizeof(buffer), &read);
      if (status == COHOST_END) return true;
      if (status == COHOST_WOULD_BLOCK) {
        if (cohost::host->wait_readable(request.id()) != COHOST_OK) return false;
      } else if (status != COHOST_OK || request.Write({buffer, read}) != COHOST_OK) {
        return false;
      }
    }
  }
  static bool SendParts(cohost::Request& request) {
    const int64_t count = Number(request, "count", 10);
    const std::string part(static_cast<size_t>(Number(request, "bytes", 100)), 'x');
    const std::chrono::milliseconds pause(Number(request, "ms", 0));
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0) std::this_thread::sleep_for(pause);
      if (request.Write(part) != COHOST_OK) return false;
    }
    return true;
  }
};

}  // namespace

COHOST_MODULE(Stream, COHOST_BLOCKING)
