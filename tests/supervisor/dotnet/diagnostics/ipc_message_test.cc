// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/diagnostics/ipc_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "base/system/unique_fd.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;

// Bytes with their NULs.
template <size_t size>
std::string Raw(const char (&bytes)[size]) {
  return std::string(bytes, size - 1);
}

// What ReceiveMessage makes of bytes, after which the connection is closed.
absl::StatusOr<IpcMessage> Receive(const std::string& bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  EXPECT_EQ(::send(writer.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  writer.Reset();
  absl::StatusOr<Interrupt> interrupt = Interrupt::Create();
  return ReceiveMessage(reader.get(), SystemClock().Steady() + absl::Seconds(20), *interrupt);
}

TEST(IpcMessage, ACommandIsMadeAsTheProtocolSays) {
  const auto bytes = Encode(StopCommand(0x0102030405060708));
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, Raw("DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x08\x07\x06\x05\x04\x03\x02\x01"));
}

TEST(IpcMessage, TextsAreCountedUnitsWithAZero) {
  EXPECT_EQ(DumpCommand("/a", DumpKind::kHeap).payload,
            Raw("\x03\0\0\0/\0a\0\0\0\x02\0\0\0\0\0\0\0"));
}

TEST(IpcMessage, ATraceNamesItsProviders) {
  TraceOptions options;
  options.buffer_mib = 16;
  options.rundown = false;
  options.providers = {{"P", 0x3f, 4, ""}};
  EXPECT_EQ(TraceCommand(options).payload,
            Raw("\x10\0\0\0\x01\0\0\0\0\x01\0\0\0\x3f\0\0\0\0\0\0\0\x04\0\0\0"
                "\x02\0\0\0P\0\0\0\0\0\0\0"));
}

TEST(IpcMessage, ACommandThatIsTooLongIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(Encode({kDumpSet, 1, std::string(70000, 'x')}).status()));
}

TEST(IpcMessage, AnAnswerIsReadWhole) {
  const auto answer = Receive(Raw("DOTNET_IPC_V1\0\x18\0\xff\0\0\0abcd") + "stream");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->set, kServerSet);
  EXPECT_EQ(answer->payload, "abcd");
}

TEST(IpcMessage, HostileAnswersAreRefused) {
  EXPECT_TRUE(absl::IsInternal(Receive(Raw("DOTNET_IPC_V2\0\x14\0\xff\0\0\0")).status()));
  EXPECT_TRUE(absl::IsInternal(Receive(Raw("DOTNET_IPC_V1\0\x13\0\xff\0\0\0")).status()));
  EXPECT_TRUE(absl::IsOutOfRange(Receive(Raw("DOTNET_IPC_V1\0\xff\xff\xff\0\0\0x")).status()));
  EXPECT_TRUE(absl::IsOutOfRange(Receive("DOTNET").status()));
  EXPECT_TRUE(absl::IsInternal(PayloadOf({kDumpSet, 0, ""}).status()));
  EXPECT_TRUE(absl::IsInternal(PayloadOf({kServerSet, kServerError, "x"}).status()));
  EXPECT_TRUE(absl::IsInternal(SessionOf("1234567").status()));
}

TEST(IpcMessage, AFailureIsToldInOneLine) {
  const absl::Status failed =
      PayloadOf({kServerSet, kServerError,
                 Raw("\x05\x40\0\x80\x12\0\0\0[\0c\0r\0e\0a\0t\0e\0d\0u\0m\0p\0]\0 "
                     "\0a\0\n\0b\0\n\0\0\0")})
          .status();
  EXPECT_TRUE(absl::IsAborted(failed));
  EXPECT_EQ(failed.message(), "the .NET runtime failed: a; b");
}

TEST(IpcMessage, AFailureWithoutATextHasItsCode) {
  const absl::Status failed =
      PayloadOf({kServerSet, kServerError, Raw("\x85\x13\x13\x80")}).status();
  EXPECT_THAT(std::string(failed.message()), HasSubstr("0x80131385"));
  // A length that the bytes do not have.
  EXPECT_TRUE(absl::IsAborted(
      PayloadOf({kServerSet, kServerError, Raw("\x85\x13\x13\x80\xff\xff\xff\xff")}).status()));
}

}  // namespace
}  // namespace cohost::supervisor
