// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/diagnostics/ipc_message.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/dotnet/diagnostics/timed_io.h"
#include "supervisor/dotnet/diagnostics/utf16.h"

namespace cohost::supervisor {
namespace {

constexpr std::string_view kMagic("DOTNET_IPC_V1\0", 14);
constexpr size_t kLargestMessage = UINT16_MAX;
constexpr uint32_t kNettraceFormat = 1;

template <typename Value>
void Append(Value value, std::string& bytes) {
  for (size_t i = 0; i < sizeof(Value); ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

void AppendText(std::string_view text, std::string& bytes) {
  if (text.empty()) return Append(uint32_t{0}, bytes);
  const std::string units = Utf16Bytes(text);
  Append(static_cast<uint32_t>(units.size() / 2 + 1), bytes);
  bytes += units;
  bytes.append(2, '\0');
}

template <typename Value>
absl::StatusOr<Value> Take(std::string_view& bytes) {
  if (bytes.size() < sizeof(Value)) {
    return absl::InternalError("the .NET runtime's answer is too short");
  }
  Value value = 0;
  for (size_t i = 0; i < sizeof(Value); ++i) {
    value |= static_cast<Value>(static_cast<Value>(static_cast<uint8_t>(bytes[i])) << (8 * i));
  }
  bytes.remove_prefix(sizeof(Value));
  return value;
}

// createdump says each line with its name; the lines of a failure in one, without that.
std::string OneLine(std::string text) {
  constexpr std::string_view kSpeaker = "[createdump] ";
  for (size_t at = text.find(kSpeaker); at != std::string::npos; at = text.find(kSpeaker, at)) {
    text.erase(at, kSpeaker.size());
  }
  std::string line;
  for (const char c : text) {
    const bool prints = static_cast<uint8_t>(c) >= 0x20 && c != 0x7f;
    if (prints) {
      line.push_back(c);
    } else if (!line.empty() && !line.ends_with("; ")) {
      line += "; ";
    }
  }
  while (line.ends_with("; ")) line.resize(line.size() - 2);
  return line;
}

}  // namespace

absl::StatusOr<std::string> Encode(const IpcMessage& message) {
  const size_t size = kIpcHeaderSize + message.payload.size();
  if (size > kLargestMessage) {
    return absl::InvalidArgumentError(
        absl::StrCat("a command of ", size, " bytes is longer than the .NET runtime takes"));
  }
  std::string bytes(kMagic);
  Append(static_cast<uint16_t>(size), bytes);
  Append(message.set, bytes);
  Append(message.command, bytes);
  Append(uint16_t{0}, bytes);
  return bytes + message.payload;
}

IpcMessage DumpCommand(std::string_view path, DumpKind kind) {
  IpcMessage message{kDumpSet, kGenerateCoreDump3, ""};
  AppendText(path, message.payload);
  Append(static_cast<uint32_t>(kind), message.payload);
  Append(uint32_t{0}, message.payload);
  return message;
}

IpcMessage TraceCommand(const TraceOptions& options) {
  IpcMessage message{kEventPipeSet, kCollectTracing2, ""};
  Append(options.buffer_mib, message.payload);
  Append(kNettraceFormat, message.payload);
  Append(static_cast<uint8_t>(options.rundown ? 1 : 0), message.payload);
  Append(static_cast<uint32_t>(options.providers.size()), message.payload);
  for (const TraceProvider& provider : options.providers) {
    Append(provider.keywords, message.payload);
    Append(provider.level, message.payload);
    AppendText(provider.name, message.payload);
    AppendText(provider.arguments, message.payload);
  }
  return message;
}

IpcMessage StopCommand(uint64_t session) {
  IpcMessage message{kEventPipeSet, kStopTracing, ""};
  Append(session, message.payload);
  return message;
}

absl::StatusOr<IpcMessage> ReceiveMessage(int fd, SteadyTime until, const Interrupt& interrupt) {
  COHOST_ASSIGN_OR_RETURN(const std::string header,
                          ReceiveExactly(fd, kIpcHeaderSize, until, interrupt));
  std::string_view left(header);
  if (!left.starts_with(kMagic)) {
    return absl::InternalError("what answers does not speak the .NET runtime's diagnostics");
  }
  left.remove_prefix(kMagic.size());
  COHOST_ASSIGN_OR_RETURN(const uint16_t size, Take<uint16_t>(left));
  if (size < kIpcHeaderSize) {
    return absl::InternalError(absl::StrCat("the .NET runtime answers with a size of ", size));
  }
  IpcMessage message;
  COHOST_ASSIGN_OR_RETURN(message.set, Take<uint8_t>(left));
  COHOST_ASSIGN_OR_RETURN(message.command, Take<uint8_t>(left));
  COHOST_ASSIGN_OR_RETURN(message.payload,
                          ReceiveExactly(fd, size - kIpcHeaderSize, until, interrupt));
  return message;
}

absl::StatusOr<std::string> PayloadOf(const IpcMessage& answer) {
  if (answer.set != kServerSet || (answer.command != kServerOk && answer.command != kServerError)) {
    return absl::InternalError(absl::StrCat("the .NET runtime answers with the unknown command ",
                                            answer.set, "/", answer.command));
  }
  if (answer.command == kServerOk) return answer.payload;
  std::string_view left(answer.payload);
  COHOST_ASSIGN_OR_RETURN(const uint32_t code, Take<uint32_t>(left));
  std::string text;
  if (const absl::StatusOr<uint32_t> units = Take<uint32_t>(left); units.ok()) {
    text = OneLine(FromUtf16Bytes(left.substr(0, size_t{*units} * 2)));
  }
  return absl::AbortedError(text.empty() ? absl::StrCat("the .NET runtime refuses it with 0x",
                                                        absl::Hex(code, absl::kZeroPad8))
                                         : absl::StrCat("the .NET runtime failed: ", text));
}

absl::StatusOr<uint64_t> SessionOf(std::string_view payload) { return Take<uint64_t>(payload); }

}  // namespace cohost::supervisor
