// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/sample_workers.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {
namespace {

// Numbers of services rise from 1.
constexpr uint64_t kFirstSampleId = uint64_t{1} << 62;
constexpr absl::Duration kLookAgain = absl::Milliseconds(10);

}  // namespace

std::vector<GroupTarget> SampleTargets(const PoolTarget& target, size_t most) {
  using Candidate = std::pair<const GroupTarget*, std::shared_ptr<const ServiceTarget>>;
  std::vector<Candidate> candidates;
  for (const GroupTarget& group : target.groups) {
    for (const auto& service : group.services) {
      if (service->overlap) candidates.emplace_back(&group, service);
    }
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.second->name < b.second->name; });
  const size_t count = std::min(most, candidates.size());
  std::vector<GroupTarget> targets;
  for (size_t i = 0; i < count; ++i) {
    // The middle of each of `count` even parts.
    const auto& [group, service] = candidates[(2 * i + 1) * candidates.size() / (2 * count)];
    auto alone = std::make_shared<ServiceTarget>(*service);
    alone->id = kFirstSampleId + i;
    alone->listeners.clear();
    alone->instances = Instances::kOne;
    GroupTarget& out = targets.emplace_back();
    out.name = kSampleGroup;
    out.policy = group->policy;
    out.policy.workers = 1;
    out.identity = group->identity;
    out.services = {std::move(alone)};
  }
  return targets;
}

SampleWorkers::SampleWorkers(const PoolParts& parts, uint32_t last_generation)
    : parts_(parts),
      last_generation_(last_generation),
      converge_timer_(parts.timers),
      start_timer_(parts.timers) {}

SampleWorkers::~SampleWorkers() = default;

void SampleWorkers::Start(const GroupTarget& target,
                          std::function<void(absl::StatusOr<pid_t>)> started) {
  if (group_ != nullptr) {
    return started(absl::FailedPreconditionError("a sample worker is there already"));
  }
  service_ = target.services.front();
  started_ = std::move(started);
  group_ = std::make_unique<WorkerGroup>(parts_, *this, kSampleGroup);
  group_->Apply(target);
  log_ = group_->slots().at(0)->log_path();
  start_timer_.Start(target.policy.start_timeout + kStartMargin,
                     [this] { Answer(absl::DeadlineExceededError("it was not ready in time")); });
  Changed();
}

void SampleWorkers::End(std::function<void()> ended) {
  if (group_ == nullptr) return ended();
  ended_.push_back(std::move(ended));
  if (!std::exchange(ending_, true)) {
    group_->Abandon();
    group_->End(absl::ZeroDuration());
    Answer(absl::CancelledError("the sample was ended"));
  }
  Changed();
}

bool SampleWorkers::HandleExit(const ExitRecord& record) {
  const absl::StatusOr<GenerationId> id = ParseGenerationId(record.name);
  if (!id.ok() || id->group != kSampleGroup || group_ == nullptr) return false;
  if (!group_->HandleExit(*id, record)) return false;
  Changed();
  return true;
}

// What it has counted is of no service.
void SampleWorkers::FoldAndRelease(const GenerationId& id, SegmentReader*) {
  last_generation_ = std::max(last_generation_, id.number);
  parts_.holder.Release(id.HoldName());
}

void SampleWorkers::Changed() {
  if (converge_timer_.running()) return;
  converge_timer_.Start(absl::ZeroDuration(), [this] { Converge(); });
}

void SampleWorkers::Converge() {
  if (group_ == nullptr) return;
  group_->Converge();
  if (started_) CheckStarted();
  if (!ending_ || !IsGone()) return;
  // What cannot be stopped keeps its place here, so that its end is noticed.
  if (group_->empty()) {
    RemoveLog();
    group_.reset();
    ending_ = false;
  }
  for (const auto& ended : std::exchange(ended_, {})) ended();
}

void SampleWorkers::CheckStarted() {
  const auto slot = group_->slots().find(0);
  if (slot == group_->slots().end()) return;
  if (const std::string failure = slot->second->FailureOf(*service_); !failure.empty()) {
    return Answer(absl::AbortedError(failure));
  }
  for (const Worker* worker : slot->second->Workers()) {
    if (worker->status() == WorkerStatus::kBackoff || worker->status() == WorkerStatus::kFailed) {
      const std::string& end = slot->second->last_exit();
      return Answer(
          absl::AbortedError(absl::StrCat("its worker has ended", end.empty() ? "" : ": ", end)));
    }
    if (worker->generation() == nullptr) continue;
    const auto& services = worker->generation()->roster().services();
    const auto hosted = services.find(service_->id);
    if (hosted == services.end()) continue;
    if (hosted->second.status == ServiceStatus::kFailed) {
      return Answer(absl::AbortedError(hosted->second.reason));
    }
    if (hosted->second.status != ServiceStatus::kReady || !worker->serves()) continue;
    // A worker can be ready before the keeper's answer to its spawn has come; nobody tells when
    // that comes.
    if (worker->generation()->pid() == 0) {
      converge_timer_.Start(kLookAgain, [this] { Converge(); });
      return;
    }
    return Answer(worker->generation()->pid());
  }
}

void SampleWorkers::Answer(absl::StatusOr<pid_t> outcome) {
  start_timer_.Cancel();
  if (started_) std::exchange(started_, nullptr)(std::move(outcome));
}

bool SampleWorkers::IsGone() const {
  for (const auto& [number, slot] : group_->slots()) {
    for (const Worker* worker : slot->Workers()) {
      if (worker->status() != WorkerStatus::kAbsent && !worker->cannot_be_stopped()) return false;
    }
  }
  return true;
}

void SampleWorkers::RemoveLog() {
  // Ignoring an error: a sample that could not open its log has none.
  (void)::unlink(log_.c_str());
}

}  // namespace cohost::supervisor
