// SPDX-License-Identifier: Apache-2.0
#include "supervisor/listen/unix_socket_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/system/unique_fd.h"
#include "tests/supervisor/listen/socket_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class UnixSocketFileTest : public SocketFolderTest {
 protected:
  enum class Listens { kYes, kNo };

  std::string Path(const std::string& name) const { return Unix(name).path; }
  UniqueFd Bind(const std::string& name, Listens listens, int type = SOCK_STREAM) const {
    UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = Path(name);
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_TRUE(listens == Listens::kNo || listen(fd.get(), 8) == 0);
    return fd;
  }
  // A socket file that a dead process has left.
  void Leave(const std::string& name) const { (void)Bind(name, Listens::kYes); }
};

TEST_F(UnixSocketFileTest, APathWithNothingIsFree) {
  const absl::StatusOr<PathState> state = InspectSocketPath(Path("s"));
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(*state, PathState::kFree);
}

TEST_F(UnixSocketFileTest, AFileThatNobodyListensOnIsStaleAndStays) {
  Leave("closed");
  const UniqueFd bound = Bind("bound", Listens::kNo);
  for (const char* name : {"closed", "bound"}) {
    const absl::StatusOr<PathState> state = InspectSocketPath(Path(name));
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(*state, PathState::kStale) << name;
  }
  EXPECT_THAT(Names(), ElementsAre("bound", "closed"));
}

TEST_F(UnixSocketFileTest, WhoListensSeesOneConnectionThatIsClosed) {
  const UniqueFd live = Bind("s", Listens::kYes);
  const absl::Status status = InspectSocketPath(Path("s")).status();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("this process"));
  const UniqueFd seen(accept4(live.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(seen.valid());
  char byte = 0;
  EXPECT_EQ(read(seen.get(), &byte, 1), 0);
  EXPECT_LT(accept4(live.get(), nullptr, nullptr, SOCK_CLOEXEC), 0);
}

// A connection is refused there as by nobody; it is somebody's all the same.
TEST_F(UnixSocketFileTest, ASocketOfAnotherTypeIsInUse) {
  const UniqueFd datagram = Bind("d", Listens::kNo, SOCK_DGRAM);
  const UniqueFd packets = Bind("p", Listens::kYes, SOCK_SEQPACKET);
  for (const char* name : {"d", "p"}) {
    EXPECT_TRUE(absl::IsAlreadyExists(InspectSocketPath(Path(name)).status())) << name;
  }
}

TEST_F(UnixSocketFileTest, ALinkToASocketIsNoSocket) {
  const UniqueFd live = Bind("live", Listens::kYes);
  Leave("stale");
  for (const char* target : {"live", "stale", "nowhere"}) {
    const std::string link = Path(std::string("to-") + target);
    ASSERT_EQ(symlink(target, link.c_str()), 0);
    EXPECT_TRUE(absl::IsFailedPrecondition(InspectSocketPath(link).status())) << target;
  }
  // Nobody was connected to through it.
  EXPECT_LT(accept4(live.get(), nullptr, nullptr, SOCK_CLOEXEC), 0);
}

TEST_F(UnixSocketFileTest, AFolderThatIsNoneIsAPrecondition) {
  WriteFile("file", "precious");
  EXPECT_TRUE(absl::IsFailedPrecondition(InspectSocketPath(Path("none/s")).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(InspectSocketPath(Path("file/s")).status()));
  EXPECT_EQ(ReadFile("file"), "precious");
}

TEST_F(UnixSocketFileTest, APathIsTheFileThatStandsThere) {
  Leave("s");
  const absl::StatusOr<SocketFile> file = StatSocketFile(Path("s"));
  ASSERT_TRUE(file.ok()) << file.status();
  struct stat info {};
  ASSERT_EQ(lstat(Path("s").c_str(), &info), 0);
  EXPECT_EQ(file->inode, info.st_ino);
  EXPECT_EQ(file->device, info.st_dev);
  EXPECT_TRUE(absl::IsNotFound(StatSocketFile(Path("none")).status()));
  WriteFile("file", "");
  EXPECT_TRUE(absl::IsFailedPrecondition(StatSocketFile(Path("file")).status()));
}

TEST_F(UnixSocketFileTest, OnlyTheSameSocketIsRemoved) {
  Leave("s");
  const SocketFile ours = *StatSocketFile(Path("s"));
  // Kept under another name, so that its inode is not given to the next one.
  ASSERT_EQ(rename(Path("s").c_str(), Path("moved").c_str()), 0);
  const UniqueFd theirs = Bind("s", Listens::kYes);
  EXPECT_TRUE(RemoveSocketFile(Path("s"), ours).ok());
  EXPECT_THAT(Names(), ElementsAre("moved", "s"));
  EXPECT_TRUE(RemoveSocketFile(Path("moved"), ours).ok());
  EXPECT_THAT(Names(), ElementsAre("s"));
  EXPECT_TRUE(RemoveSocketFile(Path("moved"), ours).ok());
  WriteFile("moved", "precious");
  EXPECT_TRUE(RemoveSocketFile(Path("moved"), ours).ok());
  EXPECT_EQ(ReadFile("moved"), "precious");
}

}  // namespace
}  // namespace cohost::supervisor
