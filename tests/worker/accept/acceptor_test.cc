// SPDX-License-Identifier: Apache-2.0
#include "worker/accept/acceptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "tests/fakes/segment_memory.h"

namespace cohost::worker {
namespace {

bool Wait(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::yield();
  }
  return true;
}

// A listener on the loopback address, as the supervisor makes them.
class TestListener {
 public:
  TestListener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd_.get(), generic, sizeof(address)), 0);
    EXPECT_EQ(listen(fd_.get(), 512), 0);
    size_ = sizeof(address_);
    EXPECT_EQ(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address_), &size_), 0);
  }
  UniqueFd Duplicate() const { return UniqueFd(fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)); }
  UniqueFd Connect() const {
    UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address_), size_), 0);
    return client;
  }
  int flags() const { return fcntl(fd_.get(), F_GETFL); }
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  sockaddr_storage address_{};
  socklen_t size_ = 0;
};

// What one worker has of this.
struct TestWorker {
  explicit TestWorker(Acceptor::Options options = {}, int log_fd = -1)
      : log(log_fd, "test"),
        acceptor(
            [this](std::vector<AcceptedConnection> batch) {
              MutexLock lock(mutex);
              for (auto& one : batch) connections.push_back(std::move(one));
              accepted += batch.size();
            },
            memory.segment().header, slots, SystemClock(), log, options) {
    EXPECT_TRUE(acceptor.Start().ok());
  }
  ~TestWorker() { acceptor.Stop(); }
  // Returns when all that was asked before has been done.
  void Settle() {
    std::atomic<bool> done{false};
    acceptor.Remove(999, [&] { done = true; });
    EXPECT_TRUE(Wait([&] { return done.load(); }));
  }

  SegmentMemory memory;
  ThreadSlots slots{memory.segment()};
  Log log;
  Mutex mutex;
  std::vector<AcceptedConnection> connections ABSL_GUARDED_BY(mutex);
  std::atomic<size_t> accepted{0};
  Acceptor acceptor;
};

std::shared_ptr<AcceptGate> Gate(uint32_t limit = 1000) {
  return std::make_shared<AcceptGate>(limit);
}

TEST(Acceptor, HandsOverWithServiceListenerAndPeer) {
  TestListener listener;
  TestWorker worker;
  const auto gate = Gate();
  worker.acceptor.Add(/*token=*/11, listener.Duplicate(), 7, gate);
  const UniqueFd client = listener.Connect();
  ASSERT_TRUE(Wait([&] { return worker.accepted == 1; }));
  MutexLock lock(worker.mutex);
  const AcceptedConnection& connection = worker.connections[0];
  EXPECT_EQ(connection.service_id, 7u);
  EXPECT_EQ(connection.listener, 11u);
  EXPECT_EQ(connection.peer.substr(0, 10), "127.0.0.1:");
  EXPECT_NE(fcntl(connection.fd.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(connection.fd.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(gate->open(), 1u);
  EXPECT_GT(worker.memory.segment().header.accept_progress.load(), 0u);
}

TEST(Acceptor, NeverTakesMoreThanThereIsRoomFor) {
  TestListener listener;
  TestWorker worker;
  const auto gate = Gate(2);
  worker.acceptor.Add(1, listener.Duplicate(), 7, gate);
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 5; ++i) clients.push_back(listener.Connect());
  ASSERT_TRUE(Wait([&] { return worker.accepted == 2; }));
  worker.Settle();
  const uint64_t wakeups = worker.acceptor.wakeups();
  worker.Settle();
  // The full listener is out of epoll: it does not wake anybody.
  EXPECT_EQ(worker.acceptor.wakeups(), wakeups);
  EXPECT_EQ(worker.accepted, 2u);
  ASSERT_TRUE(gate->TakeAway()) << "the accept thread waits";
  worker.acceptor.NoteRoom(7);
  EXPECT_TRUE(Wait([&] { return worker.accepted == 3; }));
}

TEST(Acceptor, PausesAndResumesOneService) {
  TestListener first;
  TestListener second;
  TestWorker worker;
  worker.acceptor.Add(1, first.Duplicate(), 1, Gate());
  worker.acceptor.Add(2, second.Duplicate(), 2, Gate());
  worker.acceptor.Pause(1);
  worker.Settle();
  const UniqueFd waiting = first.Connect();
  const UniqueFd served = second.Connect();
  ASSERT_TRUE(Wait([&] { return worker.accepted == 1; }));
  worker.acceptor.NoteRoom(1);
  worker.acceptor.Rearm();
  worker.Settle();
  EXPECT_EQ(worker.accepted, 1u) << "room does not end a pause";
  worker.acceptor.Resume(1);
  EXPECT_TRUE(Wait([&] { return worker.accepted == 2; }));
}

TEST(Acceptor, PRC_08_AfterRemoveNoEventComesWhileOthersHoldTheListener) {
  TestListener listener;
  TestWorker worker;
  worker.acceptor.Add(1, listener.Duplicate(), 7, Gate());
  worker.acceptor.Remove(1, nullptr);
  worker.Settle();
  const UniqueFd client = listener.Connect();
  const uint64_t wakeups = worker.acceptor.wakeups();
  worker.Settle();
  EXPECT_EQ(worker.acceptor.wakeups(), wakeups);
  EXPECT_EQ(worker.accepted, 0u);
  // The connection waits for whoever comes next.
  TestWorker next;
  next.acceptor.Add(1, listener.Duplicate(), 7, Gate());
  EXPECT_TRUE(Wait([&] { return next.accepted == 1; }));
}

TEST(Acceptor, AStoppedOneDoesNotSwallowWakeUps) {
  TestListener listener;
  TestWorker stopped;
  TestWorker other;
  stopped.acceptor.Add(1, listener.Duplicate(), 7, Gate());
  stopped.Settle();
  other.acceptor.Add(1, listener.Duplicate(), 7, Gate());
  other.Settle();
  stopped.acceptor.Stop();
  for (size_t i = 1; i <= 20; ++i) {
    const UniqueFd client = listener.Connect();
    ASSERT_TRUE(Wait([&] { return other.accepted == i; }));
  }
}

TEST(Acceptor, LeavesTheFlagsOfASharedListenerAlone) {
  TestListener listener;
  const int flags = listener.flags();
  {
    TestWorker worker;
    worker.acceptor.Add(1, listener.Duplicate(), 7, Gate());
    const UniqueFd client = listener.Connect();
    ASSERT_TRUE(Wait([&] { return worker.accepted == 1; }));
  }
  EXPECT_EQ(listener.flags(), flags);
  const UniqueFd client = listener.Connect();
  TestWorker next;
  next.acceptor.Add(1, listener.Duplicate(), 7, Gate());
  EXPECT_TRUE(Wait([&] { return next.accepted == 1; })) << "it was shut down";
}

TEST(Acceptor, SOK_05_OneConnectionWakesAboutOneOfEightWorkers) {
  TestListener listener;
  std::vector<std::unique_ptr<TestWorker>> workers;
  for (int i = 0; i < 8; ++i) {
    workers.push_back(std::make_unique<TestWorker>());
    workers.back()->acceptor.Add(1, listener.Duplicate(), 7, Gate());
    workers.back()->Settle();
  }
  const auto accepted = [&] {
    size_t sum = 0;
    for (const auto& worker : workers) sum += worker->accepted;
    return sum;
  };
  constexpr size_t kConnections = 200;
  for (size_t i = 1; i <= kConnections; ++i) {
    const UniqueFd client = listener.Connect();
    ASSERT_TRUE(Wait([&] { return accepted() == i; }));
  }
  uint64_t wakeups = 0;
  for (const auto& worker : workers) wakeups += worker->acceptor.wakeups();
  EXPECT_GE(wakeups, kConnections / 16);
  // Level-triggered: now and then one that goes to sleep sees what another is about to take.
  EXPECT_LE(wakeups, kConnections * 2) << "eight times as many without EPOLLEXCLUSIVE";
}

TEST(Acceptor, SOK_04_OutOfDescriptorsItPausesAndRecovers) {
  TestListener listener;
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe2(pipe_ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd log_reader(pipe_ends[0]);
  const UniqueFd log_writer(pipe_ends[1]);
  TestWorker worker({.exhausted_pause = absl::Milliseconds(20)}, log_writer.get());
  worker.acceptor.Add(1, listener.Duplicate(), 7, Gate());
  worker.Settle();
  // The sanitizer checks a type once, with a pipe that it could not make below.
  const Clock& clock = SystemClock();
  EXPECT_GT(clock.Steady(), SteadyTime{});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const UniqueFd client = listener.Connect();
  ASSERT_TRUE(Wait([&] { return worker.accepted == 1; }));
  UniqueFd other(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // Existing descriptors stay; new ones are refused.
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  ASSERT_EQ(getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  ASSERT_EQ(connect(other.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_TRUE(Wait([&] { return worker.memory.segment().header.accept_errors >= 5; }));
  const uint64_t wakeups = worker.acceptor.wakeups();
  EXPECT_LE(wakeups, 10u) << "one wake-up a pause, no spinning";
  EXPECT_EQ(worker.accepted, 1u);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(Wait([&] { return worker.accepted == 2; }));
  std::array<char, 8192> text{};
  const ssize_t read_bytes = read(log_reader.get(), text.data(), text.size());
  ASSERT_GT(read_bytes, 0);
  const std::string log(text.data(), static_cast<size_t>(read_bytes));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST(Acceptor, AListenerThatFailsForGoodDoesNotSpin) {
  TestListener listener;
  TestWorker worker;
  worker.acceptor.Add(1, listener.Duplicate(), 7, Gate());
  worker.Settle();
  ASSERT_EQ(shutdown(listener.fd(), SHUT_RD), 0);
  ASSERT_TRUE(Wait([&] { return worker.acceptor.wakeups() >= 1; }));
  worker.Settle();
  const uint64_t wakeups = worker.acceptor.wakeups();
  for (int i = 0; i < 5; ++i) worker.Settle();
  EXPECT_EQ(worker.acceptor.wakeups(), wakeups);
}

TEST(FormatPeer, WritesAddressesAsTheyAreRead) {
  sockaddr_storage storage{};
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  v6.sin6_port = htons(45678);
  EXPECT_EQ(FormatPeer(storage, sizeof(v6)), "[::1]:45678");
  storage.ss_family = AF_UNIX;
  EXPECT_EQ(FormatPeer(storage, sizeof(sa_family_t)), "unix");
}

}  // namespace
}  // namespace cohost::worker
