// SPDX-License-Identifier: Apache-2.0
#include "supervisor/unshared_meter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace cohost::supervisor {

void UnsharedMeter::Measure(const PoolTarget& target, uint32_t samples, Done done) {
  if (stopping_) return done(absl::CancelledError("the host ends"));
  if (done_) {
    return done(absl::FailedPreconditionError(
        "services are being sampled for somebody else already; try again in a moment"));
  }
  targets_ = SampleTargets(target, std::min(samples, kMostSamples));
  if (targets_.empty()) {
    return done(absl::FailedPreconditionError(
        "there is no service to sample: none runs, or all have `overlap: false`"));
  }
  memory_ = {};
  for (const GroupTarget& group : target.groups) {
    memory_.services += static_cast<uint32_t>(group.services.size());
  }
  next_ = 0;
  done_ = std::move(done);
  meter_.Measure(MemoryDepth::kModules, [this](const absl::Status& measured) {
    if (!done_) return;
    if (!measured.ok()) return Finish(measured);
    const MemoryReport& report = *meter_.report();
    memory_.workers = report.workers;
    memory_.present = report.workers_pss;
    files_ = report.files;
    Next();
  });
}

void UnsharedMeter::Next() {
  if (stopping_) return Finish(absl::CancelledError("the host ends"));
  if (next_ == targets_.size()) return Finish(absl::OkStatus());
  const GroupTarget& target = targets_[next_++];
  workers_.Start(target, [this, service = target.services.front()->name](
                             absl::StatusOr<pid_t> process) { Take(service, process); });
}

void UnsharedMeter::Take(const std::string& service, absl::StatusOr<pid_t> process) {
  if (!process.ok()) {
    UnsharedSample failed;
    failed.service = service;
    failed.status = process.status();
    return Add(std::move(failed));
  }
  meter_.MeasureOne({service, *process}, [this, service](const absl::StatusOr<ProcessMaps>& maps) {
    UnsharedSample sample;
    sample.service = service;
    if (maps.ok()) {
      RaiseFilePages(*maps, files_);
      sample = MakeUnsharedSample(service, *maps);
    } else {
      sample.status = Annotate(maps.status(), "its worker could not be measured");
    }
    Add(std::move(sample));
  });
}

void UnsharedMeter::Add(UnsharedSample sample) {
  memory_.samples.push_back(std::move(sample));
  workers_.End([this] { Next(); });
}

void UnsharedMeter::Finish(const absl::Status& status) {
  targets_.clear();
  const Done done = std::exchange(done_, nullptr);
  if (!status.ok()) return done(status);
  const auto failed = [](const UnsharedSample& sample) { return !sample.status.ok(); };
  if (std::all_of(memory_.samples.begin(), memory_.samples.end(), failed)) {
    const UnsharedSample& first = memory_.samples.front();
    return done(absl::AbortedError(absl::StrCat("no service could be sampled; '", first.service,
                                                "': ", first.status.message())));
  }
  ScaleUnshared(files_, memory_);
  done(std::exchange(memory_, {}));
}

void UnsharedMeter::Stop(std::function<void()> stopped) {
  stopping_ = true;
  workers_.End(std::move(stopped));
}

}  // namespace cohost::supervisor
