// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/ledger.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "supervisor/pool/generation/sealed_memory.h"

namespace cohost::supervisor {

struct Ledger::ServiceRow {
  uint64_t id;
  ServiceTotals totals;
};

struct Ledger::SlotRow {
  std::array<char, 64> group;  // NUL-padded
  uint32_t slot;
  uint32_t last_generation;                        // newest folded; 0: none
  uint64_t folded;                                 // bit i: last_generation - i is folded
  std::array<uint64_t, kRecycleReasons> restarts;  // by RecycleReason
  uint64_t accept_errors;
};

struct Ledger::Table {
  uint32_t services;  // rows in use
  uint32_t slots;
  std::array<uint64_t, 7> reserved;
};

struct Ledger::Header {
  uint64_t magic;
  uint32_t version;
  uint32_t reserved;
  uint32_t service_capacity;
  uint32_t slot_capacity;
  std::atomic<uint64_t> commit;
};

namespace {

constexpr uint64_t kMagic = 0x3147444c'54534843;  // "CHSTLDG1"
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderSize = 4096;
// Keeps sizes that a broken header claims from overflowing; a million services.
constexpr uint32_t kMaxRows = 1 << 20;

static_assert(std::is_trivially_copyable_v<ServiceTotals>);

size_t TableSize(uint32_t services, uint32_t slots) {
  return sizeof(Ledger::Table) + services * sizeof(Ledger::ServiceRow) +
         slots * sizeof(Ledger::SlotRow);
}
size_t LedgerSize(uint32_t services, uint32_t slots) {
  return kHeaderSize + 2 * TableSize(services, slots);
}

absl::StatusOr<void*> Map(int descriptor, size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, "mmap", "ledger");
  return memory;
}

bool NamesGroup(const Ledger::SlotRow& row, std::string_view group) {
  return group.size() < row.group.size() &&
         std::memcmp(row.group.data(), group.data(), group.size()) == 0 &&
         row.group[group.size()] == '\0';
}

}  // namespace

Ledger::Ledger(UniqueFd descriptor, void* memory, size_t size)
    : descriptor_(std::move(descriptor)), memory_(memory), size_(size) {}

Ledger::Ledger(Ledger&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      memory_(std::exchange(other.memory_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      index_(std::move(other.index_)) {}

Ledger& Ledger::operator=(Ledger&& other) noexcept {
  if (this == &other) return *this;
  if (memory_ != nullptr) munmap(memory_, size_);
  descriptor_ = std::move(other.descriptor_);
  memory_ = std::exchange(other.memory_, nullptr);
  size_ = std::exchange(other.size_, 0);
  index_ = std::move(other.index_);
  return *this;
}

Ledger::~Ledger() {
  if (memory_ != nullptr) munmap(memory_, size_);
}

absl::StatusOr<Ledger> Ledger::Create(uint32_t services, uint32_t slots) {
  const size_t size = LedgerSize(services, slots);
  COHOST_ASSIGN_OR_RETURN(UniqueFd memory, MakeSealedMemory("cohost-ledger", size));
  COHOST_ASSIGN_OR_RETURN(void* mapped, Map(memory.get(), size));
  Ledger ledger(std::move(memory), mapped, size);
  Header& header = ledger.header();
  header.version = kVersion;
  header.service_capacity = services;
  header.slot_capacity = slots;
  header.magic = kMagic;
  return ledger;
}

absl::StatusOr<Ledger> Ledger::Open(UniqueFd descriptor) {
  COHOST_ASSIGN_OR_RETURN(const size_t size, SealedMemorySize(descriptor.get()));
  if (size < kHeaderSize) return absl::InvalidArgumentError("the ledger is too short");
  COHOST_ASSIGN_OR_RETURN(void* mapped, Map(descriptor.get(), size));
  Ledger ledger(std::move(descriptor), mapped, size);
  const Header& header = ledger.header();
  if (header.magic != kMagic || header.version != kVersion) {
    return absl::InvalidArgumentError("not a ledger of this version");
  }
  if (header.service_capacity > kMaxRows || header.slot_capacity > kMaxRows ||
      LedgerSize(header.service_capacity, header.slot_capacity) != size) {
    return absl::InvalidArgumentError("the ledger's size is not what its header says");
  }
  const Table& table = ledger.current();
  if (table.services > header.service_capacity || table.slots > header.slot_capacity) {
    return absl::InvalidArgumentError("the ledger says more rows than it has");
  }
  ledger.BuildIndex();
  return ledger;
}

Ledger::Header& Ledger::header() const { return *static_cast<Header*>(memory_); }

Ledger::Table& Ledger::TableAt(uint64_t index) const {
  const size_t size = TableSize(header().service_capacity, header().slot_capacity);
  return *reinterpret_cast<Table*>(static_cast<char*>(memory_) + kHeaderSize + index * size);
}

Ledger::Table& Ledger::current() const {
  return TableAt(header().commit.load(std::memory_order_acquire) & 1);
}

Ledger::ServiceRow* Ledger::ServicesOf(Table& table) const {
  return reinterpret_cast<ServiceRow*>(&table + 1);
}

Ledger::SlotRow* Ledger::SlotsOf(Table& table) const {
  return reinterpret_cast<SlotRow*>(ServicesOf(table) + header().service_capacity);
}

Ledger::Table& Ledger::BeginChange() {
  Table& from = current();
  Table& to = TableAt((header().commit.load(std::memory_order_acquire) & 1) ^ 1);
  to = from;
  std::copy_n(ServicesOf(from), from.services, ServicesOf(to));
  std::copy_n(SlotsOf(from), from.slots, SlotsOf(to));
  return to;
}

// The release orders everything that was written into the other table before it: a process that is
// killed leaves its stores in program order.
void Ledger::Commit() {
  const uint64_t word = header().commit.load(std::memory_order_relaxed);
  header().commit.store((((word >> 1) + 1) << 1) | ((word & 1) ^ 1), std::memory_order_release);
}

void Ledger::BuildIndex() {
  index_.clear();
  Table& table = current();
  for (uint32_t i = 0; i < table.services; ++i) index_.emplace(ServicesOf(table)[i].id, i);
}

absl::StatusOr<bool> Ledger::MakeRoom(uint32_t more_services, uint32_t more_slots) {
  Table& from = current();
  uint32_t services = header().service_capacity;
  uint32_t slots = header().slot_capacity;
  while (services - from.services < more_services && services < kMaxRows) services *= 2;
  while (slots - from.slots < more_slots && slots < kMaxRows) slots *= 2;
  if (services - from.services < more_services || slots - from.slots < more_slots) {
    return absl::ResourceExhaustedError("the ledger cannot grow further");
  }
  if (services == header().service_capacity && slots == header().slot_capacity) return false;
  COHOST_ASSIGN_OR_RETURN(Ledger bigger, Create(services, slots));
  Table& to = bigger.current();
  to = from;
  std::copy_n(ServicesOf(from), from.services, bigger.ServicesOf(to));
  std::copy_n(SlotsOf(from), from.slots, bigger.SlotsOf(to));
  bigger.BuildIndex();
  *this = std::move(bigger);
  return true;
}

Ledger::SlotRow* Ledger::FindSlot(Table& table, std::string_view group, uint32_t slot) const {
  SlotRow* const begin = SlotsOf(table);
  SlotRow* const end = begin + table.slots;
  SlotRow* const found = std::find_if(
      begin, end, [&](const SlotRow& row) { return row.slot == slot && NamesGroup(row, group); });
  return found == end ? nullptr : found;
}

Ledger::ServiceRow& Ledger::AddService(Table& table, uint64_t service_id) {
  ServiceRow& row = ServicesOf(table)[table.services++];
  row = ServiceRow{service_id, {}};
  return row;
}

Ledger::SlotRow& Ledger::AddSlot(Table& table, std::string_view group, uint32_t slot) {
  SlotRow& row = SlotsOf(table)[table.slots++];
  row = SlotRow{};
  std::memcpy(row.group.data(), group.data(), std::min(group.size(), row.group.size() - 1));
  row.slot = slot;
  return row;
}

absl::Status Ledger::Fold(std::string_view group, uint32_t slot, uint32_t generation,
                          const std::map<uint64_t, ServiceTotals>& totals, uint64_t accept_errors) {
  if (IsFolded(group, slot, generation)) return absl::OkStatus();
  const Table& before = current();
  const auto fresh = std::count_if(totals.begin(), totals.end(), [this](const auto& service) {
    return !index_.contains(service.first);
  });
  if (header().service_capacity - before.services < fresh ||
      header().slot_capacity == before.slots) {
    return absl::ResourceExhaustedError("no room in the ledger");
  }
  Table& table = BeginChange();
  for (const auto& [id, counted] : totals) {
    const auto known = index_.find(id);
    ServiceRow& row =
        known == index_.end() ? AddService(table, id) : ServicesOf(table)[known->second];
    row.totals.Add(counted);
  }
  SlotRow* row = FindSlot(table, group, slot);
  if (row == nullptr) row = &AddSlot(table, group, slot);
  row->accept_errors += accept_errors;
  if (generation > row->last_generation) {
    const uint32_t step = generation - row->last_generation;
    row->folded = (step < 64 ? row->folded << step : 0) | 1;
    row->last_generation = generation;
  } else {
    row->folded |= uint64_t{1} << (row->last_generation - generation);
  }
  Commit();
  if (fresh > 0) BuildIndex();
  return absl::OkStatus();
}

bool Ledger::IsFolded(std::string_view group, uint32_t slot, uint32_t generation) const {
  const SlotRow* row = FindSlot(current(), group, slot);
  if (row == nullptr || generation > row->last_generation) return false;
  const uint32_t back = row->last_generation - generation;
  return back >= 64 || ((row->folded >> back) & 1) != 0;
}

uint32_t Ledger::LastGeneration(std::string_view group, uint32_t slot) const {
  const SlotRow* row = FindSlot(current(), group, slot);
  return row == nullptr ? 0 : row->last_generation;
}

absl::Status Ledger::CountRestart(std::string_view group, uint32_t slot, RecycleReason reason) {
  Table& before = current();
  if (FindSlot(before, group, slot) == nullptr && header().slot_capacity == before.slots) {
    return absl::ResourceExhaustedError("no room in the ledger");
  }
  Table& table = BeginChange();
  SlotRow* row = FindSlot(table, group, slot);
  if (row == nullptr) row = &AddSlot(table, group, slot);
  ++row->restarts[static_cast<size_t>(reason)];
  Commit();
  return absl::OkStatus();
}

std::array<uint64_t, kRecycleReasons> Ledger::Restarts(std::string_view group,
                                                       uint32_t slot) const {
  const SlotRow* row = FindSlot(current(), group, slot);
  return row == nullptr ? std::array<uint64_t, kRecycleReasons>{} : row->restarts;
}

uint64_t Ledger::AcceptErrors(std::string_view group, uint32_t slot) const {
  const SlotRow* row = FindSlot(current(), group, slot);
  return row == nullptr ? 0 : row->accept_errors;
}

ServiceTotals Ledger::Totals(uint64_t service_id) const {
  const auto row = index_.find(service_id);
  return row == index_.end() ? ServiceTotals{} : ServicesOf(current())[row->second].totals;
}

std::vector<uint64_t> Ledger::Services() const {
  std::vector<uint64_t> ids;
  for (const auto& [id, row] : index_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

void Ledger::ForgetService(uint64_t service_id) {
  const auto row = index_.find(service_id);
  if (row == index_.end()) return;
  Table& table = BeginChange();
  ServiceRow* const rows = ServicesOf(table);
  rows[row->second] = rows[--table.services];
  Commit();
  BuildIndex();
}

void Ledger::ForgetGroup(std::string_view group) {
  Table& table = BeginChange();
  SlotRow* const begin = SlotsOf(table);
  SlotRow* const end = std::remove_if(
      begin, begin + table.slots, [group](const SlotRow& row) { return NamesGroup(row, group); });
  const auto left = static_cast<uint32_t>(end - begin);
  if (left == table.slots) return;
  table.slots = left;
  Commit();
}

}  // namespace cohost::supervisor
