// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// What dead workers have counted, in a sealed memfd that the keeper holds as "ledger", so that no
// death loses a number and none is counted twice.
//
// Format, version 1, this machine's byte order, never on disk:
//   page 0    magic "CHSTLDG1", version, capacities, and the commit word
//   2 tables  each: used counts, then service rows, then slot rows
// The commit word's lowest bit names the table that counts, the others rise with each change. A
// change is written into the other table (a whole copy first) and then takes effect by one atomic
// store of the commit word: whoever is killed where, a reader sees the old table or the new one.
// A reader refuses a wrong magic, version, size or count.
//
// Loop thread only; one writer at a time. Ending it unmaps.
class Ledger {
 public:
  static constexpr uint32_t kFirstServices = 256;
  static constexpr uint32_t kFirstSlots = 64;

  static absl::StatusOr<Ledger> Create(uint32_t services = kFirstServices,
                                       uint32_t slots = kFirstSlots);
  // One that an earlier supervisor made.
  static absl::StatusOr<Ledger> Open(UniqueFd descriptor);
  Ledger(Ledger&& other) noexcept;
  Ledger& operator=(Ledger&& other) noexcept;
  ~Ledger();

  int descriptor() const { return descriptor_.get(); }

  // A bigger copy when there is no room for so many more; the caller has the keeper hold
  // descriptor() again when true is returned.
  absl::StatusOr<bool> MakeRoom(uint32_t more_services, uint32_t more_slots);

  // Adds what one generation of a slot counted. A generation that was folded before changes
  // nothing: the last 64 of a slot are known one by one, older ones count as folded.
  // RESOURCE_EXHAUSTED when MakeRoom was not asked before.
  absl::Status Fold(std::string_view group, uint32_t slot, uint32_t generation,
                    const std::map<uint64_t, ServiceTotals>& totals, uint64_t accept_errors = 0);
  bool IsFolded(std::string_view group, uint32_t slot, uint32_t generation) const;
  // The newest folded generation of a slot; 0: none.
  uint32_t LastGeneration(std::string_view group, uint32_t slot) const;

  // Counts a new generation of a slot by its reason.
  absl::Status CountRestart(std::string_view group, uint32_t slot, RecycleReason reason);
  std::array<uint64_t, kRecycleReasons> Restarts(std::string_view group, uint32_t slot) const;

  uint64_t AcceptErrors(std::string_view group, uint32_t slot) const;

  ServiceTotals Totals(uint64_t service_id) const;
  std::vector<uint64_t> Services() const;
  // The service is gone for ever: its row may be used for another one.
  void ForgetService(uint64_t service_id);
  // No generation of the group is alive or unfolded, and the group is gone.
  void ForgetGroup(std::string_view group);

  struct ServiceRow;
  struct SlotRow;
  struct Header;
  struct Table;

 private:
  Ledger(UniqueFd descriptor, void* memory, size_t size);
  Header& header() const;
  Table& TableAt(uint64_t index) const;
  Table& current() const;
  ServiceRow* ServicesOf(Table& table) const;
  SlotRow* SlotsOf(Table& table) const;
  SlotRow* FindSlot(Table& table, std::string_view group, uint32_t slot) const;
  // The other table as a copy of the current one, and the store that makes it current.
  Table& BeginChange();
  void Commit();
  // New rows in `table`; the caller has checked that there is room.
  ServiceRow& AddService(Table& table, uint64_t service_id);
  SlotRow& AddSlot(Table& table, std::string_view group, uint32_t slot);
  void BuildIndex();

  UniqueFd descriptor_;
  void* memory_ = nullptr;
  size_t size_ = 0;
  std::unordered_map<uint64_t, uint32_t> index_;  // service id -> row
};

}  // namespace cohost::supervisor
