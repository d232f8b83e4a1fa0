// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "supervisor/placement/load.h"
#include "supervisor/placement/placement.h"

namespace cohost::supervisor {

// The part of Place that fills the groups of the deployment (rules 1 to 3). The input outlives it.
class DeclaredGroups {
 public:
  DeclaredGroups(const PlacementInput& input, const LoadLimits& limits);

  // Takes the services that belong here and returns the others, in the same order (by name). Each
  // service that has no place is a line of `errors`.
  std::vector<const PlacementService*> Take(const std::vector<const PlacementService*>& services,
                                            std::vector<std::string>& errors);

  // Adds the groups, and a remark for each limit that services exceed on purpose.
  void Describe(Placement& placement) const;

 private:
  struct Member {
    const PlacementService* service;
    std::string reason;
  };
  struct Filling {
    const DeclaredGroup* group;
    std::vector<Member> members;
    Load load;
  };

  Filling* Find(const std::string& name);
  // Those whose class is matched by a group; with several groups each goes to the least full.
  void Match(const std::vector<const PlacementService*>& matched, std::vector<std::string>& errors);
  void MatchOne(const PlacementService& service, std::vector<std::string>& errors);
  bool Matches(const Filling& filling, const PlacementService& service) const;
  bool WasHere(const Filling& filling, const PlacementService& service) const;
  static void Add(Filling& filling, const PlacementService& service, std::string reason);
  // Why the service cannot share the group's workers; empty when it can.
  static std::string Conflict(const Filling& filling, const PlacementService& service);

  const PlacementInput& input_;
  const LoadLimits limits_;
  std::vector<Filling> fillings_;  // by name
};

}  // namespace cohost::supervisor
