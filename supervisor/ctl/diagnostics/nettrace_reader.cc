// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/diagnostics/nettrace_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "supervisor/ctl/diagnostics/byte_reader.h"

namespace cohost::supervisor {
namespace {

constexpr std::string_view kBegin("Nettrace\x14\0\0\0!FastSerialization.1", 32);
constexpr std::string_view kObjectBegin("\x05\x05\x01", 3);
constexpr char kObjectEnd = 6;
constexpr char kStreamEnd = 1;
constexpr size_t kTraceSize = 48;
constexpr size_t kLongestTypeName = 64;
constexpr uint16_t kCompressed = 1;
// Fields in fields of an event that the runtime makes are two deep.
constexpr int kDeepest = 8;

// Bits of an event's first byte.
constexpr uint8_t kHasKind = 1;
constexpr uint8_t kHasThread = 2;
constexpr uint8_t kHasOwner = 4;
constexpr uint8_t kHasStack = 8;
constexpr uint8_t kHasActivity = 16;
constexpr uint8_t kHasRelated = 32;
constexpr uint8_t kHasSize = 128;
constexpr size_t kActivitySize = 16;
// The highest bit of an event's kind says that it is sorted.
constexpr uint32_t kKindMask = 0x7fffffff;

absl::Status Wrong(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the worker's events are no .nettrace stream of version 4: ",
                   absl::string_view(what.data(), what.size())));
}

std::vector<EventField> ReadFields(ByteReader& reader, int depth) {
  std::vector<EventField> fields;
  const auto count = reader.Take<uint32_t>();
  for (uint32_t i = 0; i < count && !reader.failed(); ++i) {
    EventField field;
    field.type = reader.Take<uint32_t>();
    // Deeper ones would be read as something else: the reader has nothing left then.
    if (field.type == kObjectType && depth == kDeepest) (void)reader.Bytes(UINT64_MAX);
    if (field.type == kObjectType) field.fields = ReadFields(reader, depth + 1);
    field.name = reader.Text();
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace

absl::Status NettraceReader::Feed(std::string_view bytes) {
  if (!status_.ok()) return status_;
  buffer_ += bytes;
  absl::StatusOr<bool> read = true;
  while (read.ok() && *read && !ended_) read = ReadObject();
  status_ = read.status();
  return status_;
}

absl::StatusOr<bool> NettraceReader::ReadObject() {
  ByteReader reader(buffer_);
  if (!begun_) {
    const size_t size = std::min(buffer_.size(), kBegin.size());
    if (buffer_.compare(0, size, kBegin.substr(0, size)) != 0) return Wrong("its begin");
    if (size < kBegin.size()) return false;
    begun_ = true;
    (void)reader.Bytes(kBegin.size());
  } else if (!buffer_.empty() && buffer_.front() == kStreamEnd) {
    ended_ = true;
    (void)reader.Bytes(1);
  } else {
    const std::string_view begin = reader.Bytes(kObjectBegin.size());
    if (!reader.failed() && begin != kObjectBegin) return Wrong("the begin of an object");
    (void)reader.Take<uint64_t>();  // versions
    const auto name_size = reader.Take<uint32_t>();
    if (name_size > kLongestTypeName) return Wrong("a type's name");
    const std::string_view name = reader.Bytes(name_size);
    const auto name_end = reader.Take<char>();
    if (!reader.failed() && name_end != kObjectEnd) return Wrong("the end of a type");
    uint64_t size = kTraceSize;
    if (name != "Trace") {
      size = reader.Take<uint32_t>();
      if (size > kLargestBlock) return Wrong(absl::StrCat("a block of ", size, " bytes"));
      const uint64_t at = offset_ + buffer_.size() - reader.left();
      (void)reader.Bytes((4 - at % 4) % 4);
    }
    const std::string_view payload = reader.Bytes(size);
    const auto end = reader.Take<char>();
    if (reader.failed()) return false;
    if (end != kObjectEnd) return Wrong("the end of an object");
    const bool metadata = name == "MetadataBlock";
    if (metadata || name == "EventBlock") COHOST_RETURN_IF_ERROR(ReadBlock(payload, metadata));
  }
  offset_ += buffer_.size() - reader.left();
  buffer_.erase(0, buffer_.size() - reader.left());
  return true;
}

absl::Status NettraceReader::ReadBlock(std::string_view block, bool metadata) {
  ByteReader header(block);
  const auto header_size = header.Take<uint16_t>();
  const auto flags = header.Take<uint16_t>();
  if (header.failed() || header_size > block.size()) return Wrong("a block's header");
  if ((flags & kCompressed) == 0) return Wrong("its headers are not compressed");
  ByteReader reader(block.substr(header_size));
  uint32_t kind = 0;
  uint64_t size = 0;
  while (reader.left() > 0) {
    const auto fields = reader.Take<uint8_t>();
    if ((fields & kHasKind) != 0) kind = static_cast<uint32_t>(reader.Varint()) & kKindMask;
    if ((fields & kHasThread) != 0) {
      for (int i = 0; i < 3; ++i) (void)reader.Varint();  // sequence, thread, processor
    }
    if ((fields & kHasOwner) != 0) (void)reader.Varint();
    if ((fields & kHasStack) != 0) (void)reader.Varint();
    (void)reader.Varint();  // time
    if ((fields & kHasActivity) != 0) (void)reader.Bytes(kActivitySize);
    if ((fields & kHasRelated) != 0) (void)reader.Bytes(kActivitySize);
    if ((fields & kHasSize) != 0) size = reader.Varint();
    const std::string_view payload = reader.Bytes(size);
    if (reader.failed()) return Wrong("an event is longer than its block");
    if (metadata) {
      COHOST_RETURN_IF_ERROR(ReadKind(payload));
    } else if (const auto known = kinds_.find(kind); known != kinds_.end()) {
      event_(known->second, payload);
    } else {
      return Wrong(absl::StrCat("an event of the unknown kind ", kind));
    }
  }
  return absl::OkStatus();
}

absl::Status NettraceReader::ReadKind(std::string_view payload) {
  ByteReader reader(payload);
  EventKind kind;
  const auto id = reader.Take<uint32_t>();
  kind.provider = reader.Text();
  (void)reader.Take<uint32_t>();  // number of the event
  kind.name = reader.Text();
  (void)reader.Bytes(16);  // keywords, version, level
  kind.fields = ReadFields(reader, 0);
  if (reader.failed()) return Wrong("the description of an event");
  if (kinds_.size() >= kMostKinds) return Wrong("more kinds of events than any runtime has");
  kinds_[id] = std::move(kind);
  return absl::OkStatus();
}

}  // namespace cohost::supervisor
