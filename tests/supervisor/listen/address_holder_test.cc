// SPDX-License-Identifier: Apache-2.0
#include "supervisor/listen/address_holder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/system/unique_fd.h"
#include "supervisor/config/address_text.h"
#include "supervisor/listen/listener.h"
#include "tests/supervisor/listen/socket_folder.h"

namespace cohost::supervisor {
namespace {

constexpr char kUnknown[] = "another process";

using AddressHolderTest = SocketFolderTest;

Address Tcp(const std::string& text) { return *ParseAddress(text); }

Listener Open(const Address& address) { return OpenListener(address).value(); }

// A child that has what this process has open now, until its end; under another name.
class Child {
 public:
  explicit Child(const char* name) {
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    const UniqueFd reader(ready[0]);
    const UniqueFd writer(ready[1]);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      prctl(PR_SET_NAME, name);
      if (write(writer.get(), "+", 1) == 1) pause();
      _exit(1);
    }
    char byte = 0;
    EXPECT_EQ(read(reader.get(), &byte, 1), 1);
  }
  ~Child() {
    EXPECT_EQ(kill(pid_, SIGKILL), 0);
    EXPECT_EQ(waitpid(pid_, nullptr, 0), pid_);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

TEST_F(AddressHolderTest, NamesThisProcess) {
  for (const char* text : {"http://127.0.0.1:0", "http://0.0.0.0:0", "http://[::1]:0"}) {
    const Listener listener = Open(Tcp(text));
    EXPECT_EQ(DescribeHolder(listener.address), "this process") << text;
  }
  const Listener listener = Open(Unix("s"));
  EXPECT_EQ(DescribeHolder(listener.address), "this process");
}

TEST_F(AddressHolderTest, FindsWhoListensOnTheWildcard) {
  const Listener v4 = Open(Tcp("http://0.0.0.0:0"));
  EXPECT_EQ(DescribeHolder(Tcp(absl::StrCat("http://127.0.0.1:", v4.address.port))),
            "this process");
  const Listener v6 = Open(Tcp("http://[::]:0"));
  EXPECT_EQ(DescribeHolder(Tcp(absl::StrCat("http://[::1]:", v6.address.port))), "this process");
}

TEST_F(AddressHolderTest, AWildcardIsHeldByWhoeverHasThePort) {
  const Listener v4 = Open(Tcp("http://127.0.0.1:0"));
  EXPECT_EQ(DescribeHolder(Tcp(absl::StrCat("http://0.0.0.0:", v4.address.port))), "this process");
  // Of another address only, the port says nothing.
  EXPECT_EQ(DescribeHolder(Tcp(absl::StrCat("http://127.0.0.2:", v4.address.port))), kUnknown);
}

TEST_F(AddressHolderTest, ABoundSocketThatDoesNotListenHoldsNothing) {
  const UniqueFd bound(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(bound.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(getsockname(bound.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  EXPECT_EQ(DescribeHolder(Tcp(absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port)))),
            kUnknown);
}

TEST_F(AddressHolderTest, NamesAnotherProcessAfterWeHaveClosed) {
  for (const Address& wanted : {Tcp("http://127.0.0.1:0"), Unix("s")}) {
    Listener listener = Open(wanted);
    const Child child("other-server");
    listener.fd.Reset();
    EXPECT_EQ(DescribeHolder(listener.address),
              absl::StrCat("process ", child.pid(), " (other-server)"));
  }
}

TEST_F(AddressHolderTest, NobodyIsAnotherProcess) {
  Address gone;
  {
    const Listener listener = Open(Tcp("http://127.0.0.1:0"));
    gone = listener.address;
  }
  EXPECT_EQ(DescribeHolder(gone), kUnknown);
  EXPECT_EQ(DescribeHolder(Unix("none")), kUnknown);
  // A stale file.
  { const Listener listener = Open(Unix("s")); }
  EXPECT_EQ(DescribeHolder(Unix("s")), kUnknown);
}

TEST_F(AddressHolderTest, WhatIsNoAddressIsHeldByNobodyKnown) {
  Address named;
  named.host = "localhost";
  named.port = 80;
  EXPECT_EQ(DescribeHolder(named), kUnknown);
  EXPECT_EQ(DescribeHolder(Address{}), kUnknown);
}

TEST_F(AddressHolderTest, AProcessIsDescribedOnOneLine) {
  const Child child("bad\n\x1b[31mname");
  EXPECT_EQ(DescribeProcess(child.pid()),
            absl::StrCat("process ", child.pid(), " (bad??[31mname)"));
  EXPECT_EQ(DescribeProcess(getpid()), "this process");
  EXPECT_EQ(DescribeProcess(0), kUnknown);
  EXPECT_EQ(DescribeProcess(-1), kUnknown);
}

TEST_F(AddressHolderTest, AProcessThatIsGoneHasNoName) {
  pid_t gone = 0;
  {
    const Child child("short-lived");
    gone = child.pid();
  }
  EXPECT_EQ(DescribeProcess(gone), absl::StrCat("process ", gone));
}

}  // namespace
}  // namespace cohost::supervisor
