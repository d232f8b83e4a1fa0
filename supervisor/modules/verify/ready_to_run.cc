// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/ready_to_run.h"

#include <array>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "base/status.h"

namespace cohost::supervisor {

namespace {

constexpr uint32_t kMagic = 0x00525452;  // "RTR"
constexpr uint32_t kHeaderSize = 16;
constexpr uint32_t kSectionSize = 12;
// Types are numbered from 100 and there are some 25.
constexpr uint32_t kMostSections = 1024;

template <typename T>
T NumberAt(const char* at) {
  T number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

absl::Status Damaged() {
  return absl::InvalidArgumentError(
      "the header of its precompiled code makes no sense; it is damaged: copy or compile it again");
}

}  // namespace

absl::StatusOr<ReadyToRunHeader> ReadyToRunHeader::Read(const PeFile& file, PeRange range) {
  if (range.size < kHeaderSize) return Damaged();
  std::array<char, kHeaderSize> bytes;
  COHOST_RETURN_IF_ERROR(file.ReadRange({range.address, kHeaderSize}, bytes.data()));
  if (NumberAt<uint32_t>(bytes.data()) != kMagic) {
    return absl::InvalidArgumentError(
        "its precompiled code is not ReadyToRun; publish it with PublishReadyToRun or without "
        "precompilation");
  }
  ReadyToRunHeader header;
  header.major = NumberAt<uint16_t>(&bytes[4]);
  header.minor = NumberAt<uint16_t>(&bytes[6]);
  header.flags = NumberAt<uint32_t>(&bytes[8]);
  header.is_composite = (header.flags & kComponent) != 0;
  const auto count = NumberAt<uint32_t>(&bytes[12]);
  if (count > kMostSections || (range.size - kHeaderSize) / kSectionSize < count) return Damaged();
  COHOST_ASSIGN_OR_RETURN(const std::string sections,
                          file.ReadRange({range.address + kHeaderSize, count * kSectionSize}));
  for (uint32_t i = 0; i < count; ++i) {
    const char* section = sections.data() + size_t{i} * kSectionSize;
    const PeRange place = {NumberAt<uint32_t>(section + 4), NumberAt<uint32_t>(section + 8)};
    if (place.size > 0 && !file.Has(place)) return Damaged();
    const auto type = NumberAt<uint32_t>(section);
    if (type == kComponentAssemblies || type == kOwnerComposite) header.is_composite = true;
  }
  return header;
}

}  // namespace cohost::supervisor
