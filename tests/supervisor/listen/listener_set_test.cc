// SPDX-License-Identifier: Apache-2.0
#include "supervisor/listen/listener_set.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "supervisor/config/address_text.h"
#include "tests/fakes/descriptor_holder.h"
#include "tests/supervisor/listen/socket_folder.h"

namespace cohost::supervisor {
namespace {

class ListenerSetTest : public SocketFolderTest {
 protected:
  static WantedListener Want(const Address& address, size_t index = 0) {
    return {ListenerKey(address, "service", index), address, std::nullopt};
  }
  static WantedListener WantPort(uint16_t port, size_t index = 0) {
    return Want(*ParseAddress(absl::StrCat("http://127.0.0.1:", port)), index);
  }
  WantedListener WantUnix(const std::string& name) const { return Want(Unix(name)); }

  ListenerSet::Outcome MustChange(const std::vector<WantedListener>& wanted) {
    absl::StatusOr<ListenerSet::Change> change = set_->Prepare(wanted);
    EXPECT_TRUE(change.ok()) << change.status();
    if (!change.ok()) return {};
    return set_->Commit(*std::move(change));
  }

  // As when the supervisor dies and the keeper starts the next one.
  void Restart() {
    set_ = std::make_unique<ListenerSet>(holder_);
    set_->Inherit(holder_.CopyAll());
  }

  static ino_t SocketOf(int fd) {
    struct stat info {};
    EXPECT_EQ(fstat(fd, &info), 0);
    return info.st_ino;
  }

  FakeDescriptorHolder holder_;
  std::vector<std::string> reports_;
  std::unique_ptr<ListenerSet> set_ = std::make_unique<ListenerSet>(
      holder_, [this](std::string line) { reports_.push_back(std::move(line)); });
};

TEST_F(ListenerSetTest, OpensKeepsAndCloses) {
  const WantedListener a = WantUnix("a"), b = WantUnix("b"), c = WantUnix("c");
  EXPECT_EQ(MustChange({a, b}).opened, (std::vector<std::string>{a.key, b.key}));
  const ino_t kept = SocketOf(set_->Find(b.key)->fd.get());
  const ListenerSet::Outcome outcome = MustChange({b, c});
  EXPECT_EQ(outcome.opened, std::vector<std::string>{c.key});
  EXPECT_EQ(outcome.closed, std::vector<std::string>{a.key});
  EXPECT_TRUE(outcome.remarks.empty());
  EXPECT_EQ(SocketOf(set_->Find(b.key)->fd.get()), kept);
  EXPECT_EQ(set_->Find(a.key), nullptr);
  EXPECT_EQ(Names(), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(holder_.entries().size(), 2u);
}

TEST_F(ListenerSetTest, AFailedPreparationChangesNothing) {
  MustChange({WantUnix("a")});
  WriteFile("file", "precious");
  const absl::StatusOr<ListenerSet::Change> change =
      set_->Prepare({WantUnix("new"), WantUnix("file"), WantUnix("none/x")});
  EXPECT_EQ(change.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(change.status().message().find("/file'"), absl::string_view::npos);
  EXPECT_NE(change.status().message().find("/none/'"), absl::string_view::npos);
  EXPECT_EQ(Names(), (std::vector<std::string>{"a", "file"}));
  EXPECT_EQ(set_->listeners().size(), 1u);
  EXPECT_EQ(holder_.entries().size(), 1u);
}

TEST_F(ListenerSetTest, AnUncommittedChangeLeavesNoFile) {
  {
    const absl::StatusOr<ListenerSet::Change> change = set_->Prepare({WantUnix("a")});
    ASSERT_TRUE(change.ok()) << change.status();
    EXPECT_EQ(Names(), std::vector<std::string>{"a"});
  }
  EXPECT_TRUE(Names().empty());
  EXPECT_TRUE(holder_.entries().empty());
}

TEST_F(ListenerSetTest, AnyNumberOfServicesAskForAFreePort) {
  const WantedListener first = WantPort(0, 0), second = WantPort(0, 1);
  MustChange({first, second});
  EXPECT_NE(set_->Find(first.key)->address.port, set_->Find(second.key)->address.port);
  const uint16_t port = set_->Find(first.key)->address.port;
  MustChange({first, second});
  EXPECT_EQ(set_->Find(first.key)->address.port, port);
}

TEST_F(ListenerSetTest, ANameThatIsWantedTwiceIsAnError) {
  EXPECT_EQ(set_->Prepare({WantUnix("a"), WantUnix("a")}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Names().empty());
}

TEST_F(ListenerSetTest, TheNextSupervisorGetsTheSameSockets) {
  const WantedListener port = WantPort(0), path = WantUnix("a");
  MustChange({port, path});
  const uint16_t number = set_->Find(port.key)->address.port;
  const ino_t tcp = SocketOf(set_->Find(port.key)->fd.get());
  const ino_t unix_socket = SocketOf(set_->Find(path.key)->fd.get());
  for (int restart = 0; restart < 3; ++restart) {
    Restart();
    MustChange({port, path});
    EXPECT_EQ(set_->Find(port.key)->address.port, number);
    EXPECT_EQ(SocketOf(set_->Find(port.key)->fd.get()), tcp);
    EXPECT_EQ(SocketOf(set_->Find(path.key)->fd.get()), unix_socket);
  }
  EXPECT_EQ(holder_.entries().size(), 2u);
}

TEST_F(ListenerSetTest, AGivenUpChangeLeavesInheritedSocketsAlone) {
  const WantedListener path = WantUnix("a");
  MustChange({path});
  const ino_t socket = SocketOf(set_->Find(path.key)->fd.get());
  Restart();
  EXPECT_FALSE(set_->Prepare({path, WantUnix("none/x")}).ok());
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
  MustChange({path});
  EXPECT_EQ(SocketOf(set_->Find(path.key)->fd.get()), socket);
}

TEST_F(ListenerSetTest, WhatNobodyWantsAnyMoreIsReleased) {
  MustChange({WantUnix("a"), WantUnix("b")});
  Restart();
  MustChange({WantUnix("b")});
  EXPECT_EQ(Names(), std::vector<std::string>{"b"});
  EXPECT_EQ(holder_.entries().size(), 1u);
}

TEST_F(ListenerSetTest, ActivatedSocketsAreUsedWhenTheyFit) {
  absl::StatusOr<Listener> given = OpenListener(*ParseAddress("http://127.0.0.1:0"));
  ASSERT_TRUE(given.ok()) << given.status();
  const uint16_t port = given->address.port;
  const ino_t socket = SocketOf(given->fd.get());
  holder_.Hold("activation/0", "", {given->fd.get()}, [](const absl::Status&) {});
  given->fd.Reset();
  set_->Inherit(holder_.CopyAll());
  const WantedListener wanted = WantPort(port);
  MustChange({wanted, WantPort(0)});
  EXPECT_EQ(SocketOf(set_->Find(wanted.key)->fd.get()), socket);
  EXPECT_NE(SocketOf(set_->Find(WantPort(0).key)->fd.get()), socket);
  EXPECT_EQ(holder_.entries().count("activation/0"), 0u);
  EXPECT_EQ(holder_.entries().size(), 2u);
}

TEST_F(ListenerSetTest, EntriesOfAnotherKindAreNotAdopted) {
  const UniqueFd file(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  const WantedListener wanted = WantUnix("a");
  holder_.Hold("listener/" + wanted.key, "garbage", {file.get()}, [](const absl::Status&) {});
  set_->Inherit(holder_.CopyAll());
  MustChange({wanted});
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
  EXPECT_NE(SocketOf(set_->Find(wanted.key)->fd.get()), SocketOf(file.get()));
}

TEST_F(ListenerSetTest, AChangedModeIsAppliedWithoutReopening) {
  WantedListener wanted = WantUnix("a");
  MustChange({wanted});
  const ino_t socket = SocketOf(set_->Find(wanted.key)->fd.get());
  wanted.address.mode = 0666;
  EXPECT_TRUE(MustChange({wanted}).remarks.empty());
  struct stat info {};
  ASSERT_EQ(stat(wanted.address.path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666u);
  EXPECT_EQ(SocketOf(set_->Find(wanted.key)->fd.get()), socket);
}

TEST_F(ListenerSetTest, AFileThatSomebodyTookIsRemarkedAndSpared) {
  const WantedListener wanted = WantUnix("a");
  MustChange({wanted});
  ASSERT_EQ(unlink(wanted.address.path.c_str()), 0);
  WriteFile("a", "precious");
  EXPECT_EQ(MustChange({wanted}).remarks.size(), 1u);
  MustChange({});
  EXPECT_EQ(ReadFile("a"), "precious");
}

TEST_F(ListenerSetTest, WhatTheKeeperRefusesIsReported) {
  holder_.FailHolds(absl::ResourceExhaustedError("full"));
  MustChange({WantUnix("a")});
  holder_.RunCallbacks();
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_NE(reports_[0].find("is not held: full"), std::string::npos);
}

TEST_F(ListenerSetTest, EndingTheSetLeavesTheSocketsAndClosingDoesNot) {
  MustChange({WantUnix("a")});
  Restart();
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
  MustChange({WantUnix("a")});
  set_->Close();
  EXPECT_TRUE(Names().empty());
  EXPECT_TRUE(holder_.entries().empty());
}

}  // namespace
}  // namespace cohost::supervisor
