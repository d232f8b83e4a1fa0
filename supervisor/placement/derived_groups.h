// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "supervisor/placement/load.h"
#include "supervisor/placement/placement.h"

namespace cohost::supervisor {

// The part of Place that derives groups for the services without one (rules 2 to 5). The input
// outlives it.
class DerivedGroups {
 public:
  DerivedGroups(const PlacementInput& input, const LoadLimits& limits);

  // Once, with the services in the order of their names.
  void Take(const std::vector<const PlacementService*>& services);

  // Adds the groups and remarks, and the numbers given to the record.
  void Describe(Placement& placement) const;

 private:
  // Services of equal keys may share workers.
  struct Key {
    LoadClass load_class = LoadClass::kSteady;
    Runtime runtime = Runtime::kNative;
    bool overlap = true;
    std::string framework;
    // The service that has to be alone, empty otherwise.
    std::string alone;
    auto operator<=>(const Key&) const = default;
  };
  struct Member {
    const PlacementService* service;
    std::string reason;
  };
  struct Bin {
    std::string name;
    std::vector<Member> members;
    Load load;
  };

  Key KeyOf(const PlacementService& service) const;
  // Rule 4: fills bins_ with the groups that go on; returns who found no place there and why.
  std::vector<Member> KeepPrevious(const std::vector<const PlacementService*>& services);
  void KeepGroup(const std::string& name, const std::vector<const PlacementService*>& members,
                 std::vector<Member>& leaving);
  void KeepWhatFits(const Key& key, const std::string& name,
                    const std::vector<const PlacementService*>& staying,
                    std::vector<Member>& leaving);
  // Rule 5, for the services of one key.
  void PackRest(const Key& key, const std::vector<Member>& members);
  std::string NewName(LoadClass load_class);

  const PlacementInput& input_;
  const LoadLimits limits_;
  std::map<Key, std::vector<Bin>> bins_;
  std::map<std::string, uint32_t> last_numbers_;
};

}  // namespace cohost::supervisor
