// SPDX-License-Identifier: Apache-2.0
//
// Reading a .nettrace stream, version 4 (microsoft/perfview, src/TraceEvent/EventPipe/
// NetTraceFormat_v5.md), as far as counters need it. Little endian.
//
//   "Nettrace", uint32 20, "!FastSerialization.1", then objects until a byte 1:
//   object   5 5 1, uint32 version, uint32 oldest reader, uint32 n, n bytes of the type's name, 6,
//            payload, 6
//   Trace    48 bytes of payload
//   others   uint32 size, zeros up to a multiple of 4 from the stream's begin, size bytes
//
// Of the blocks, MetadataBlock and EventBlock are read: uint16 header size, uint16 flags (bit 0:
// event headers are compressed, which the runtime always does and we insist on), rest of the
// header, then events. An event is a byte of flags and the fields that they name, a 7-bit encoded
// number each, differences to the event before for some; then the payload. An event of a
// MetadataBlock describes a kind of events: provider, name and fields by name and type.
//
// The bytes come from a worker: any length may be a lie, and what does not fit is INVALID_ARGUMENT.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cohost::supervisor {

// System.TypeCode, as the stream says it; those that we take a value of.
inline constexpr uint32_t kObjectType = 1;
inline constexpr uint32_t kInt32Type = 9;
inline constexpr uint32_t kSingleType = 13;
inline constexpr uint32_t kDoubleType = 14;
inline constexpr uint32_t kStringType = 18;

struct EventField {
  std::string name;
  uint32_t type = 0;
  std::vector<EventField> fields;  // of kObjectType
};

struct EventKind {
  std::string provider;
  std::string name;
  std::vector<EventField> fields;
};

// Takes the stream in parts of any size and tells its events. One thread at a time. After an error
// nothing more is read.
class NettraceReader {
 public:
  // A block beyond that is a lie; the runtime's have 100 KiB.
  static constexpr uint32_t kLargestBlock = 16 << 20;
  static constexpr size_t kMostKinds = 100'000;

  using Event = std::function<void(const EventKind& kind, std::string_view payload)>;
  explicit NettraceReader(Event event) : event_(std::move(event)) {}

  absl::Status Feed(std::string_view bytes);
  // Whether the stream's last byte was read.
  bool ended() const { return ended_; }

 private:
  // The next object, or false when it is not there whole yet.
  absl::StatusOr<bool> ReadObject();
  absl::Status ReadBlock(std::string_view block, bool metadata);
  absl::Status ReadKind(std::string_view payload);

  Event event_;
  std::string buffer_;
  uint64_t offset_ = 0;  // of the buffer in the stream
  bool begun_ = false;
  bool ended_ = false;
  absl::Status status_;
  std::map<uint32_t, EventKind> kinds_;
};

}  // namespace cohost::supervisor
