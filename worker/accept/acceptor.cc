// SPDX-License-Identifier: Apache-2.0
#include "worker/accept/acceptor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"

namespace cohost::worker {
namespace {

constexpr int kAcceptsPerWakeup = 16;
constexpr int kEventsPerWait = 64;
// The thread goes round at least so often, so that accept_progress shows that it lives.
constexpr absl::Duration kLongestWait = absl::Seconds(1);

}  // namespace

std::string FormatPeer(const sockaddr_storage& address, socklen_t size) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET && size >= sizeof(sockaddr_in)) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return absl::StrCat(text.data(), ":", ntohs(v4.sin_port));
  }
  if (address.ss_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    return absl::StrCat("[", text.data(), "]:", ntohs(v6.sin6_port));
  }
  return "unix";
}

struct Acceptor::Listener {
  uint64_t token = 0;
  UniqueFd fd;
  uint64_t service_id = 0;
  std::shared_ptr<AcceptGate> gate;
  bool paused = false;  // by Pause
  bool full = false;    // the service has no room
  bool broken = false;  // accept fails for good
  bool in_epoll = false;
};

// What the accept thread owns.
class Acceptor::Loop {
 public:
  explicit Loop(Acceptor& acceptor) : acceptor_(acceptor) {}

  void Run();

  void Add(uint64_t token, Listener listener) {
    Remove([token](uint64_t other, const Listener&) { return other == token; });
    Listener& added = listeners_[token];
    added = std::move(listener);
    added.token = token;
    Update(added);
  }
  template <typename Predicate>
  void Remove(Predicate predicate) {
    for (auto entry = listeners_.begin(); entry != listeners_.end();) {
      if (!predicate(entry->first, entry->second)) {
        ++entry;
        continue;
      }
      // Out of epoll before close: other holders of the listener would keep the entry alive.
      SetInterest(entry->second, false);
      entry = listeners_.erase(entry);
    }
  }
  void SetPaused(uint64_t service_id, bool paused) {
    for (auto& [token, listener] : listeners_) {
      if (listener.service_id != service_id) continue;
      listener.paused = paused;
      Update(listener);
    }
  }
  void NoteRoom(uint64_t service_id) {
    for (auto& [token, listener] : listeners_) {
      if (listener.service_id != service_id) continue;
      listener.full = false;
      Update(listener);
    }
  }
  void Rearm() {
    for (auto& [token, listener] : listeners_) {
      SetInterest(listener, false);
      Update(listener);
    }
  }
  void Stop() { stopped_ = true; }

 private:
  void AcceptSome(Listener& listener, std::vector<AcceptedConnection>& accepted);
  // False when the listener has nothing more for now.
  bool AcceptFailed(Listener& listener, int error);
  void NoRoom(Listener& listener);
  void Exhausted(int error);
  void RunCommands();
  int WaitMilliseconds() const;
  void Update(Listener& listener) {
    SetInterest(listener, !listener.paused && !listener.full && !listener.broken && !resume_);
  }
  void SetInterest(Listener& listener, bool wanted);

  Acceptor& acceptor_;
  std::map<uint64_t, Listener> listeners_;  // by token
  // Set while listeners are let go of for want of descriptors.
  std::optional<SteadyTime> resume_;
  std::optional<SteadyTime> logged_;
  uint64_t unlogged_ = 0;
  bool stopped_ = false;
};

void Acceptor::Loop::Run() {
  pthread_setname_np(pthread_self(), "accept");
  acceptor_.slots_.Exchange({ThreadState::kInHost, kNoRow, {}});
  std::array<epoll_event, kEventsPerWait> events;
  while (!stopped_) {
    const int count =
        epoll_wait(acceptor_.epoll_.get(), events.data(), kEventsPerWait, WaitMilliseconds());
    acceptor_.header_.accept_progress.fetch_add(1, std::memory_order_relaxed);
    std::vector<AcceptedConnection> accepted;
    bool woken = false;
    for (int i = 0; i < count; ++i) {
      auto* listener = static_cast<Listener*>(events[static_cast<size_t>(i)].data.ptr);
      if (listener == nullptr) continue;
      woken = true;
      AcceptSome(*listener, accepted);
    }
    if (woken) acceptor_.wakeups_.fetch_add(1, std::memory_order_relaxed);
    if (!accepted.empty()) acceptor_.hand_over_(std::move(accepted));
    if (resume_ && acceptor_.clock_.Steady() >= *resume_) {
      resume_.reset();
      for (auto& [token, waiting] : listeners_) Update(waiting);
    }
    // After the events, which point at listeners that a command may remove.
    RunCommands();
  }
  Remove([](uint64_t, const Listener&) { return true; });
}

void Acceptor::Loop::AcceptSome(Listener& listener, std::vector<AcceptedConnection>& accepted) {
  for (int attempt = 0; attempt < kAcceptsPerWakeup && listener.in_epoll; ++attempt) {
    if (!listener.gate->HasRoom()) return NoRoom(listener);
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    UniqueFd fd(accept4(listener.fd.get(), reinterpret_cast<sockaddr*>(&address), &size,
                        SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd.valid()) {
      if (AcceptFailed(listener, errno)) continue;
      return;
    }
    listener.gate->Add();
    accepted.push_back(
        {std::move(fd), listener.service_id, FormatPeer(address, size), listener.token});
  }
}

bool Acceptor::Loop::AcceptFailed(Listener& listener, int error) {
  switch (error) {
    case EAGAIN:
      return false;
    // The connection failed before it was accepted (accept(2)): the next one may be good.
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
      return true;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      Exhausted(error);
      return false;
    default:
      // For instance EINVAL after somebody's shutdown(): it would fail and wake for ever.
      listener.broken = true;
      Update(listener);
      acceptor_.log_.Error(
          "a listener does not accept any more",
          {{"service_id", static_cast<int64_t>(listener.service_id)},
           {"error", AsStd(absl::string_view(ErrnoStatus(error, "accept4", "").message()))}});
      return false;
  }
}

void Acceptor::Loop::NoRoom(Listener& listener) {
  listener.gate->WaitForRoom();
  // Between the two looks a connection may have ended without telling.
  if (listener.gate->HasRoom()) return;
  listener.full = true;
  Update(listener);
}

void Acceptor::Loop::Exhausted(int error) {
  const SteadyTime now = acceptor_.clock_.Steady();
  acceptor_.header_.accept_errors.fetch_add(1, std::memory_order_relaxed);
  resume_ = now + acceptor_.options_.exhausted_pause;
  for (auto& [token, listener] : listeners_) Update(listener);
  if (logged_ && now - *logged_ < acceptor_.options_.exhausted_log_interval) {
    ++unlogged_;
    return;
  }
  acceptor_.log_.Warning(
      "out of descriptors or memory: not accepting for a while",
      {{"error", AsStd(absl::string_view(ErrnoStatus(error, "accept4", "").message()))},
       {"pause_seconds", absl::ToDoubleSeconds(acceptor_.options_.exhausted_pause)},
       {"unlogged", static_cast<int64_t>(std::exchange(unlogged_, 0))}});
  logged_ = now;
}

void Acceptor::Loop::RunCommands() {
  std::vector<std::function<void(Loop&)>> commands;
  {
    MutexLock lock(acceptor_.mutex_);
    if (acceptor_.commands_.empty()) return;
    commands.swap(acceptor_.commands_);
    uint64_t count;
    // Ignoring the result: the counter only wakes this thread, and it is awake.
    (void)!read(acceptor_.wake_.get(), &count, sizeof(count));
  }
  for (const auto& command : commands) command(*this);
}

int Acceptor::Loop::WaitMilliseconds() const {
  absl::Duration wait = kLongestWait;
  if (resume_) wait = std::min(wait, *resume_ - acceptor_.clock_.Steady());
  return static_cast<int>(
      std::max<int64_t>(absl::ToInt64Milliseconds(wait + absl::Microseconds(999)), 0));
}

void Acceptor::Loop::SetInterest(Listener& listener, bool wanted) {
  if (listener.in_epoll == wanted) return;
  listener.in_epoll = wanted;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLEXCLUSIVE;
  event.data.ptr = &listener;
  if (epoll_ctl(acceptor_.epoll_.get(), wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listener.fd.get(),
                &event) == 0) {
    return;
  }
  const int error = errno;
  listener.in_epoll = false;
  acceptor_.log_.Error(
      "cannot wait for a listener",
      {{"service_id", static_cast<int64_t>(listener.service_id)},
       {"error", AsStd(absl::string_view(ErrnoStatus(error, "epoll_ctl", "").message()))}});
}

Acceptor::Acceptor(HandOver hand_over, SegmentHeader& header, ThreadSlots& slots,
                   const Clock& clock, Log& log, Options options)
    : hand_over_(std::move(hand_over)),
      header_(header),
      slots_(slots),
      clock_(clock),
      log_(log),
      options_(options) {}

Acceptor::~Acceptor() { Stop(); }

absl::Status Acceptor::Start() {
  wake_.Reset(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_.valid()) return ErrnoStatus(errno, "eventfd", "");
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return ErrnoStatus(errno, "epoll_create1", "");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) {
    return ErrnoStatus(errno, "epoll_ctl", "the accept thread's eventfd");
  }
  try {
    thread_ = std::thread([this] { Loop(*this).Run(); });
  } catch (const std::system_error& error) {
    return ErrnoStatus(error.code().value(), "pthread_create", "the accept thread");
  }
  return absl::OkStatus();
}

void Acceptor::Add(uint64_t token, UniqueFd listener, uint64_t service_id,
                   std::shared_ptr<AcceptGate> gate) {
  // A std::function is copied, a descriptor is not: hence the shared_ptr.
  auto added = std::make_shared<Listener>();
  added->fd = std::move(listener);
  added->service_id = service_id;
  added->gate = std::move(gate);
  Send([token, added](Loop& loop) { loop.Add(token, std::move(*added)); });
}

void Acceptor::Remove(uint64_t token, std::function<void()> done) {
  Send([token, done = std::move(done)](Loop& loop) {
    loop.Remove([token](uint64_t other, const Listener&) { return other == token; });
    if (done) done();
  });
}

void Acceptor::RemoveService(uint64_t service_id, std::function<void()> done) {
  Send([service_id, done = std::move(done)](Loop& loop) {
    loop.Remove([service_id](uint64_t, const Listener& listener) {
      return listener.service_id == service_id;
    });
    if (done) done();
  });
}

void Acceptor::Pause(uint64_t service_id) {
  Send([service_id](Loop& loop) { loop.SetPaused(service_id, true); });
}

void Acceptor::Resume(uint64_t service_id) {
  Send([service_id](Loop& loop) { loop.SetPaused(service_id, false); });
}

void Acceptor::NoteRoom(uint64_t service_id) {
  Send([service_id](Loop& loop) { loop.NoteRoom(service_id); });
}

void Acceptor::Rearm() {
  Send([](Loop& loop) { loop.Rearm(); });
}

void Acceptor::Stop() {
  if (!thread_.joinable()) return;
  Send([](Loop& loop) { loop.Stop(); });
  thread_.join();
}

void Acceptor::Send(std::function<void(Loop&)> command) {
  MutexLock lock(mutex_);
  commands_.push_back(std::move(command));
  const uint64_t one = 1;
  // Ignoring the result: it fails only when the counter is full, and then the thread is woken.
  if (wake_.valid()) (void)!write(wake_.get(), &one, sizeof(one));
}

}  // namespace cohost::worker
