// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "supervisor/modules/precompile/process_runner.h"

namespace cohost::supervisor {

// A ProcessRunner whose programs are a function of the test, called on the threads that run them.
// Thread-safe.
class FakeProcessRunner final : public ProcessRunner {
 public:
  using Program = std::function<absl::StatusOr<RunResult>(const RunRequest&)>;

  explicit FakeProcessRunner(Program program) : program_(std::move(program)) {}

  absl::StatusOr<RunResult> Run(const RunRequest& request) override {
    {
      MutexLock lock(mutex_);
      requests_.push_back(request);
      most_at_once_ = std::max(most_at_once_, ++running_);
    }
    absl::StatusOr<RunResult> result = program_(request);
    MutexLock lock(mutex_);
    --running_;
    return result;
  }

  std::vector<RunRequest> requests() const {
    MutexLock lock(mutex_);
    return requests_;
  }
  int most_at_once() const {
    MutexLock lock(mutex_);
    return most_at_once_;
  }

 private:
  const Program program_;
  mutable Mutex mutex_;
  std::vector<RunRequest> requests_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  int most_at_once_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace cohost::supervisor
