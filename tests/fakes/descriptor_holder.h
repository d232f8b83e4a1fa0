// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "supervisor/process/process_launcher.h"

namespace cohost::supervisor {

// A DescriptorHolder in memory: it really duplicates descriptors, and CopyAll hands them to the
// "next supervisor". Callbacks wait until RunCallbacks. Single-threaded.
class FakeDescriptorHolder final : public DescriptorHolder {
 public:
  void Hold(const std::string& name, const std::string& blob, const std::vector<int>& descriptors,
            std::function<void(absl::Status)> done) override;
  void Release(const std::string& name) override { entries_.erase(name); }

  void RunCallbacks();
  // The next holds fail with this until it is set to OK.
  void FailHolds(absl::Status status) { hold_status_ = std::move(status); }

  const std::map<std::string, HeldEntry>& entries() const { return entries_; }
  // Fresh duplicates of everything, as an Inheritance has them; the entries stay held.
  std::vector<HeldEntry> CopyAll() const;

 private:
  std::map<std::string, HeldEntry> entries_;
  std::vector<std::function<void()>> callbacks_;
  absl::Status hold_status_;
};

}  // namespace cohost::supervisor
