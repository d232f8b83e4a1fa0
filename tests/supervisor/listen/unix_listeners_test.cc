// SPDX-License-Identifier: Apache-2.0
#include "supervisor/listen/unix_listeners.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>

#include "base/system/unique_fd.h"
#include "tests/supervisor/listen/socket_folder.h"

namespace cohost::supervisor {
namespace {

class UnixListenersTest : public SocketFolderTest {
 protected:
  UniqueFd Bind(const std::string& name, bool listens) const {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = Unix(name).path;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_TRUE(!listens || listen(fd.get(), 8) == 0);
    return fd;
  }
  absl::StatusOr<bool> Ask(const std::string& name) const {
    const std::string path = Unix(name).path;
    struct stat file {};
    EXPECT_EQ(stat(path.c_str(), &file), 0);
    return IsListenedOn(file.st_dev, file.st_ino, path);
  }
};

TEST_F(UnixListenersTest, KnowsWhoListensFromWhoHasGone) {
  UniqueFd live = Bind("live", /*listens=*/true);
  const UniqueFd bound = Bind("bound", /*listens=*/false);
  const auto listens = Ask("live");
  ASSERT_TRUE(listens.ok()) << listens.status();
  EXPECT_TRUE(*listens);
  EXPECT_FALSE(*Ask("bound"));
  live.Reset();
  EXPECT_FALSE(*Ask("live"));
}

TEST_F(UnixListenersTest, GoesByTheFileAndNotByItsName) {
  const UniqueFd live = Bind("before", /*listens=*/true);
  ASSERT_EQ(rename(Unix("before").path.c_str(), Unix("after").path.c_str()), 0);
  const UniqueFd other = Bind("before", /*listens=*/false);
  EXPECT_TRUE(*Ask("after"));
  EXPECT_FALSE(*Ask("before"));
}

TEST_F(UnixListenersTest, FindsOneAmongMany) {
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < 500; ++i) {
    sockets.push_back(Bind("s" + std::to_string(i), /*listens=*/i != 499));
  }
  EXPECT_TRUE(*Ask("s498"));
  EXPECT_FALSE(*Ask("s499"));
}

}  // namespace
}  // namespace cohost::supervisor
