// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/descriptor_holder.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/status.h"

namespace cohost::supervisor {
namespace {

absl::StatusOr<std::vector<UniqueFd>> Duplicate(const std::vector<int>& descriptors) {
  std::vector<UniqueFd> copies;
  for (const int fd : descriptors) {
    UniqueFd copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy.valid()) return ErrnoStatus(errno, "dup", "");
    copies.push_back(std::move(copy));
  }
  return copies;
}

}  // namespace

void FakeDescriptorHolder::Hold(const std::string& name, const std::string& blob,
                                const std::vector<int>& descriptors,
                                std::function<void(absl::Status)> done) {
  absl::Status status = hold_status_;
  if (status.ok()) {
    absl::StatusOr<std::vector<UniqueFd>> copies = Duplicate(descriptors);
    status = copies.status();
    if (copies.ok()) entries_[name] = HeldEntry{name, blob, *std::move(copies)};
  }
  callbacks_.push_back([done = std::move(done), status] { done(status); });
}

void FakeDescriptorHolder::RunCallbacks() {
  while (!callbacks_.empty()) {
    for (const auto& callback : std::exchange(callbacks_, {})) callback();
  }
}

std::vector<HeldEntry> FakeDescriptorHolder::CopyAll() const {
  std::vector<HeldEntry> copies;
  for (const auto& [name, entry] : entries_) {
    std::vector<int> numbers;
    for (const UniqueFd& fd : entry.descriptors) numbers.push_back(fd.get());
    absl::StatusOr<std::vector<UniqueFd>> descriptors = Duplicate(numbers);
    // A test that runs out of descriptors is broken; value() ends it.
    copies.push_back(HeldEntry{name, entry.blob, std::move(descriptors).value()});
  }
  return copies;
}

}  // namespace cohost::supervisor
