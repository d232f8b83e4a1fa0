// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/inventory.h"

#include <fcntl.h>

#include <memory>
#include <utility>

namespace cohost::supervisor {

void Inventory::Hold(const std::string& name, const std::string& blob,
                     std::vector<UniqueFd> descriptors) {
  held_[name] = {blob, std::make_shared<const std::vector<UniqueFd>>(std::move(descriptors))};
}

void Inventory::AddExit(ExitNotice notice) {
  const uint64_t record = next_record_++;
  notice.record = record;
  notices_[record] = {std::move(notice), false};
}

void Inventory::BeginList(uint64_t sequence, const KeeperMessage& begin, Connection& connection) {
  connection.Send(begin);
  listed_ = true;
  listing_ = Listing{.sequence = sequence};
  for (auto& [record, notice] : notices_) notice.sent = false;
  Pump(connection);
}

bool Inventory::ListOne(Connection& connection) {
  KeeperMessage message{.sequence = listing_->sequence};
  if (listing_->stage == Listing::Stage::kHeld) {
    const auto entry = held_.upper_bound(listing_->last);
    if (entry == held_.end()) {
      listing_->stage = Listing::Stage::kProcesses;
      listing_->last.clear();
      return true;
    }
    listing_->last = entry->first;
    message.type = KeeperType::kHeldEntry;
    message.name = entry->first;
    message.text = entry->second.blob;
    connection.Send(message, entry->second.descriptors);
    return true;
  }
  const std::optional<Processes::Living> process = processes_.NextLiving(listing_->last);
  if (!process) return false;
  listing_->last = process->name;
  message.type = KeeperType::kRunning;
  message.name = process->name;
  message.number = static_cast<uint32_t>(process->pid);
  auto pidfd = std::make_shared<std::vector<UniqueFd>>();
  pidfd->emplace_back(fcntl(process->pidfd, F_DUPFD_CLOEXEC, 0));
  connection.Send(message, std::move(pidfd));
  return true;
}

void Inventory::Pump(Connection& connection) {
  connection.Flush();
  while (listing_ && connection.open() && connection.has_room() && ListOne(connection)) {
  }
  // No room: the rest of the list comes before anything else.
  if (!listed_ || !connection.open() || !connection.has_room()) return;
  for (auto& [record, notice] : notices_) {
    if (notice.sent) continue;
    if (!connection.has_room()) return;
    notice.sent = true;
    connection.Send({.type = KeeperType::kExited, .exit = notice.exit});
  }
  if (!listing_ || !connection.has_room()) return;
  connection.Send({.type = KeeperType::kListEnd, .sequence = listing_->sequence});
  listing_.reset();
}

void Inventory::ForgetSupervisor() {
  listed_ = false;
  listing_.reset();
  for (auto& [record, notice] : notices_) notice.sent = false;
}

}  // namespace cohost::supervisor
