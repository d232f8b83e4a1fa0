// SPDX-License-Identifier: Apache-2.0
#include "supervisor/listen/listener.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/strings/str_cat.h"
#include "supervisor/config/address_text.h"
#include "supervisor/listen/socket_address.h"
#include "tests/supervisor/listen/socket_folder.h"

namespace cohost::supervisor {
namespace {

using ListenerTest = SocketFolderTest;

Address Tcp(const std::string& text) { return *ParseAddress(text); }

int Option(int fd, int level, int option) {
  int value = -1;
  socklen_t length = sizeof(value);
  EXPECT_EQ(getsockopt(fd, level, option, &value, &length), 0);
  return value;
}

bool Connects(const Listener& listener) {
  const absl::StatusOr<SocketAddress> address = listener.address.kind == Address::Kind::kTcp
                                                    ? TcpSocketAddress(listener.address)
                                                    : UnixSocketAddress(listener.address.path);
  const UniqueFd fd(socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return connect(fd.get(), address->get(), address->length) == 0;
}

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(lstat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST_F(ListenerTest, PortZeroBecomesARealPort) {
  for (const char* text : {"http://127.0.0.1:0", "http://[::1]:0"}) {
    const absl::StatusOr<Listener> listener = OpenListener(Tcp(text));
    ASSERT_TRUE(listener.ok()) << listener.status();
    EXPECT_GT(listener->address.port, 0);
    EXPECT_NE(listener->address.text.find(absl::StrCat(listener->address.port)), std::string::npos);
    EXPECT_TRUE(Connects(*listener));
  }
}

TEST_F(ListenerTest, SocketsHaveTheFlagsThatSharingNeeds) {
  const absl::StatusOr<Listener> listener = OpenListener(Tcp("http://[::1]:0"));
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int fd = listener->fd.get();
  EXPECT_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  EXPECT_EQ(Option(fd, SOL_SOCKET, SO_REUSEADDR), 1);
  EXPECT_EQ(Option(fd, SOL_SOCKET, SO_REUSEPORT), 0);
  EXPECT_EQ(Option(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
}

TEST_F(ListenerTest, TheFamiliesShareAPort) {
  // A port that is free for one family may be another process's in the other.
  absl::Status last;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const absl::StatusOr<Listener> v6 = OpenListener(Tcp("http://[::]:0"));
    ASSERT_TRUE(v6.ok()) << v6.status();
    last = OpenListener(Tcp(absl::StrCat("http://0.0.0.0:", v6->address.port))).status();
    if (last.ok()) return;
  }
  FAIL() << last;
}

TEST_F(ListenerTest, ATakenPortNamesItsHolder) {
  const absl::StatusOr<Listener> first = OpenListener(Tcp("http://127.0.0.1:0"));
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::StatusOr<Listener> second = OpenListener(first->address);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(second.status().message(),
            absl::StrCat("'", first->address.text, "' is in use by this process"));
  const absl::StatusOr<Listener> wildcard =
      OpenListener(Tcp(absl::StrCat("http://0.0.0.0:", first->address.port)));
  EXPECT_EQ(wildcard.status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(ListenerTest, UnixSocketsGetTheirModeAndOwner) {
  for (const mode_t mode : {0600u, 0660u, 0777u}) {
    Address address = Unix(absl::StrCat("m", mode));
    address.mode = mode;
    address.owner = "root";
    const absl::StatusOr<Listener> listener = OpenListener(address);
    if (geteuid() != 0) {
      EXPECT_EQ(listener.status().code(), absl::StatusCode::kPermissionDenied);
      continue;
    }
    ASSERT_TRUE(listener.ok()) << listener.status();
    EXPECT_EQ(ModeOf(address.path), mode);
    EXPECT_TRUE(Connects(*listener));
  }
}

TEST_F(ListenerTest, AnUnknownOwnerLeavesNothingBehind) {
  Address address = Unix("s");
  address.owner = "no-such-user-x";
  EXPECT_EQ(OpenListener(address).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Names().empty());
}

TEST_F(ListenerTest, SOK_03_AStaleSocketIsReplaced) {
  const Address address = Unix("s");
  ino_t stale = 0;
  {
    const absl::StatusOr<Listener> listener = OpenListener(address);
    ASSERT_TRUE(listener.ok()) << listener.status();
    stale = listener->file.inode;
  }  // Closed, and the file stays: as after kill -9.
  ASSERT_EQ(Names(), std::vector<std::string>{"s"});
  const absl::StatusOr<Listener> listener = OpenListener(address);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_TRUE(Connects(*listener));
  EXPECT_EQ(Names(), std::vector<std::string>{"s"});
  EXPECT_NE(listener->file.inode, stale);
}

TEST_F(ListenerTest, SOK_03_ALiveSocketNamesWhoHoldsIt) {
  const Address address = Unix("s");
  const absl::StatusOr<Listener> first = OpenListener(address);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::StatusOr<Listener> second = OpenListener(address);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(second.status().message(),
            absl::StrCat("'", address.path, "' is in use by this process"));
  EXPECT_TRUE(Connects(*first));
}

TEST_F(ListenerTest, SOK_03_ALiveSocketWithAFullQueueIsLive) {
  Address address = Unix("s");
  address.backlog = 1;
  const absl::StatusOr<Listener> first = OpenListener(address);
  ASSERT_TRUE(first.ok()) << first.status();
  std::vector<UniqueFd> waiting;
  const absl::StatusOr<SocketAddress> target = UnixSocketAddress(address.path);
  for (int i = 0; i < 10; ++i) {
    waiting.emplace_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (connect(waiting.back().get(), target->get(), target->length) != 0) break;
  }
  EXPECT_LT(waiting.size(), 10u);
  EXPECT_EQ(OpenListener(address).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(ListenerTest, SOK_03_AnythingElseIsRefusedAndUntouched) {
  WriteFile("file", "precious");
  ASSERT_EQ(mkdir((folder() + "/dir").c_str(), 0700), 0);
  ASSERT_EQ(symlink("nowhere", (folder() + "/link").c_str()), 0);
  ASSERT_EQ(mkfifo((folder() + "/fifo").c_str(), 0600), 0);
  for (const char* name : {"file", "dir", "link", "fifo"}) {
    const absl::StatusOr<Listener> listener = OpenListener(Unix(name));
    EXPECT_EQ(listener.status().code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_NE(listener.status().message().find("left as it is"), absl::string_view::npos) << name;
  }
  EXPECT_EQ(ReadFile("file"), "precious");
  EXPECT_EQ(Names(), (std::vector<std::string>{"dir", "fifo", "file", "link"}));
}

TEST_F(ListenerTest, SOK_03_TheFolderMustExist) {
  EXPECT_EQ(OpenListener(Unix("none/s")).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ListenerTest, SOK_03_LongPathsWorkToTheLastByte) {
  for (const size_t length : {60u, 106u, 107u}) {
    Address address = Unix(std::string(length - folder().size() - 1, 's'));
    ASSERT_EQ(address.path.size(), length);
    for (int round = 0; round < 2; ++round) {  // the second replaces a stale one
      const absl::StatusOr<Listener> listener = OpenListener(address);
      ASSERT_TRUE(listener.ok()) << listener.status();
      EXPECT_TRUE(Connects(*listener));
    }
  }
  for (const size_t length : {108u, 200u}) {
    const absl::StatusOr<Listener> listener =
        OpenListener(Unix(std::string(length - folder().size() - 1, 's')));
    EXPECT_EQ(listener.status().code(), absl::StatusCode::kOutOfRange);
    EXPECT_NE(listener.status().message().find(absl::StrCat("this one has ", length)),
              absl::string_view::npos);
  }
}

// A child that listens on the address until it is killed, as another server would.
class OtherProcess {
 public:
  explicit OtherProcess(const Address& address) {
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const absl::StatusOr<Listener> listener = OpenListener(address);
      const char byte = listener.ok() ? '+' : '-';
      if (write(ready[1], &byte, 1) == 1) pause();
      _exit(1);
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, '+');
    close(ready[0]);
    close(ready[1]);
  }
  ~OtherProcess() { Kill(); }
  void Kill() {
    if (pid_ <= 0) return;
    EXPECT_EQ(kill(pid_, SIGKILL), 0);
    EXPECT_EQ(waitpid(pid_, nullptr, 0), pid_);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

TEST_F(ListenerTest, SOK_03_AnotherProcessIsNamedAndAfterItsDeathReplaced) {
  Address tcp;
  {
    const absl::StatusOr<Listener> free = OpenListener(Tcp("http://127.0.0.1:0"));
    ASSERT_TRUE(free.ok()) << free.status();
    tcp = free->address;
  }
  for (const Address& address : {Unix("s"), tcp}) {
    OtherProcess other(address);
    const absl::Status status = OpenListener(address).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
    EXPECT_NE(
        status.message().find(absl::StrCat("in use by process ", other.pid(), " (listener_test)")),
        absl::string_view::npos)
        << status;
    other.Kill();
    const absl::StatusOr<Listener> listener = OpenListener(address);
    ASSERT_TRUE(listener.ok()) << listener.status();
    EXPECT_TRUE(Connects(*listener));
  }
}

TEST_F(ListenerTest, RemovingTheFileSparesASuccessor) {
  const Address address = Unix("s");
  absl::StatusOr<Listener> first = OpenListener(address);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(unlink(address.path.c_str()), 0);
  const absl::StatusOr<Listener> second = OpenListener(address);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(RemoveSocketFile(address.path, first->file).ok());
  EXPECT_TRUE(Connects(*second));
  EXPECT_TRUE(RemoveSocketFile(address.path, second->file).ok());
  EXPECT_TRUE(Names().empty());
}

TEST_F(ListenerTest, AdoptingChecksWhatTheDescriptorIs) {
  const absl::StatusOr<Listener> tcp = OpenListener(Tcp("http://127.0.0.1:0"));
  const absl::StatusOr<Listener> unix_listener = OpenListener(Unix("s"));
  ASSERT_TRUE(tcp.ok() && unix_listener.ok());
  const auto adopt = [](int fd, const Address& address) {
    return AdoptListener(UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)), address).status();
  };
  EXPECT_TRUE(adopt(tcp->fd.get(), tcp->address).ok());
  EXPECT_TRUE(adopt(tcp->fd.get(), Tcp("http://127.0.0.1:0")).ok());
  EXPECT_TRUE(adopt(unix_listener->fd.get(), Unix("s")).ok());
  const auto refused = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(adopt(tcp->fd.get(), Tcp("http://127.0.0.1:1")).code(), refused);
  EXPECT_EQ(adopt(tcp->fd.get(), Tcp("http://127.0.0.2:0")).code(), refused);
  EXPECT_EQ(adopt(tcp->fd.get(), Tcp("http://[::1]:0")).code(), refused);
  EXPECT_EQ(adopt(tcp->fd.get(), Unix("s")).code(), refused);
  EXPECT_EQ(adopt(unix_listener->fd.get(), Tcp("http://127.0.0.1:0")).code(), refused);
  const UniqueFd file(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(adopt(file.get(), tcp->address).code(), refused);
  const UniqueFd idle(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(adopt(idle.get(), tcp->address).code(), refused);
  const UniqueFd datagram(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(adopt(datagram.get(), tcp->address).code(), refused);
}

TEST_F(ListenerTest, AReplacedSocketIsAdoptedByItsFile) {
  { ASSERT_TRUE(OpenListener(Unix("s")).ok()); }
  absl::StatusOr<Listener> replaced = OpenListener(Unix("s"));
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  UniqueFd copy(fcntl(replaced->fd.get(), F_DUPFD_CLOEXEC, 0));
  EXPECT_TRUE(AdoptListener(std::move(copy), Unix("s"), replaced->file).ok());
  SocketFile other = replaced->file;
  ++other.inode;
  EXPECT_FALSE(AdoptListener(std::move(replaced->fd), Unix("s"), other).ok());
}

}  // namespace
}  // namespace cohost::supervisor
