// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/slot.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace cohost::supervisor {
namespace {

// A rejected replacement costs a whole worker's start: never at once again.
constexpr absl::Duration kLeastRetry = absl::Seconds(1);

// Jitter of slots must differ, also between those of equal numbers.
uint64_t SeedOf(uint64_t seed, const std::string& group, uint32_t number) {
  return seed ^ std::hash<std::string>()(group) ^ (uint64_t{number} << 32);
}

bool Hosts(const Worker* worker, uint64_t service_id) {
  return worker != nullptr && worker->generation() != nullptr &&
         worker->generation()->roster().services().contains(service_id);
}

bool IsReadyIn(const Worker* worker, uint64_t service_id) {
  if (!Hosts(worker, service_id) || !worker->serves()) return false;
  return worker->generation()->roster().services().at(service_id).status == ServiceStatus::kReady;
}

}  // namespace

Slot::Slot(const PoolParts& parts, GroupHost& host, const GroupTarget& target, uint32_t number)
    : parts_(parts),
      host_(host),
      number_(number),
      log_(parts.settings.log_folder, target.name, number),
      target_(target),
      reject_backoff_(SeedOf(parts.settings.seed, target.name, number)),
      reject_timer_(parts.timers) {}

Slot::~Slot() = default;

void Slot::SetTarget(const GroupTarget& target) {
  const bool same = std::equal(
      target.services.begin(), target.services.end(), target_.services.begin(),
      target_.services.end(),
      [](const auto& a, const auto& b) { return a->id == b->id && a->revision == b->revision; });
  // What was rejected may work now.
  if (!same) {
    reject_timer_.Cancel();
    reject_backoff_.Reset();
    rejected_.clear();
    died_.clear();
    last_before_target_ = last_generation_;
  }
  target_ = target;
  wanted_ = true;
  // Nor does the new one wait for what the old one did.
  if (!same && serving_ != nullptr && serving_->status() == WorkerStatus::kBackoff) {
    serving_->RetryNow();
  }
}

bool Slot::Converge(bool may_replace) {
  DropEnded();
  if (EndUnwanted()) return false;
  Promote();
  if (serving_ == nullptr) {
    // Stop-then-start, or a predecessor that a service cannot have beside it: until it is gone.
    if (restarting_ && !retired_.empty()) return true;
    Begin();
  }
  if (incoming_ != nullptr && ReplaceReason(*incoming_) != RecycleReason::kNone) {
    // The target has changed while it started; the next one is begun below or in the next turn.
    incoming_->Stop();
    retired_.push_back(std::move(incoming_));
  }
  const RecycleReason reason =
      asked_ != RecycleReason::kNone && serving_->serves() ? asked_ : ReplaceReason(*serving_);
  if (reason != RecycleReason::kNone && incoming_ == nullptr) {
    if (!serving_->serves()) {
      // It has never served: nothing is lost by beginning again.
      serving_->Stop();
      retired_.push_back(std::move(serving_));
      Begin();
    } else if (may_replace && !reject_timer_.running()) {
      Replace(reason);
    }
  }
  Push();
  return replacing();
}

void Slot::DropEnded() {
  const auto ended = [](const std::unique_ptr<Worker>& worker) {
    return worker != nullptr && worker->status() == WorkerStatus::kAbsent;
  };
  std::erase_if(retired_, ended);
  if (ended(serving_)) serving_.reset();
  if (ended(incoming_)) incoming_.reset();
  // An adopted one may say that it was told to drain before.
  for (std::unique_ptr<Worker>* worker : {&serving_, &incoming_}) {
    if (*worker != nullptr && (*worker)->ends()) retired_.push_back(std::move(*worker));
  }
}

// Ends what is there when nothing should be; false when something should.
bool Slot::EndUnwanted() {
  if (!ending_ && wanted_ && !Wanted().empty()) return false;
  if (incoming_ != nullptr) {
    incoming_->Stop();
    retired_.push_back(std::move(incoming_));
  }
  asked_ = RecycleReason::kNone;
  restarting_ = false;
  FinishRecycle(false);
  if (serving_ == nullptr) return true;
  if (!ending_ && serving_->generation() != nullptr) {
    // A service that moved stays until it is ready where it went.
    const Services kept = WantedFor(*serving_);
    if (!kept.empty()) {
      serving_->SetServices(kept);
      return true;
    }
  }
  Retire(std::move(serving_));
  return true;
}

void Slot::Promote() {
  if (restarting_ && serving_ != nullptr && serving_->serves()) FinishReplacement();
  if (incoming_ == nullptr) {
    // Nothing comes of a recycle now, and what starts next is as new as it wants.
    if (serving_ != nullptr && serving_->status() == WorkerStatus::kBackoff) {
      asked_ = RecycleReason::kNone;
      FinishRecycle(false);
    }
    return;
  }
  // An adopted predecessor that has not reported yet has a process, and may well serve.
  if (serving_ == nullptr || serving_->generation() == nullptr) {
    // The predecessor has died meanwhile: whoever starts is the slot's worker now.
    if (serving_ != nullptr) {
      serving_->Stop();
      retired_.push_back(std::move(serving_));
    }
    serving_ = std::move(incoming_);
    restarting_ = true;
    return;
  }
  if (incoming_->status() == WorkerStatus::kBackoff) return Reject("the replacement has died");
  if (!incoming_->serves() || !incoming_->generation()->roster().settled()) return;
  std::string why;
  if (!IsAcceptable(why)) return Reject(why);
  serving_->generation()->HandOverTo(*incoming_->generation());
  Retire(std::move(serving_));
  serving_ = std::move(incoming_);
  FinishReplacement();
}

void Slot::FinishReplacement() {
  restarting_ = false;
  asked_ = RecycleReason::kNone;
  reject_backoff_.Reset();
  rejected_.clear();
  Tell("recycle", serving_->generation()->id().number, "the new generation serves");
  FinishRecycle(true);
}

// No service may lose by a replacement: one that is ready now must be ready in the new worker too.
bool Slot::IsAcceptable(std::string& why) const {
  const auto& fresh = incoming_->generation()->roster().services();
  for (const auto& service : Wanted()) {
    if (!IsReadyIn(serving_.get(), service->id)) continue;
    const auto hosted = fresh.find(service->id);
    if (hosted != fresh.end() && hosted->second.status == ServiceStatus::kReady) continue;
    why = absl::StrCat("service '", service->name, "' is ready in the present worker and ",
                       hosted == fresh.end()
                           ? "not in the new one"
                           : absl::StrCat(Name(hosted->second.status),
                                          " in the new one: ", hosted->second.reason));
    return false;
  }
  for (const auto& service : target_.services) {
    if (strikes_.Against(*service).empty() || !IsReadyIn(serving_.get(), service->id)) continue;
    why = absl::StrCat("service '", service->name, "' is ready in the present worker and ",
                       strikes_.Against(*service), " in the new one");
    return false;
  }
  return true;
}

void Slot::Reject(const std::string& why) {
  const Generation* generation = incoming_->generation();
  Tell("recycle", generation == nullptr ? 0 : generation->id().number,
       absl::StrCat("the new generation is rejected: ", why));
  incoming_->Stop();
  retired_.push_back(std::move(incoming_));
  asked_ = RecycleReason::kNone;
  rejected_ = why;
  FinishRecycle(false);
  reject_timer_.Start(
      std::max(kLeastRetry, reject_backoff_.DelayAfterFailure(absl::ZeroDuration())),
      [this] { host_.Changed(); });
}

void Slot::Retire(std::unique_ptr<Worker> worker) {
  worker->Drain(target_.policy.drain_timeout);
  retired_.push_back(std::move(worker));
  CutOldest();
}

void Slot::CutOldest() {
  size_t draining = std::count_if(retired_.begin(), retired_.end(), [](const auto& worker) {
    return worker->status() == WorkerStatus::kDraining;
  });
  for (const auto& worker : retired_) {
    if (draining <= kMaxRetired) return;
    if (worker->status() != WorkerStatus::kDraining) continue;
    Tell("recycle", worker->generation()->id().number,
         "its drain is cut: too many generations of the slot are draining");
    worker->Stop();
    --draining;
  }
}

bool Slot::BelongsHere(const ServiceTarget& service) const {
  return service.instances == Instances::kAll || number_ == 0;
}

Slot::Services Slot::Wanted() const {
  Services services;
  if (!wanted_ || ending_) return services;
  for (const auto& service : target_.services) {
    if (BelongsHere(*service) && strikes_.Against(*service).empty()) services.push_back(service);
  }
  return services;
}

Slot::Services Slot::WantedFor(const Worker& worker) const {
  // A worker that is about to be replaced gets nothing new.
  const bool closed = &worker == serving_.get() && worker.serves() &&
                      (incoming_ != nullptr ||
                       (ReplaceReason(worker) != RecycleReason::kNone && !reject_timer_.running()));
  Services services;
  if (wanted_ && !ending_) {
    for (const auto& service : target_.services) {
      // What is there stays, also when its next revision has died elsewhere.
      if (BelongsHere(*service) &&
          (Hosts(&worker, service->id) || (!closed && strikes_.Against(*service).empty() &&
                                           host_.MayAssign(target_.name, *service)))) {
        services.push_back(service);
      }
    }
  }
  // With a thousand services this runs after every load: no search inside of a search.
  std::unordered_set<uint64_t> wanted;
  for (const auto& service : services) wanted.insert(service->id);
  for (const auto& [id, hosted] : worker.generation()->roster().services()) {
    if (wanted.contains(id) || hosted.status != ServiceStatus::kReady || ending_ ||
        host_.MayRemove(target_.name, id)) {
      continue;
    }
    // Enough to name it: it is there already and only stays.
    auto kept = std::make_shared<ServiceTarget>();
    kept->id = id;
    kept->revision = hosted.revision;
    kept->name = hosted.name;
    services.push_back(std::move(kept));
  }
  return services;
}

RecycleReason Slot::ReplaceReason(const Worker& worker) const {
  if (worker.status() == WorkerStatus::kUnhealthy) return RecycleReason::kUnhealthy;
  const Generation* generation = worker.generation();
  // Nothing is decided about an adopted one before it has said what it is.
  if (generation == nullptr || !generation->reported()) return RecycleReason::kNone;
  if (generation->record().fingerprint != SpawnFingerprint(target_)) {
    return RecycleReason::kConfiguration;
  }
  // Only of adopted ones: what is started now is of the build that there is.
  const std::string& ours = parts_.settings.binary_id;
  if (worker.adopted() && !ours.empty() && generation->binary_id() != ours) {
    return RecycleReason::kConfiguration;
  }
  for (const auto& service : target_.services) {
    const auto hosted = generation->roster().services().find(service->id);
    if (hosted == generation->roster().services().end() ||
        hosted->second.revision == service->revision ||
        hosted->second.status == ServiceStatus::kDraining || !strikes_.Against(*service).empty()) {
      continue;
    }
    return hosted->second.module_path.empty() || hosted->second.module_path == service->module_path
               ? RecycleReason::kConfiguration
               : RecycleReason::kModuleChange;
  }
  return RecycleReason::kNone;
}

// Placement puts services that cannot overlap into groups of their own.
bool Slot::Overlaps() const {
  return std::all_of(target_.services.begin(), target_.services.end(),
                     [](const auto& service) { return service->overlap; });
}

void Slot::Replace(RecycleReason reason) {
  Tell("recycle", serving_->generation()->id().number,
       absl::StrCat("a new generation is wanted: ", Name(reason)));
  if (Overlaps()) {
    incoming_ = MakeWorker();
    return incoming_->Start(reason);
  }
  next_reason_ = reason;
  asked_ = RecycleReason::kNone;
  restarting_ = true;
  Retire(std::move(serving_));
}

void Slot::Begin() {
  serving_ = MakeWorker();
  serving_->Start(std::exchange(next_reason_, RecycleReason::kNone));
}

void Slot::Push() {
  for (Worker* worker : {serving_.get(), incoming_.get()}) {
    if (worker != nullptr && worker->generation() != nullptr) {
      worker->SetServices(WantedFor(*worker));
    }
  }
}

std::unique_ptr<Worker> Slot::MakeWorker() {
  return std::make_unique<Worker>(
      parts_, *this, SeedOf(parts_.settings.seed, target_.name, number_) + last_generation_);
}

bool Slot::replacing() const { return incoming_ != nullptr || restarting_; }

bool Slot::empty() const { return serving_ == nullptr && incoming_ == nullptr && retired_.empty(); }

bool Slot::settled() const {
  if (replacing()) return false;
  // What is asked most often, and quickest to answer, comes first.
  if (serving_ != nullptr && (!serving_->serves() || !serving_->generation()->roster().settled())) {
    return false;
  }
  const Services wanted = Wanted();
  if (wanted.empty() || serving_ == nullptr) return wanted.empty() && serving_ == nullptr;
  for (const auto& service : wanted) {
    if (!Hosts(serving_.get(), service->id)) return false;
  }
  return asked_ == RecycleReason::kNone &&
         (ReplaceReason(*serving_) == RecycleReason::kNone || reject_timer_.running());
}

absl::Status Slot::Adopt(const GenerationId& id, HeldEntry entry, pid_t pid) {
  last_generation_ = std::max(last_generation_, id.number);
  std::unique_ptr<Worker> worker = MakeWorker();
  COHOST_RETURN_IF_ERROR(worker->Adopt(id, std::move(entry), pid));
  const GenerationRecord& record = worker->generation()->record();
  last_exit_ = record.last_exit;
  strikes_.Restore(record.blamed);
  if (incoming_ != nullptr) Retire(std::move(serving_));
  if (incoming_ != nullptr) serving_ = std::move(incoming_);
  if (serving_ == nullptr) {
    serving_ = std::move(worker);
  } else {
    incoming_ = std::move(worker);
  }
  return absl::OkStatus();
}

void Slot::AdoptDead(const GenerationId& id, const GenerationRecord& record,
                     const std::vector<uint64_t>& suspects) {
  last_generation_ = std::max(last_generation_, id.number);
  strikes_.Restore(record.blamed);
  for (const uint64_t service : suspects) strikes_.Suspect(service);
}

bool Slot::HandleExit(const GenerationId& id, const ExitRecord& record) {
  for (Worker* worker : Workers()) {
    if (worker->generation() == nullptr || worker->generation()->id() != id) continue;
    worker->HandleExit(record);
    return true;
  }
  return false;
}

void Slot::Recycle(RecycleReason reason, std::function<void(bool)> done) {
  asked_ = reason;
  reject_timer_.Cancel();
  recycled_.push_back(std::move(done));
  host_.Changed();
}

void Slot::FinishRecycle(bool served) {
  for (const auto& done : std::exchange(recycled_, {})) done(served);
}

void Slot::RetryService(uint64_t service_id) {
  strikes_.Forget(service_id);
  reject_timer_.Cancel();
  if (serving_ == nullptr) return host_.Changed();
  const WorkerStatus status = serving_->status();
  if (status == WorkerStatus::kBackoff || status == WorkerStatus::kFailed) {
    serving_->RetryNow();
  } else if (serving_->generation() != nullptr) {
    serving_->generation()->roster().Retry(service_id);
  }
  host_.Changed();
}

void Slot::End(absl::Duration limit) {
  ending_ = true;
  target_.policy.drain_timeout = std::min(limit, target_.policy.drain_timeout);
  host_.Changed();
}

std::vector<Worker*> Slot::Workers() const {
  std::vector<Worker*> workers;
  for (const auto& worker : retired_) workers.push_back(worker.get());
  if (serving_ != nullptr) workers.push_back(serving_.get());
  if (incoming_ != nullptr) workers.push_back(incoming_.get());
  return workers;
}

bool Slot::Wants(uint64_t service_id) const {
  const Services wanted = Wanted();
  return std::any_of(wanted.begin(), wanted.end(),
                     [service_id](const auto& service) { return service->id == service_id; });
}

bool Slot::Serves(uint64_t service_id) const { return IsReadyIn(serving_.get(), service_id); }

std::optional<SlotRollout> Slot::RolloutOf(uint64_t service_id, uint64_t revision) const {
  const auto service =
      std::find_if(target_.services.begin(), target_.services.end(), [&](const auto& candidate) {
        return candidate->id == service_id && candidate->revision == revision;
      });
  if (!wanted_ || ending_ || service == target_.services.end() || !BelongsHere(**service)) {
    return std::nullopt;
  }
  SlotRollout rollout;
  rollout.slot = number_;
  rollout.why = strikes_.Against(**service);
  // Also when it serves again: it is not what it should be.
  if (rollout.why.empty() && !died_.empty()) {
    return SlotRollout{number_, SlotRollout::State::kFailed,
                       absl::StrCat("the worker with it ended: ", died_)};
  }
  if (Hosts(serving_.get(), service_id)) {
    const auto& hosted = serving_->generation()->roster().services().at(service_id);
    if (hosted.revision == revision) {
      if (IsReadyIn(serving_.get(), service_id))
        return SlotRollout{number_, SlotRollout::State::kServes, ""};
      if (hosted.status == ServiceStatus::kFailed) rollout.why = hosted.reason;
    }
  }
  if (rollout.why.empty() && reject_timer_.running()) rollout.why = rejected_;
  if (!rollout.why.empty()) rollout.state = SlotRollout::State::kFailed;
  return rollout;
}

bool Slot::Retains(uint64_t service_id, bool stuck_only) const {
  const auto retains = [&](const auto& worker) {
    return Hosts(worker.get(), service_id) && (!stuck_only || worker->cannot_be_stopped());
  };
  return std::any_of(retired_.begin(), retired_.end(), retains);
}

GenerationId Slot::NextGeneration(RecycleReason reason) {
  last_generation_ = std::max(last_generation_, host_.LastGeneration(target_.name, number_)) + 1;
  GenerationId id{target_.name, number_, last_generation_};
  if (reason != RecycleReason::kNone) host_.CountRestart(id, reason);
  return id;
}

GenerationRecord Slot::NextRecord(RecycleReason reason) {
  GenerationRecord record;
  record.started = parts_.clock.Wall();
  record.fingerprint = SpawnFingerprint(target_);
  record.reason = reason;
  record.last_exit = last_exit_;
  record.blamed = strikes_.Blamed();
  return record;
}

int Slot::log_file() {
  if (log_file_.valid()) return log_file_.get();
  absl::StatusOr<UniqueFd> file = log_.Open();
  if (file.ok()) {
    log_file_ = *std::move(file);
  } else if (!std::exchange(log_told_, true)) {
    Tell("worker_remark", 0, absl::StrCat("output is lost: ", file.status().message()));
  }
  return log_file_.get();
}

void Slot::CheckLog() {
  if (!log_file_.valid() && serving_ == nullptr) return;
  if (!log_.NeedsRotation(target_.policy.log_size)) return;
  absl::StatusOr<UniqueFd> file = log_.Rotate(target_.policy.log_files);
  if (!file.ok()) {
    if (!std::exchange(log_told_, true)) {
      Tell("worker_remark", 0, absl::StrCat("log: ", file.status().message()));
    }
    return;
  }
  log_told_ = false;
  log_file_ = *std::move(file);
  for (Worker* worker : Workers()) {
    if (worker->generation() != nullptr) worker->generation()->SetLogFile(log_file_.get());
  }
}

void Slot::OnGenerationEnded(Generation& generation, const ExitRecord* record, bool asked_for) {
  host_.FoldAndRelease(generation.id(), generation.segment());
  if (record == nullptr) return;
  // Descendants may have survived it.
  parts_.launcher.Kill(generation.id().ProcessName(), [](const absl::Status&) {});
  host_.RearmSiblings(generation);
  if (asked_for) return;
  last_exit_ = DescribeExit(*record);
  if (generation.id().number > last_before_target_) died_ = last_exit_;
  Tell("worker_exit", generation.id().number, last_exit_);
  Blame(generation, *record);
}

void Slot::Blame(Generation& generation, const ExitRecord& record) {
  const auto& services = generation.roster().services();
  for (const uint64_t id : generation.Suspects()) {
    const auto hosted = services.find(id);
    if (hosted == services.end() ||
        !strikes_.NoteDeath(id, hosted->second.revision, generation.roster().hung(), record)) {
      continue;
    }
    PoolEvent event;
    event.kind = "service_state";
    event.group = target_.name;
    event.slot = number_;
    event.generation = generation.id().number;
    event.service = hosted->second.name;
    event.from = Name(ServiceStatus::kLoading);
    event.to = Name(ServiceStatus::kFailed);
    event.message = absl::StrCat("died while loading: ", last_exit_);
    parts_.observer.OnPoolEvent(event);
  }
}

void Slot::Tell(const std::string& kind, uint32_t generation, const std::string& message) const {
  PoolEvent event;
  event.kind = kind;
  event.group = target_.name;
  event.slot = number_;
  event.generation = generation;
  event.message = message;
  parts_.observer.OnPoolEvent(event);
}

}  // namespace cohost::supervisor
