// SPDX-License-Identifier: Apache-2.0
#include "worker/http/http_server.h"

#include <algorithm>
#include <list>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "worker/http/connection.h"
#include "worker/http/exchange_pool.h"

namespace cohost::worker {
namespace {

// How long calls of service code are waited for after everything has been cancelled.
constexpr absl::Duration kCallGrace = absl::Seconds(1);

}  // namespace

class HttpServer::State : public std::enable_shared_from_this<State> {
 public:
  State(boost::asio::io_context& io, ServiceTable& table, DeadlineQueue& deadlines,
        LoopInbox& inbox, Options options);

  void Serve(UniqueFd connected, ServiceEntry& entry, Arrival arrival, std::string peer);
  void DrainService(ServiceEntry& entry, absl::Duration limit, CancelReason reason,
                    HandOver hand_over, DrainDone done);
  void DrainAll(absl::Duration limit, const HandOver& hand_over, DrainDone done);
  // Cuts every connection (of `entry`, when given); returns how many exchanges were cancelled.
  uint32_t CutAll(const ServiceEntry* entry, CancelReason reason);
  uint32_t connections() const { return static_cast<uint32_t>(connections_.size()); }

 private:
  // One service that is being drained.
  class Drain final : public Deadline {
   public:
    Drain(State& state, ServiceEntry& entry, CancelReason reason, HandOver hand_over)
        : state_(state), entry_(entry), reason_(reason), hand_over_(std::move(hand_over)) {}

    bool is_over() const {
      return grace_over_ || (entry_.gate()->open() == 0 && entry_.admission().empty());
    }
    void Finish();

    State& state_;
    ServiceEntry& entry_;
    const CancelReason reason_;
    const HandOver hand_over_;
    std::vector<DrainDone> done_;
    uint32_t cancelled_ = 0;
    bool cut_ = false;
    bool grace_over_ = false;

   private:
    void OnDeadline() override;
  };

  void OnClosed(Connection& connection);
  std::vector<std::shared_ptr<Connection>> ConnectionsOf(const ServiceEntry* entry) const;
  Drain* FindDrain(const ServiceEntry& entry);
  // Looks for drains that are over, from the loop: not in the middle of a connection's work.
  void CheckDrainsSoon();
  void CheckDrains();

  boost::asio::io_context& io_;
  ServiceTable& table_;
  DeadlineQueue& deadlines_;
  const Options options_;
  ExchangePool exchanges_;
  ConnectionContext context_;
  std::list<std::shared_ptr<Connection>> connections_;
  std::list<std::unique_ptr<Drain>> drains_;
  bool check_posted_ = false;
};

HttpServer::State::State(boost::asio::io_context& io, ServiceTable& table, DeadlineQueue& deadlines,
                         LoopInbox& inbox, Options options)
    : io_(io),
      table_(table),
      deadlines_(deadlines),
      options_(std::move(options)),
      exchanges_(inbox, table.pool().slots()),
      context_{io, deadlines, exchanges_, options_,
               [this](Connection& connection) { OnClosed(connection); }} {}

void HttpServer::State::Serve(UniqueFd connected, ServiceEntry& entry, Arrival arrival,
                              std::string peer) {
  if (arrival == Arrival::kAccepted) {
    Add(entry.counters().connections, 1);
    entry.row().last_accept_ns.store(static_cast<uint64_t>(deadlines_.clock().Steady().nanoseconds),
                                     std::memory_order_relaxed);
  } else {
    entry.gate()->Add();
  }
  const auto connection = std::make_shared<Connection>(context_, entry, arrival, std::move(peer));
  connection->position = connections_.insert(connections_.end(), connection);
  connection->Start(std::move(connected));
  if (!entry.draining()) return;
  const Drain* drain = FindDrain(entry);
  connection->Drain(drain == nullptr ? HandOver() : drain->hand_over_);
}

void HttpServer::State::OnClosed(Connection& connection) {
  ServiceEntry& entry = connection.entry();
  connections_.erase(connection.position);
  if (entry.gate()->TakeAway() && options_.room) options_.room(entry.id());
  CheckDrainsSoon();
}

std::vector<std::shared_ptr<Connection>> HttpServer::State::ConnectionsOf(
    const ServiceEntry* entry) const {
  std::vector<std::shared_ptr<Connection>> found;
  for (const auto& connection : connections_) {
    if (entry == nullptr || &connection->entry() == entry) found.push_back(connection);
  }
  return found;
}

uint32_t HttpServer::State::CutAll(const ServiceEntry* entry, CancelReason reason) {
  uint32_t cancelled = 0;
  for (const auto& connection : ConnectionsOf(entry)) {
    if (connection->Cut(reason)) ++cancelled;
  }
  return cancelled;
}

void HttpServer::State::DrainService(ServiceEntry& entry, absl::Duration limit, CancelReason reason,
                                     HandOver hand_over, DrainDone done) {
  const SteadyTime due = deadlines_.clock().Steady() + limit;
  if (Drain* drain = FindDrain(entry)) {
    // Already under way: it may only become shorter.
    drain->done_.push_back(std::move(done));
    if (!drain->cut_ && due < drain->due()) drain->Set(deadlines_, due);
    return;
  }
  table_.SetState(entry, RowState::kDraining);
  Drain& drain =
      *drains_.emplace_back(std::make_unique<Drain>(*this, entry, reason, std::move(hand_over)));
  drain.done_.push_back(std::move(done));
  drain.Set(deadlines_, due);
  entry.admission().set_on_empty([this] { CheckDrainsSoon(); });
  const HandOver idle = drain.hand_over_;
  for (const auto& connection : ConnectionsOf(&entry)) connection->Drain(idle);
  CheckDrainsSoon();
}

void HttpServer::State::DrainAll(absl::Duration limit, const HandOver& hand_over, DrainDone done) {
  struct All {
    size_t left = 1;
    DrainResult result;
    DrainDone done;
  };
  auto all = std::make_shared<All>();
  all->done = std::move(done);
  const auto one_done = [all](DrainResult result) {
    all->result.cancelled += result.cancelled;
    all->result.running += result.running;
    if (--all->left == 0) all->done(all->result);
  };
  std::vector<ServiceEntry*> entries;
  table_.ForEach([&](ServiceEntry& entry) {
    const bool open = entry.state() == RowState::kReady || entry.state() == RowState::kLoading;
    if (open || FindDrain(entry) != nullptr) entries.push_back(&entry);
  });
  all->left += entries.size();
  for (ServiceEntry* entry : entries) {
    DrainService(*entry, limit, CancelReason::kDraining, hand_over, one_done);
  }
  boost::asio::post(io_, [one_done] { one_done({}); });
}

HttpServer::State::Drain* HttpServer::State::FindDrain(const ServiceEntry& entry) {
  for (const auto& drain : drains_) {
    if (&drain->entry_ == &entry) return drain.get();
  }
  return nullptr;
}

void HttpServer::State::CheckDrainsSoon() {
  if (drains_.empty() || std::exchange(check_posted_, true)) return;
  boost::asio::post(io_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->CheckDrains();
  });
}

void HttpServer::State::CheckDrains() {
  check_posted_ = false;
  std::vector<std::unique_ptr<Drain>> over;
  for (auto drain = drains_.begin(); drain != drains_.end();) {
    const auto next = std::next(drain);
    if ((*drain)->is_over()) {
      over.push_back(std::move(*drain));
      drains_.erase(drain);
    }
    drain = next;
  }
  // Last: they may start or remove anything, this server included.
  for (const auto& drain : over) drain->Finish();
}

void HttpServer::State::Drain::OnDeadline() {
  if (!cut_) {
    cut_ = true;
    cancelled_ += state_.CutAll(&entry_, reason_);
    Set(state_.deadlines_, state_.deadlines_.clock().Steady() + kCallGrace);
  } else {
    grace_over_ = true;
  }
  state_.CheckDrainsSoon();
}

void HttpServer::State::Drain::Finish() {
  Leave();
  entry_.admission().set_on_empty(nullptr);
  const DrainResult result{cancelled_, entry_.admission().calls()};
  for (const DrainDone& done : done_) done(result);
}

HttpServer::HttpServer(boost::asio::io_context& io, ServiceTable& table, DeadlineQueue& deadlines,
                       LoopInbox& inbox, Options options)
    : state_(std::make_shared<State>(io, table, deadlines, inbox, std::move(options))) {}

HttpServer::~HttpServer() { state_->CutAll(nullptr, CancelReason::kDraining); }

void HttpServer::Serve(UniqueFd connected, ServiceEntry& entry, Arrival arrival, std::string peer,
                       uint64_t /*listener*/) {
  state_->Serve(std::move(connected), entry, arrival, std::move(peer));
}

void HttpServer::DrainService(ServiceEntry& entry, absl::Duration limit, CancelReason reason,
                              HandOver hand_over, DrainDone done) {
  state_->DrainService(entry, limit, reason, std::move(hand_over), std::move(done));
}

void HttpServer::DrainAll(absl::Duration limit, HandOver hand_over, DrainDone done) {
  state_->DrainAll(limit, hand_over, std::move(done));
}

uint32_t HttpServer::connections() const { return state_->connections(); }

}  // namespace cohost::worker
