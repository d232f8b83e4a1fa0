// SPDX-License-Identifier: Apache-2.0
#include "worker/service_removal.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "boost/asio/post.hpp"
#include "worker/loop/countdown.h"

namespace cohost::worker {
namespace {

// One DrainAndStop, kept by the step that it waits for.
struct Removal : std::enable_shared_from_this<Removal> {
  Removal(WorkerParts& the_parts, ServiceEntry& the_entry) : parts(the_parts), entry(the_entry) {}

  void DrainConnections(absl::Duration limit) {
    end = parts.clock.Steady() + limit;
    StopAccepting(parts, entry, [self = shared_from_this(), limit] {
      DrainRequests(self->parts, self->entry, limit, CancelReason::kRemoved,
                    /*hand_over=*/nullptr, [self](DrainResult drained) {
                      self->drained = drained;
                      self->DrainService();
                    });
    });
  }

  void DrainService() {
    Countdown countdown(parts.io);
    entry.hosted()->Drain(countdown.Expect());
    const absl::Duration left = std::max(end - parts.clock.Steady(), absl::ZeroDuration());
    countdown.Wait(left, [self = shared_from_this()](uint32_t) { self->StopService(); });
  }

  void StopService() {
    Countdown countdown(parts.io);
    entry.hosted()->Stop(countdown.Expect());
    countdown.Wait(stop_limit, [self = shared_from_this()](uint32_t missing) {
      self->result.cancelled = self->drained.cancelled;
      self->result.whole = missing == 0 && self->drained.running == 0;
      self->done(self->result);
    });
  }

  WorkerParts& parts;
  ServiceEntry& entry;
  SteadyTime end;
  absl::Duration stop_limit;
  DrainResult drained;
  RemovalResult result;
  std::function<void(RemovalResult)> done;
};

}  // namespace

void StopAccepting(WorkerParts& parts, ServiceEntry& entry, std::function<void()> done) {
  parts.acceptor.RemoveService(entry.id(), [&io = parts.io, done = std::move(done)] {
    // Behind the connections that the accept thread has posted before.
    boost::asio::post(io, done);
  });
}

void DrainRequests(WorkerParts& parts, ServiceEntry& entry, absl::Duration limit,
                   CancelReason reason, ConnectionServer::HandOver hand_over,
                   ConnectionServer::DrainDone done) {
  Countdown countdown(parts.io);
  const auto result = std::make_shared<DrainResult>();
  // Before the state changes: a call that is on its way is let in or refused by one of the two.
  parts.calls.SetServes(entry.name(), entry.id(), false);
  ServerOf(parts, entry)
      .DrainService(entry, limit, reason, std::move(hand_over),
                    [result, ended = countdown.Expect()](DrainResult drained) {
                      *result = drained;
                      ended();
                    });
  parts.calls.Drain(entry.id(), limit, reason, countdown.Expect());
  countdown.Wait(limit + kCancelLimit,
                 [result, done = std::move(done)](uint32_t) { done(*result); });
}

void DrainAndStop(WorkerParts& parts, ServiceEntry& entry, absl::Duration limit,
                  absl::Duration stop_limit, std::function<void(RemovalResult)> done) {
  auto removal = std::make_shared<Removal>(parts, entry);
  removal->stop_limit = stop_limit;
  removal->done = std::move(done);
  removal->DrainConnections(limit);
}

}  // namespace cohost::worker
