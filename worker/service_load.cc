// SPDX-License-Identifier: Apache-2.0
#include "worker/service_load.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "boost/asio/post.hpp"
#include "worker/control/assign_request.h"

namespace cohost::worker {

ServiceLoad::ServiceLoad(WorkerParts& parts, Prober& prober, const ListenerBook& listeners,
                         ServiceEntry& entry, v1::AssignRequest request,
                         std::function<void(absl::Status)> done)
    : parts_(parts),
      prober_(prober),
      listeners_(listeners),
      entry_(entry),
      request_(std::move(request)),
      step_limit_(StartTimeout(request_)),
      begin_(parts.clock.Steady()),
      timer_(parts.io),
      done_(std::move(done)) {}

template <typename Argument>
std::function<void(Argument)> ServiceLoad::IfAlive(std::function<void(Argument)> function) {
  return [this, alive = std::weak_ptr<bool>(alive_),
          function = std::move(function)](Argument argument) {
    if (!alive.expired() && done_ != nullptr) function(std::move(argument));
  };
}

void ServiceLoad::Begin() {
  // Told before a module is started that could never be reached.
  for (const ServiceEndpoint& endpoint : entry_.description().endpoints) {
    if (!listeners_.Has(endpoint.listener_token)) {
      return End(absl::FailedPreconditionError(
          absl::StrCat("the listener of ", endpoint.address, " was not delivered")));
    }
  }
  WatchProgress();
  start_ = StartOutcome::kRunning;
  entry_.hosted()->Start(
      IfAlive<absl::Status>([this](const absl::Status& status) { OnStarted(status); }));
}

void ServiceLoad::WatchProgress() {
  const SteadyTime now = parts_.clock.Steady();
  const SteadyTime progress = std::max(begin_, entry_.hosted()->last_progress());
  const SteadyTime due = std::min(progress + step_limit_, begin_ + kLongestStart);
  if (due <= now) {
    return End(absl::DeadlineExceededError(
        absl::StrCat("no progress of the start for ", absl::FormatDuration(now - progress))));
  }
  timer_.Start(due - now, [this] { WatchProgress(); });
}

void ServiceLoad::OnStarted(const absl::Status& status) {
  timer_.Cancel();
  start_ = status.ok() ? StartOutcome::kSucceeded : StartOutcome::kFailed;
  if (!status.ok()) return End(status);
  WarmUp();
}

void ServiceLoad::WarmUp() {
  if (warmup_requests_ >= static_cast<uint32_t>(request_.warmup_size())) return Probe();
  const std::string& target = request_.warmup(static_cast<int>(warmup_requests_));
  ++warmup_requests_;
  RequestInside(parts_, entry_, target, step_limit_,
                IfAlive<absl::StatusOr<int>>([this, target](const absl::StatusOr<int>& code) {
                  OnWarmUpAnswer(target, code);
                }));
}

void ServiceLoad::OnWarmUpAnswer(const std::string& target, const absl::StatusOr<int>& code) {
  if (!code.ok()) return End(Annotate(code.status(), "warm-up GET " + target));
  if (*code >= 500) {
    return End(
        absl::FailedPreconditionError(absl::StrCat("warm-up GET ", target, " answered ", *code)));
  }
  WarmUp();
}

void ServiceLoad::Probe() {
  prober_.Probe(entry_, request_.health_path(), step_limit_,
                IfAlive<ProbeResult>([this](const ProbeResult& result) {
                  if (!result.status.ok()) return End(Annotate(result.status, "first probe"));
                  End(Accept());
                }));
}

// All duplicates first, so that a failure in the middle leaves nothing to undo.
absl::Status ServiceLoad::Accept() {
  std::vector<std::pair<uint64_t, UniqueFd>> duplicates;
  for (const ServiceEndpoint& endpoint : entry_.description().endpoints) {
    COHOST_ASSIGN_OR_RETURN(UniqueFd listener, listeners_.Duplicate(endpoint.listener_token));
    duplicates.emplace_back(endpoint.listener_token, std::move(listener));
  }
  // Ready before the first connection: what is accepted is served.
  parts_.table.SetState(entry_, RowState::kReady);
  for (auto& [token, listener] : duplicates) {
    parts_.acceptor.Add(token, std::move(listener), entry_.id(), entry_.gate());
  }
  return absl::OkStatus();
}

void ServiceLoad::End(const absl::Status& status) {
  auto done = std::exchange(done_, nullptr);
  if (done == nullptr) return;
  timer_.Cancel();
  // From the loop and not from here: `done` may destroy this object and its callers' frames use it.
  boost::asio::post(parts_.io, [done = std::move(done), status] { done(status); });
}

}  // namespace cohost::worker
