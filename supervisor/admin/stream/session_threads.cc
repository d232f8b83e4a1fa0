// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/stream/session_threads.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {

SessionThreads::~SessionThreads() {
  std::list<Session> left;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    for (Session& session : sessions_) session.interrupt->Raise();
    // A thread that ends notes that in its own session, wherever that is now.
    left.swap(sessions_);
  }
  for (Session& session : left) session.thread.join();
}

absl::Status SessionThreads::Start(std::shared_ptr<Interrupt> interrupt,
                                   std::function<void()> work) {
  MutexLock lock(mutex_);
  JoinEnded();
  if (stopping_) return absl::CancelledError("the host is stopping");
  if (sessions_.size() >= kMost) {
    return absl::ResourceExhaustedError(
        absl::StrCat(kMost, " dumps, traces and counters are being taken already"));
  }
  Session& session = sessions_.emplace_back();
  session.interrupt = std::move(interrupt);
  try {
    session.thread = std::thread([this, &session, work = std::move(work)] {
      work();
      MutexLock done(mutex_);
      session.ended = true;
    });
  } catch (const std::system_error& error) {
    sessions_.pop_back();
    return absl::ResourceExhaustedError(absl::StrCat("no thread for it: ", error.what()));
  }
  return absl::OkStatus();
}

void SessionThreads::JoinEnded() {
  for (auto session = sessions_.begin(); session != sessions_.end();) {
    if (!session->ended) {
      ++session;
      continue;
    }
    // It has nothing left to do but to return.
    session->thread.join();
    session = sessions_.erase(session);
  }
}

}  // namespace cohost::supervisor
