// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// Which worker process.
struct GenerationId {
  std::string group;
  uint32_t slot = 0;
  uint32_t number = 0;  // from 1

  std::string ProcessName() const;  // "worker/<group>/<slot>/<number>"
  std::string HoldName() const;     // "link/<group>/<slot>/<number>"
  auto operator<=>(const GenerationId&) const = default;
};
inline constexpr std::string_view kProcessPrefix = "worker/";
inline constexpr std::string_view kHoldPrefix = "link/";

// Reads either form.
absl::StatusOr<GenerationId> ParseGenerationId(std::string_view name);

// What the next supervisor must know of a worker and cannot ask it: the blob of its held entry, as
// lines of a word and its values. The first is "version 1"; lines with an unknown word are ignored.
struct GenerationRecord {
  absl::Time started;
  uint64_t fingerprint = 0;  // SpawnFingerprint of its group when it was spawned
  RecycleReason reason = RecycleReason::kNone;
  std::string last_exit;  // how the slot's generation before ended, at most kMaxExitText bytes
  // Services that died while loading in this slot, and their revision; at most kMaxBlamed.
  std::map<uint64_t, uint64_t> blamed;
};
inline constexpr size_t kMaxBlamed = 64;
inline constexpr size_t kMaxExitText = 200;

std::string EncodeGenerationRecord(const GenerationRecord& record);
// INVALID_ARGUMENT for another version or a line that its word does not allow.
absl::StatusOr<GenerationRecord> DecodeGenerationRecord(std::string_view blob);

}  // namespace cohost::supervisor
