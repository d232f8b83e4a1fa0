// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/protocol.h"

#include <cstring>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

absl::StatusOr<KeeperMessage> Decode(const std::string& bytes, size_t descriptors = 0) {
  const auto header = DecodeKeeperHeader(bytes, descriptors);
  if (!header.ok()) return header.status();
  return DecodeKeeperMessage(*header, bytes);
}

std::string Encode(const KeeperMessage& message, size_t descriptors = 0) {
  return EncodeKeeperMessage(message, descriptors).value();
}

// The bytes with a header that claims their length.
std::string WithBodySize(std::string bytes) {
  const auto size = static_cast<uint32_t>(bytes.size() - sizeof(KeeperHeader));
  std::memcpy(bytes.data() + 16, &size, sizeof(size));
  return bytes;
}

KeeperMessage SpawnMessage() {
  KeeperMessage message{.type = KeeperType::kSpawn, .sequence = 7};
  message.spawn.name = "worker/a/0/1";
  message.spawn.program = "/usr/bin/cohost-worker";
  message.spawn.arguments = {"cohost-worker", "--group=a"};
  message.spawn.environment = {"PATH=/bin"};
  message.spawn.numbers = {3, 4};
  message.spawn.flags = kSpawnUseCgroup | kSpawnSetUid | kSpawnSetGid;
  message.spawn.uid = 1000;
  message.spawn.gid = 1001;
  message.spawn.groups = {5, 6};
  message.spawn.open_files = 4096;
  message.spawn.core_size = 1;
  message.spawn.oom_score_adjust = -5;
  message.spawn.memory = 1ULL << 33;
  message.spawn.cpu_millionths = 1'500'000;
  message.spawn.tasks = 256;
  return message;
}

absl::StatusCode SpawnCode(void (*spoil)(SpawnRequest&), size_t descriptors = 2) {
  KeeperMessage message = SpawnMessage();
  spoil(message.spawn);
  return Decode(Encode(message, descriptors), descriptors).status().code();
}

// Frozen: a keeper outlives many supervisors.
TEST(KeeperProtocol, HoldHasTheseBytes) {
  KeeperMessage hold{.type = KeeperType::kHold, .sequence = 2};
  hold.name = "lock";
  hold.text = "b";
  EXPECT_EQ(Encode(hold, 1),
            std::string("CKPR\1\0\3\0\2\0\0\0\0\0\0\0\x0d\0\0\0\1\0\0\0\4\0\0\0lock\1\0\0\0b", 37));
}

TEST(KeeperProtocol, SpawnRoundTrips) {
  const auto decoded = Decode(Encode(SpawnMessage(), 2), 2);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->sequence, 7u);
  const SpawnRequest& spawn = decoded->spawn;
  EXPECT_EQ(spawn.name, "worker/a/0/1");
  EXPECT_EQ(spawn.program, "/usr/bin/cohost-worker");
  EXPECT_EQ(spawn.arguments, (std::vector<std::string>{"cohost-worker", "--group=a"}));
  EXPECT_EQ(spawn.environment, (std::vector<std::string>{"PATH=/bin"}));
  EXPECT_EQ(spawn.numbers, (std::vector<uint32_t>{3, 4}));
  EXPECT_EQ(spawn.uid, 1000u);
  EXPECT_EQ(spawn.gid, 1001u);
  EXPECT_EQ(spawn.groups, (std::vector<uint32_t>{5, 6}));
  EXPECT_EQ(spawn.oom_score_adjust, -5);
  EXPECT_EQ(spawn.memory, 1ULL << 33);
  EXPECT_EQ(spawn.cpu_millionths, 1'500'000u);
  EXPECT_EQ(spawn.tasks, 256u);
}

TEST(KeeperProtocol, ExitRoundTrips) {
  KeeperMessage message{.type = KeeperType::kExited};
  message.exit = {.record = 9,
                  .name = "w",
                  .pid = 12,
                  .how = ExitHow::kSignal,
                  .value = 11,
                  .out_of_memory = true,
                  .user_ns = 5,
                  .system_ns = 6};
  const auto decoded = Decode(Encode(message));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->exit.record, 9u);
  EXPECT_EQ(decoded->exit.how, ExitHow::kSignal);
  EXPECT_EQ(decoded->exit.value, 11u);
  EXPECT_TRUE(decoded->exit.out_of_memory);
  EXPECT_EQ(decoded->exit.system_ns, 6u);
}

TEST(KeeperProtocol, ErrorsRoundTrip) {
  const absl::Status status = absl::NotFoundError("exec '/x': No such file or directory");
  const auto decoded = Decode(Encode(ErrorMessage(3, status)));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(ErrorOf(*decoded), status);
}

TEST(KeeperProtocol, EveryCutAndEveryTrailingByteIsRefused) {
  const std::string bytes = Encode(SpawnMessage(), 2);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(Decode(bytes.substr(0, length), 2).ok()) << length;
    if (length >= sizeof(KeeperHeader)) {
      EXPECT_FALSE(Decode(WithBodySize(bytes.substr(0, length)), 2).ok()) << length;
    }
  }
  EXPECT_FALSE(Decode(WithBodySize(bytes + "x"), 2).ok());
}

TEST(KeeperProtocol, NoOverwrittenByteBreaksTheReader) {
  const std::string bytes = Encode(SpawnMessage(), 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string spoiled = bytes;
      spoiled[i] = value;
      const auto decoded = Decode(spoiled, 2);
      // Whatever it says, it stays within the limits.
      if (decoded.ok() && decoded->type == KeeperType::kSpawn) {
        EXPECT_EQ(decoded->spawn.numbers.size(), 2u);
      }
    }
  }
}

TEST(KeeperProtocol, WrongMagicVersionOrDescriptorsIsRefusedInTheHeader) {
  const std::string bytes = Encode({.type = KeeperType::kList});
  std::string spoiled = bytes;
  spoiled[0] = 'X';
  EXPECT_FALSE(DecodeKeeperHeader(spoiled, 0).ok());
  spoiled = bytes;
  spoiled[4] = 0;
  EXPECT_FALSE(DecodeKeeperHeader(spoiled, 0).ok());
  EXPECT_FALSE(DecodeKeeperHeader(bytes, 1).ok());
}

TEST(KeeperProtocol, UnknownTypesAreUnimplemented) {
  EXPECT_EQ(Decode(Encode({.type = static_cast<KeeperType>(999)})).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST(KeeperProtocol, RequestsThatCannotBeMeantAreRefused) {
  EXPECT_EQ(SpawnCode([](SpawnRequest&) {}), absl::StatusCode::kOk);
  constexpr auto kRefused = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(SpawnCode([](SpawnRequest&) {}, 1), kRefused);
  EXPECT_EQ(SpawnCode([](SpawnRequest& spawn) { spawn.name.clear(); }), kRefused);
  EXPECT_EQ(SpawnCode([](SpawnRequest& spawn) { spawn.name.assign(121, 'x'); }), kRefused);
  EXPECT_EQ(SpawnCode([](SpawnRequest& spawn) { spawn.name[2] = '\0'; }), kRefused);
  EXPECT_EQ(SpawnCode([](SpawnRequest& spawn) { spawn.program = "worker"; }), kRefused);
  EXPECT_EQ(SpawnCode([](SpawnRequest& spawn) { spawn.arguments.clear(); }), kRefused);
  EXPECT_EQ(SpawnCode([](SpawnRequest& spawn) { spawn.arguments[1][2] = '\0'; }), kRefused);
  EXPECT_EQ(SpawnCode([](SpawnRequest& spawn) { spawn.numbers = {3, 3}; }), kRefused);
  EXPECT_EQ(SpawnCode([](SpawnRequest& spawn) { spawn.numbers = {3, 256}; }), kRefused);
  EXPECT_EQ(SpawnCode([](SpawnRequest& spawn) { spawn.flags = 8; }), kRefused);
  EXPECT_EQ(SpawnCode([](SpawnRequest& spawn) { spawn.kind = 1; }), kRefused);
  EXPECT_EQ(SpawnCode([](SpawnRequest& spawn) { spawn.oom_score_adjust = 1001; }), kRefused);
}

TEST(KeeperProtocol, TooLongAMessageIsNotEncoded) {
  KeeperMessage message = SpawnMessage();
  message.spawn.environment.assign(200, std::string(1000, 'x'));
  EXPECT_EQ(EncodeKeeperMessage(message, 2).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cohost::supervisor
