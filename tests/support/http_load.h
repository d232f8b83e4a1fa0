// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/system/unique_fd.h"

namespace cohost::testing {

// What became of the requests of an HttpLoad.
struct LoadReport {
  uint64_t answered = 0;  // 200, with a whole body
  // Anything else that could happen; each is a failure unless the test caused it.
  uint64_t other_status = 0;
  uint64_t refused = 0;        // a new connection could not be made
  uint64_t cut_new = 0;        // a new connection ended before its first answer
  uint64_t cut_in_flight = 0;  // an older connection ended between request and answer
  uint64_t malformed = 0;
  uint64_t timed_out = 0;  // no answer within 10 s
  // Not failures: keep-alive connections that the server closed while no request was under way.
  uint64_t closed_idle = 0;
  uint64_t connections = 0;  // made in all
  // Longest time between two answers of one port while requests to it were due.
  absl::Duration longest_gap;
  std::string first_failure;  // for people

  uint64_t failures() const {
    return other_status + refused + cut_new + cut_in_flight + malformed + timed_out;
  }
};

// A client that keeps asking and looks at every answer: `connections` at a time over loopback,
// spread over the ports, `rate` requests per second in all, in a thread of its own. The destructor
// stops it.
class HttpLoad {
 public:
  struct Options {
    std::vector<uint16_t> ports;
    std::string target = "/";
    int connections = 16;
    double rate = 1000;
    bool keep_alive = true;
  };
  explicit HttpLoad(Options options);
  ~HttpLoad();
  HttpLoad(const HttpLoad&) = delete;
  HttpLoad& operator=(const HttpLoad&) = delete;

  // Answers so far; for waiting until the load is under way.
  uint64_t answered() const { return answered_.load(); }
  // Ends the load after the answers that are under way and tells what happened.
  LoadReport Stop();

 private:
  class Runner;

  std::atomic<uint64_t> answered_{0};
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Runner> runner_;
  std::thread thread_;
};

}  // namespace cohost::testing
