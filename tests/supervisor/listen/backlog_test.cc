// SPDX-License-Identifier: Apache-2.0
#include "supervisor/listen/backlog.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>
#include <vector>

#include "supervisor/config/address_text.h"
#include "supervisor/listen/socket_address.h"
#include "tests/supervisor/listen/socket_folder.h"

namespace cohost::supervisor {
namespace {

using BacklogTest = SocketFolderTest;

std::vector<UniqueFd> Connect(const Listener& listener, int count) {
  const absl::StatusOr<SocketAddress> address = listener.address.kind == Address::Kind::kTcp
                                                    ? TcpSocketAddress(listener.address)
                                                    : UnixSocketAddress(listener.address.path);
  std::vector<UniqueFd> clients;
  for (int i = 0; i < count; ++i) {
    clients.emplace_back(socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(clients.back().get(), address->get(), address->length), 0);
  }
  return clients;
}

TEST_F(BacklogTest, SOK_06_TheQueueAndItsLimitAreMeasured) {
  Address tcp = *ParseAddress("http://127.0.0.1:0");
  Address unix_address = Unix("s");
  tcp.backlog = unix_address.backlog = 7;
  for (const Address& address : {tcp, unix_address}) {
    const absl::StatusOr<Listener> listener = OpenListener(address);
    ASSERT_TRUE(listener.ok()) << listener.status();
    absl::StatusOr<AcceptQueue> queue = MeasureAcceptQueue(*listener);
    ASSERT_TRUE(queue.ok()) << queue.status();
    EXPECT_EQ(queue->backlog, 7u);
    EXPECT_EQ(queue->waiting, 0u);
    const std::vector<UniqueFd> clients = Connect(*listener, 3);
    queue = MeasureAcceptQueue(*listener);
    ASSERT_TRUE(queue.ok()) << queue.status();
    EXPECT_EQ(queue->waiting, 3u);
  }
}

TEST_F(BacklogTest, SOK_06_TheKernelsCapShows) {
  uint32_t cap = 0;
  std::ifstream("/proc/sys/net/core/somaxconn") >> cap;
  ASSERT_GT(cap, 0u);
  ASSERT_LT(cap, 65535u);
  Address address = *ParseAddress("http://127.0.0.1:0");
  address.backlog = 65535;
  const absl::StatusOr<Listener> listener = OpenListener(address);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ(MeasureAcceptQueue(*listener)->backlog, cap);
}

TEST_F(BacklogTest, ApplyingAnotherBacklogKeepsWhatWaits) {
  for (const Address& address : {*ParseAddress("http://127.0.0.1:0"), Unix("s")}) {
    const absl::StatusOr<Listener> listener = OpenListener(address);
    ASSERT_TRUE(listener.ok()) << listener.status();
    const std::vector<UniqueFd> clients = Connect(*listener, 2);
    Address changed = listener->address;
    changed.backlog = 5;
    ASSERT_TRUE(ApplyAttributes(*listener, changed, std::nullopt).ok());
    const absl::StatusOr<AcceptQueue> queue = MeasureAcceptQueue(*listener);
    EXPECT_EQ(queue->backlog, 5u);
    EXPECT_EQ(queue->waiting, 2u);
  }
}

}  // namespace
}  // namespace cohost::supervisor
