// SPDX-License-Identifier: Apache-2.0
#include "supervisor/state/state_writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"

namespace cohost::supervisor {

namespace {

// Durable writes and queries in the queue. They come from operators and reloads; more than this
// means that the disk hangs.
constexpr size_t kMaxQueuedCalls = 256;
// Ids are reserved on the disk before they are given, so that a power cut that loses events does
// not lead to the same ids again. An hour of a busy host; the gap after a cut is no longer.
constexpr uint64_t kReservedIds = 10'000;
// The next reservation is made while so many are left.
constexpr uint64_t kReserveBelow = 5'000;
// Deleting old events in small portions keeps each transaction short.
constexpr size_t kTrimEvery = 1'000;
// Events alone wait so long for others, to be written together: a start and a recycle make hundreds
// in a moment. What has to be durable, or is asked for, does not wait.
constexpr std::chrono::milliseconds kGatherTime(100);

absl::Status Closed() { return absl::CancelledError("the state is closed"); }

}  // namespace

StateWriter::StateWriter(OpenedDatabase opened, State::Options options)
    : options_(std::move(options)),
      database_(std::move(opened.database)),
      known_(std::move(opened.snapshot)),
      next_event_id_(known_.next_event_id) {}

absl::Status StateWriter::Room() const {
  if (closing_) return Closed();
  if (queued_calls_ >= kMaxQueuedCalls) {
    return absl::ResourceExhaustedError("too many writes of the state wait for the disk");
  }
  return absl::OkStatus();
}

void StateWriter::Write(Change change, Apply apply, State::Done done) {
  absl::Status room;
  {
    MutexLock lock(mutex_);
    room = Room();
    if (room.ok()) {
      ++queued_calls_;
      queue_.push_back(DurableWrite{std::move(change), std::move(apply), std::move(done)});
      changed_.NotifyAll();
      return;
    }
  }
  done(std::move(room));
}

void StateWriter::Read(Query query, State::Done done) {
  absl::Status room;
  {
    MutexLock lock(mutex_);
    room = Room();
    if (room.ok()) {
      ++queued_calls_;
      queue_.push_back(DatabaseQuery{std::move(query), std::move(done)});
      changed_.NotifyAll();
      return;
    }
  }
  done(std::move(room));
}

uint64_t StateWriter::Append(HostEvent event) {
  MutexLock lock(mutex_);
  event.id = next_event_id_++;
  const uint64_t id = event.id;
  if (closing_ || queued_events_ >= options_.max_queued_events) {
    ++dropped_;
    ++dropped_untold_;
    return id;
  }
  ++queued_events_;
  queue_.push_back(std::move(event));
  if (queue_.size() == 1 || queued_events_ == options_.max_queued_events / 2) changed_.NotifyAll();
  return id;
}

uint64_t StateWriter::dropped_events() const {
  MutexLock lock(mutex_);
  return dropped_;
}

StateWriter::Batch StateWriter::NextBatch() {
  MutexLock lock(mutex_);
  while (queue_.empty() && !closing_) changed_.Wait(mutex_);
  const auto gathered = std::chrono::steady_clock::now() + kGatherTime;
  while (queued_calls_ == 0 && !closing_ && queued_events_ < options_.max_queued_events / 2) {
    if (!changed_.WaitUntil(mutex_, gathered)) break;
  }
  Batch batch;
  batch.tasks = std::exchange(queue_, {});
  batch.dropped = std::exchange(dropped_untold_, 0);
  batch.closing = closing_;
  queued_events_ = 0;
  queued_calls_ = 0;
  if (batch.dropped > 0) {
    HostEvent lost;
    lost.id = next_event_id_++;
    lost.time = absl::Now();
    lost.kind = "history_dropped";
    lost.message = absl::StrCat(batch.dropped, " events were lost: the disk was slower than they");
    batch.tasks.push_back(std::move(lost));
  }
  return batch;
}

void StateWriter::Run() {
  uint64_t first_id = 0;
  {
    MutexLock lock(mutex_);
    first_id = next_event_id_;
  }
  ReserveEventIds(first_id);
  bool closing = false;
  while (!closing) {
    Batch batch = NextBatch();
    closing = batch.closing;
    DoBatch(std::move(batch));
  }
  uint64_t next_id = 0;
  {
    MutexLock lock(mutex_);
    next_id = next_event_id_;
  }
  if (database_ != nullptr) {
    // An orderly end leaves no gap. Ignoring a failure: the reserved bound stays, which is right
    // too.
    (void)Transaction(/*durable=*/true, [&] { return database_->WriteNextEventId(next_id); });
  }
  database_.reset();
  MutexLock lock(mutex_);
  ended_ = true;
  changed_.NotifyAll();
}

bool StateWriter::Finish(absl::Duration limit) {
  // A day at most, so that an infinite limit does not overflow the clock.
  const auto deadline = std::chrono::steady_clock::now() +
                        absl::ToChronoNanoseconds(std::min(limit, absl::Hours(24)));
  MutexLock lock(mutex_);
  closing_ = true;
  changed_.NotifyAll();
  while (!ended_) {
    if (!changed_.WaitUntil(mutex_, deadline)) return ended_;
  }
  return true;
}

void StateWriter::DoBatch(Batch batch) {
  std::vector<HostEvent> events;
  const auto flush = [&] {
    if (!events.empty()) WriteEvents(std::exchange(events, {}));
  };
  if (batch.dropped > 0) Tell(absl::StrCat(batch.dropped, " events were lost: the disk is slow"));
  for (Task& task : batch.tasks) {
    if (auto* event = std::get_if<HostEvent>(&task)) {
      events.push_back(std::move(*event));
      continue;
    }
    flush();
    if (auto* write = std::get_if<DurableWrite>(&task)) DoWrite(*write);
    if (auto* query = std::get_if<DatabaseQuery>(&task)) DoQuery(*query);
  }
  flush();
}

void StateWriter::WriteEvents(const std::vector<HostEvent>& events) {
  const uint64_t next = events.back().id + 1;
  if (next + kReserveBelow > known_.next_event_id) ReserveEventIds(next);
  absl::Status status = TryWriteEvents(events);
  if (absl::IsDataLoss(status) && Recover(status)) status = TryWriteEvents(events);
  if (status.ok()) {
    history_failed_ = false;
    return;
  }
  {
    MutexLock lock(mutex_);
    dropped_ += events.size();
  }
  // Once until it works again: a full disk would otherwise fill the log too.
  if (!std::exchange(history_failed_, true)) {
    Tell(absl::StrCat("events cannot be written and are lost: ", status.message()));
  }
}

absl::Status StateWriter::TryWriteEvents(const std::vector<HostEvent>& events) {
  if (database_ == nullptr) return absl::UnavailableError("there is no database");
  return Transaction(/*durable=*/false, [&]() -> absl::Status {
    for (const HostEvent& event : events) {
      COHOST_RETURN_IF_ERROR(database_->WriteEvent(event));
    }
    events_since_trim_ += events.size();
    if (events_since_trim_ < std::min(kTrimEvery, options_.max_events)) return absl::OkStatus();
    events_since_trim_ = 0;
    return database_->TrimEvents(options_.max_events);
  });
}

void StateWriter::DoWrite(DurableWrite& write) {
  // Changed first: what is written after a damage is all that is known, this included.
  const StateSnapshot before = known_;
  write.change(known_);
  absl::Status status = absl::UnavailableError("there is no database");
  if (database_ != nullptr) {
    status = Transaction(/*durable=*/true,
                         [&] { return write.apply(*database_, known_, options_.max_revisions); });
  }
  if (absl::IsDataLoss(status) && Recover(status)) status = absl::OkStatus();
  if (!status.ok()) known_ = before;
  write.done(std::move(status));
}

void StateWriter::DoQuery(DatabaseQuery& query) {
  if (database_ == nullptr) {
    query.done(absl::UnavailableError("there is no database"));
    return;
  }
  absl::Status status = query.query(*database_);
  if (absl::IsDataLoss(status) && Recover(status)) status = query.query(*database_);
  query.done(std::move(status));
}

absl::Status StateWriter::Transaction(bool durable, const std::function<absl::Status()>& apply) {
  COHOST_RETURN_IF_ERROR(database_->Begin(durable));
  absl::Status status = apply();
  if (status.ok()) status = database_->Commit();
  if (!status.ok()) database_->Rollback();
  return status;
}

bool StateWriter::Recover(const absl::Status& why) {
  if (options_.path.empty()) return false;
  database_.reset();
  OpenedDatabase opened = ReplaceStateFile(options_.path, known_, why);
  database_ = std::move(opened.database);
  for (std::string& notice : opened.notices) Tell(std::move(notice));
  return database_ != nullptr;
}

void StateWriter::ReserveEventIds(uint64_t next) {
  known_.next_event_id = next + kReservedIds;
  if (database_ == nullptr) return;
  absl::Status status = Transaction(
      /*durable=*/true, [&] { return database_->WriteNextEventId(known_.next_event_id); });
  if (absl::IsDataLoss(status) && Recover(status)) return;
  if (!status.ok()) Tell(absl::StrCat("event ids cannot be reserved: ", status.message()));
}

void StateWriter::Tell(std::string notice) {
  if (options_.notice) options_.notice(std::move(notice));
}

}  // namespace cohost::supervisor
