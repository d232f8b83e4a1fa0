// SPDX-License-Identifier: Apache-2.0
#include "worker/worker_drain.h"

#include <algorithm>
#include <utility>

#include "worker/service_removal.h"

namespace cohost::worker {
namespace {

// The accept thread never blocks, so this only bounds a machine that is out of breath.
constexpr absl::Duration kAcceptLimit = absl::Seconds(1);
// The successor's loop may be busy starting; its socket's buffer takes a few hundred connections
// without it.
constexpr absl::Duration kHandoverLimit = absl::Seconds(1);

}  // namespace

WorkerDrain::WorkerDrain(WorkerParts& parts, Roster& roster, HandoverSender* successor)
    : parts_(parts), roster_(roster), services_(roster.ready()), successor_(successor) {
  roster_.Close();
}

void WorkerDrain::Begin(absl::Duration limit, std::function<void()> done) {
  end_ = parts_.clock.Steady() + limit;
  done_ = std::move(done);
  Countdown countdown(parts_.io);
  for (ServiceEntry* const service : services_) {
    StopAccepting(parts_, *service, countdown.Expect());
  }
  countdown.Wait(kAcceptLimit, [this](uint32_t) { DrainConnections(); });
}

void WorkerDrain::DrainConnections() {
  ConnectionServer::HandOver hand_over;
  if (successor_ != nullptr) {
    hand_over = [this](UniqueFd idle, uint64_t service_id) {
      const ServiceEntry* const entry = parts_.table.Find(service_id);
      const uint64_t revision = entry == nullptr ? 0 : entry->revision();
      successor_->Send({service_id, revision, std::move(idle)});
    };
  }
  Countdown countdown(parts_.io);
  for (ServiceEntry* const service : services_) {
    DrainRequests(parts_, *service, Left(), CancelReason::kDraining, hand_over,
                  [this, ended = countdown.Expect()](DrainResult result) {
                    cancelled_ += result.cancelled;
                    ended();
                  });
  }
  // A load or a removal that was on its way ends by its own rules.
  roster_.WhenQuiet(countdown.Expect());
  countdown.Wait(Left() + 2 * kCancelLimit, [this](uint32_t) { DrainServices(); });
}

void WorkerDrain::DrainServices() {
  Countdown countdown(parts_.io);
  for (ServiceEntry* const service : services_) service->hosted()->Drain(countdown.Expect());
  countdown.Wait(Left(), [this](uint32_t) { FlushHandover(); });
}

void WorkerDrain::FlushHandover() {
  Countdown countdown(parts_.io);
  if (successor_ != nullptr) successor_->WhenEmpty(countdown.Expect());
  countdown.Wait(kHandoverLimit, [this](uint32_t) { std::exchange(done_, nullptr)(); });
}

void WorkerDrain::StopServices(std::function<void()> done) {
  Countdown countdown(parts_.io);
  for (ServiceEntry* const service : services_) {
    const Admission& admission = service->admission();
    if (admission.active() == 0 && admission.calls() == 0) {
      service->hosted()->Stop(countdown.Expect());
    }
  }
  countdown.Wait(kStopLimit, [done = std::move(done)](uint32_t) { done(); });
}

absl::Duration WorkerDrain::Left() const {
  return std::max(end_ - parts_.clock.Steady(), absl::ZeroDuration());
}

}  // namespace cohost::worker
