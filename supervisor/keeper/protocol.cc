// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/protocol.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/format/wire.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/seqpacket.h"

namespace cohost::supervisor {
namespace {

constexpr size_t kMaxErrorText = 4096;
constexpr size_t kMaxRemarks = 32;
constexpr size_t kMaxGroups = 256;
// Of one argument or variable; the message's own limit bounds their sum.
constexpr size_t kMaxString = kMaxMessageSize;

void WriteStrings(WireWriter& body, const std::vector<std::string>& strings) {
  body.U32(static_cast<uint32_t>(strings.size()));
  for (const std::string& text : strings) body.String(text);
}

std::vector<std::string> ReadStrings(WireReader& body, size_t limit) {
  std::vector<std::string> strings;
  const uint32_t count = body.Count(limit, sizeof(uint32_t));
  for (uint32_t i = 0; i < count && !body.failed(); ++i) {
    const std::string_view text = body.String(kMaxString);
    // They become C strings for exec, where a NUL would cut them silently.
    body.Require(text.find('\0') == std::string_view::npos);
    strings.emplace_back(text);
  }
  return strings;
}

void WriteNumbers(WireWriter& body, const std::vector<uint32_t>& numbers) {
  body.U32(static_cast<uint32_t>(numbers.size()));
  for (const uint32_t number : numbers) body.U32(number);
}

std::vector<uint32_t> ReadNumbers(WireReader& body, size_t limit) {
  std::vector<uint32_t> numbers;
  const uint32_t count = body.Count(limit, sizeof(uint32_t));
  for (uint32_t i = 0; i < count; ++i) numbers.push_back(body.U32());
  return numbers;
}

std::string ReadName(WireReader& body, size_t limit) {
  const std::string_view name = body.String(limit);
  body.Require(!name.empty() && name.find('\0') == std::string_view::npos);
  return std::string(name);
}

void WriteSpawn(WireWriter& body, const SpawnRequest& spawn) {
  body.String(spawn.name);
  body.String(spawn.program);
  WriteStrings(body, spawn.arguments);
  WriteStrings(body, spawn.environment);
  WriteNumbers(body, spawn.numbers);
  body.U32(spawn.flags);
  body.U32(spawn.kind);
  body.U32(spawn.uid);
  body.U32(spawn.gid);
  WriteNumbers(body, spawn.groups);
  body.U64(spawn.open_files);
  body.U64(spawn.core_size);
  body.U32(static_cast<uint32_t>(spawn.oom_score_adjust));
  body.U64(spawn.memory);
  body.U64(spawn.cpu_millionths);
  body.U32(spawn.tasks);
}

void ReadSpawn(WireReader& body, size_t descriptor_count, SpawnRequest& spawn) {
  spawn.name = ReadName(body, kMaxProcessName);
  spawn.program = ReadName(body, kMaxString);
  spawn.arguments = ReadStrings(body, kMaxMessageSize);
  spawn.environment = ReadStrings(body, kMaxMessageSize);
  spawn.numbers = ReadNumbers(body, kMaxDescriptorsPerMessage);
  spawn.flags = body.U32();
  spawn.kind = body.U32();
  spawn.uid = body.U32();
  spawn.gid = body.U32();
  spawn.groups = ReadNumbers(body, kMaxGroups);
  spawn.open_files = body.U64();
  spawn.core_size = body.U64();
  spawn.oom_score_adjust = static_cast<int32_t>(body.U32());
  spawn.memory = body.U64();
  spawn.cpu_millionths = body.U64();
  spawn.tasks = body.U32();

  body.Require(spawn.program.starts_with('/'));
  body.Require(!spawn.arguments.empty());
  body.Require(spawn.kind == 0);
  body.Require((spawn.flags & ~uint32_t{kSpawnUseCgroup | kSpawnSetUid | kSpawnSetGid}) == 0);
  body.Require(spawn.oom_score_adjust >= -1000 && spawn.oom_score_adjust <= 1000);
  body.Require(spawn.numbers.size() == descriptor_count);
  std::vector<uint32_t> sorted = spawn.numbers;
  std::sort(sorted.begin(), sorted.end());
  body.Require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
  body.Require(sorted.empty() || sorted.back() <= kMaxChildDescriptor);
}

void WriteExit(WireWriter& body, const ExitNotice& exit) {
  body.U64(exit.record);
  body.String(exit.name);
  body.U32(exit.pid);
  body.U32(static_cast<uint32_t>(exit.how));
  body.U32(exit.value);
  body.U32(exit.out_of_memory ? 1 : 0);
  body.U64(exit.user_ns);
  body.U64(exit.system_ns);
}

void ReadExit(WireReader& body, ExitNotice& exit) {
  exit.record = body.U64();
  exit.name = ReadName(body, kMaxProcessName);
  exit.pid = body.U32();
  const uint32_t how = body.U32();
  body.Require(how <= static_cast<uint32_t>(ExitHow::kUnknown));
  exit.how = static_cast<ExitHow>(how);
  exit.value = body.U32();
  const uint32_t out_of_memory = body.U32();
  body.Require(out_of_memory <= 1);
  exit.out_of_memory = out_of_memory == 1;
  exit.user_ns = body.U64();
  exit.system_ns = body.U64();
}

void WriteBody(WireWriter& body, const KeeperMessage& message) {
  switch (message.type) {
    case KeeperType::kSpawn:
      return WriteSpawn(body, message.spawn);
    case KeeperType::kExited:
      return WriteExit(body, message.exit);
    case KeeperType::kHold:
    case KeeperType::kHeldEntry:
      body.String(message.name);
      return body.String(message.text);
    case KeeperType::kRelease:
    case KeeperType::kEnd:
      return body.String(message.name);
    case KeeperType::kAcknowledge:
      return body.U64(message.big_number);
    case KeeperType::kReady:
      return body.String(message.text);
    case KeeperType::kShutdownComplete:
      return body.U32(message.number);
    case KeeperType::kError:
      body.U32(message.number);
      return body.String(std::string_view(message.text).substr(0, kMaxErrorText));
    case KeeperType::kSpawned:
      body.U32(message.number);
      return WriteStrings(body, message.remarks);
    case KeeperType::kListBegin:
      body.U32(message.number);
      return body.U64(message.big_number);
    case KeeperType::kRunning:
      body.String(message.name);
      return body.U32(message.number);
    case KeeperType::kList:
    case KeeperType::kListEnd:
    case KeeperType::kDone:
    case KeeperType::kShutdown:
    case KeeperType::kReload:
      return;
  }
}

bool DescriptorsFit(KeeperType type, uint32_t count) {
  if (type == KeeperType::kSpawned || type == KeeperType::kRunning) return count == 1;
  const bool any =
      type == KeeperType::kSpawn || type == KeeperType::kHold || type == KeeperType::kHeldEntry;
  return any || count == 0;
}

// False for a type that this version does not know.
bool ReadBody(WireReader& body, const KeeperHeader& header, KeeperMessage& message) {
  body.Require(DescriptorsFit(message.type, header.descriptor_count));
  switch (message.type) {
    case KeeperType::kSpawn:
      ReadSpawn(body, header.descriptor_count, message.spawn);
      return true;
    case KeeperType::kExited:
      ReadExit(body, message.exit);
      return true;
    case KeeperType::kHold:
    case KeeperType::kHeldEntry:
      message.name = ReadName(body, kMaxEntryName);
      message.text = body.String(kMaxBlob);
      return true;
    case KeeperType::kRelease:
      message.name = ReadName(body, kMaxEntryName);
      return true;
    case KeeperType::kEnd:
      message.name = ReadName(body, kMaxProcessName);
      return true;
    case KeeperType::kAcknowledge:
      message.big_number = body.U64();
      return true;
    case KeeperType::kReady:
      message.text = body.String(kMaxReadyLine);
      return true;
    case KeeperType::kShutdownComplete:
      message.number = body.U32();
      body.Require(message.number <= 255);
      return true;
    case KeeperType::kError:
      message.number = body.U32();
      body.Require(message.number >= 1 && message.number <= 16);
      message.text = body.String(kMaxErrorText);
      return true;
    case KeeperType::kSpawned:
      message.number = body.U32();
      message.remarks = ReadStrings(body, kMaxRemarks);
      return true;
    case KeeperType::kListBegin:
      message.number = body.U32();
      message.big_number = body.U64();
      return true;
    case KeeperType::kRunning:
      message.name = ReadName(body, kMaxProcessName);
      message.number = body.U32();
      return true;
    case KeeperType::kList:
    case KeeperType::kListEnd:
    case KeeperType::kDone:
    case KeeperType::kShutdown:
    case KeeperType::kReload:
      return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::string> EncodeKeeperMessage(const KeeperMessage& message,
                                                size_t descriptor_count) {
  WireWriter body;
  WriteBody(body, message);
  KeeperHeader header;
  header.type = static_cast<uint16_t>(message.type);
  header.sequence = message.sequence;
  header.body_size = static_cast<uint32_t>(body.bytes().size());
  header.descriptor_count = static_cast<uint32_t>(descriptor_count);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += body.bytes();
  if (bytes.size() > kMaxMessageSize || descriptor_count > kMaxDescriptorsPerMessage) {
    return absl::InvalidArgumentError("keeper: message or its descriptors beyond the limit");
  }
  return bytes;
}

absl::StatusOr<KeeperHeader> DecodeKeeperHeader(std::string_view bytes, size_t descriptor_count) {
  KeeperHeader header;
  if (bytes.size() < sizeof(header)) return absl::InvalidArgumentError("keeper: message cut");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kKeeperMagic || header.version == 0) {
    return absl::InvalidArgumentError("keeper: not a message of this protocol");
  }
  if (header.body_size != bytes.size() - sizeof(header)) {
    return absl::InvalidArgumentError("keeper: body size does not match the message");
  }
  if (header.descriptor_count != descriptor_count) {
    return absl::InvalidArgumentError("keeper: descriptors do not match the header");
  }
  return header;
}

absl::StatusOr<KeeperMessage> DecodeKeeperMessage(const KeeperHeader& header,
                                                  std::string_view bytes) {
  KeeperMessage message;
  message.type = static_cast<KeeperType>(header.type);
  message.sequence = header.sequence;
  WireReader body(bytes.substr(sizeof(header)));
  if (!ReadBody(body, header, message)) {
    return absl::UnimplementedError(absl::StrCat("keeper: unknown message type ", header.type));
  }
  if (!body.Complete()) {
    return absl::InvalidArgumentError(absl::StrCat("keeper: malformed message type ", header.type));
  }
  return message;
}

absl::Status ErrorOf(const KeeperMessage& message) {
  return absl::Status(static_cast<absl::StatusCode>(message.number), message.text);
}

KeeperMessage ErrorMessage(uint64_t sequence, const absl::Status& status) {
  KeeperMessage message;
  message.type = KeeperType::kError;
  message.sequence = sequence;
  message.number = static_cast<uint32_t>(status.code());
  message.text = std::string(AsStd(status.message()));
  return message;
}

}  // namespace cohost::supervisor
