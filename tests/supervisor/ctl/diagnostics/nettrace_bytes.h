// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "supervisor/ctl/diagnostics/nettrace_reader.h"
#include "supervisor/dotnet/diagnostics/utf16.h"

namespace cohost::supervisor {

template <typename Value>
std::string Raw(Value value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

inline std::string RawText(std::string_view text) {
  return Utf16Bytes(text) + std::string(2, '\0');
}

// Makes a .nettrace stream, as a runtime does.
class NettraceBytes {
 public:
  NettraceBytes() : bytes_("Nettrace" + Raw(uint32_t{20}) + "!FastSerialization.1") {
    bytes_ += Begin("Trace", 4) + std::string(48, 't') + "\x06";
  }

  // An object of any type.
  void Block(const std::string& type, const std::string& content) {
    bytes_ += Begin(type, 2) + Raw(static_cast<uint32_t>(content.size()));
    bytes_.append((4 - bytes_.size() % 4) % 4, '\0');
    bytes_ += content + "\x06";
  }
  // The header of blocks of events: 20 bytes.
  static std::string BlockHeader(uint16_t flags = 1) {
    return Raw(uint16_t{20}) + Raw(flags) + std::string(16, 'b');
  }

  static std::string Description(uint32_t id, const EventKind& kind) {
    return Raw(id) + RawText(kind.provider) + Raw(uint32_t{8}) + RawText(kind.name) +
           std::string(16, 'k') + Fields(kind.fields);
  }
  void Kind(uint32_t id, const EventKind& kind) {
    Block("MetadataBlock", BlockHeader() + Blob(0, Description(id, kind)));
  }
  void Event(uint32_t id, const std::string& payload) {
    Block("EventBlock", BlockHeader() + Blob(id, payload));
  }

  // With every field in its header.
  static std::string Blob(uint32_t id, const std::string& payload) {
    return "\xff" + Varint(id) + Varint(1) + Varint(1234567) + Varint(3) + Varint(1234567) +
           Varint(2) + Varint(uint64_t{1} << 40) + std::string(32, 'a') + Varint(payload.size()) +
           payload;
  }
  static std::string Varint(uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
    bytes.push_back(static_cast<char>(value));
    return bytes;
  }

  void End() { bytes_ += "\x01"; }
  const std::string& bytes() const { return bytes_; }

 private:
  static std::string Begin(const std::string& type, uint32_t version) {
    return "\x05\x05\x01" + Raw(version) + Raw(version) + Raw(static_cast<uint32_t>(type.size())) +
           type + "\x06";
  }
  static std::string Fields(const std::vector<EventField>& fields) {
    std::string bytes = Raw(static_cast<uint32_t>(fields.size()));
    for (const EventField& field : fields) {
      bytes += Raw(field.type);
      if (field.type == kObjectType) bytes += Fields(field.fields);
      bytes += RawText(field.name);
    }
    return bytes;
  }

  std::string bytes_;
};

// The description of a counter that says how much was added, as the runtime has it.
inline EventKind IncrementKind(const std::string& provider) {
  return {provider,
          "EventCounters",
          {{"",
            kObjectType,
            {{"Payload",
              kObjectType,
              {{"Name", kStringType, {}},
               {"DisplayName", kStringType, {}},
               {"DisplayRateTimeScale", kStringType, {}},
               {"Increment", kDoubleType, {}},
               {"IntervalSec", kSingleType, {}},
               {"Metadata", kStringType, {}},
               {"DisplayUnits", kStringType, {}}}}}}}};
}

inline std::string IncrementPayload(const std::string& name, double value, float interval) {
  return RawText(name) + RawText(name + " shown") + RawText("00:00:01") + Raw(value) +
         Raw(interval) + RawText("") + RawText("B");
}

}  // namespace cohost::supervisor
