// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/peer_registry.h"

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

TEST(PeerRegistry, KnowsAPeerFromItsConnectionToItsEnd) {
  PeerRegistry peers;
  EXPECT_EQ(peers.Find("fd:512"), std::nullopt);
  peers.Add(512, 1000);
  EXPECT_EQ(peers.Find("fd:512"), 1000U);
  EXPECT_EQ(peers.Find("fd:51"), std::nullopt);
  peers.Remove(512);
  peers.Remove(512);
  EXPECT_EQ(peers.Find("fd:512"), std::nullopt);
}

TEST(PeerRegistry, ANumberThatComesBackIsTheNewPeers) {
  PeerRegistry peers;
  peers.Add(512, 0);
  peers.Add(512, 65534);
  EXPECT_EQ(peers.Find("fd:512"), 65534U);
}

TEST(PeerRegistry, WhatIsNoPeerOfOursIsNobody) {
  PeerRegistry peers;
  peers.Add(0, 0);
  peers.Add(512, 0);
  for (const std::string peer :
       {"", "fd:", "fd", "512", "FD:512", "fd:512x", "fd:0x200", "fd:-512", "fd:5 12",
        "fd:4294967808", "fd:99999999999999999999", "unix:fd:512", "ipv4:127.0.0.1:512"}) {
    EXPECT_EQ(peers.Find(peer), std::nullopt) << peer;
  }
  EXPECT_EQ(peers.Find(std::string("fd:512\0", 7)), std::nullopt);
}

TEST(PeerRegistry, ServesManyThreads) {
  PeerRegistry peers;
  peers.Add(7, 7);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&peers, i] {
      for (int round = 0; round < 1000; ++round) {
        peers.Add(100 + i, static_cast<uid_t>(i));
        EXPECT_EQ(peers.Find("fd:" + std::to_string(100 + i)), static_cast<uid_t>(i));
        EXPECT_EQ(peers.Find("fd:7"), 7U);
        peers.Remove(100 + i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace cohost::supervisor
