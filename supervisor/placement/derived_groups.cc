// SPDX-License-Identifier: Apache-2.0
#include "supervisor/placement/derived_groups.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "supervisor/config/load_class.h"
#include "supervisor/placement/bin_packing.h"
#include "supervisor/placement/explain.h"

namespace cohost::supervisor {

namespace {

std::string_view RuntimeName(Runtime runtime) {
  return runtime == Runtime::kNative ? "native" : "dotnet";
}

// The fullest of the limits: what the next service would meet first.
LoadLimit ClosestLimit(const LoadLimits& limits, const Load& load) {
  const auto share = [](double used, double limit) { return limit > 0 ? used / limit : 1.0; };
  const double services =
      share(static_cast<double>(load.count()), static_cast<double>(limits.services()));
  const double memory =
      share(static_cast<double>(load.memory().count), static_cast<double>(limits.memory().count));
  const double cpu = share(load.peak_cpu(), limits.cpu());
  if (services >= memory && services >= cpu) return LoadLimit::kServices;
  return memory >= cpu ? LoadLimit::kMemory : LoadLimit::kCpu;
}

// N of "CLASS-N"; nothing when the name is not of that form.
std::optional<uint32_t> NumberOf(const std::string& group, LoadClass load_class) {
  const std::string prefix = absl::StrCat(AsAbsl(LoadClassName(load_class)), "-");
  uint32_t number = 0;
  if (!group.starts_with(prefix) || !absl::SimpleAtoi(group.substr(prefix.size()), &number)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

DerivedGroups::DerivedGroups(const PlacementInput& input, const LoadLimits& limits)
    : input_(input), limits_(limits), last_numbers_(input.previous.last_numbers) {}

void DerivedGroups::Take(const std::vector<const PlacementService*>& services) {
  std::map<Key, std::vector<Member>> rest;
  for (Member& member : KeepPrevious(services)) {
    rest[KeyOf(*member.service)].push_back(std::move(member));
  }
  for (const auto& [key, members] : rest) PackRest(key, members);
}

DerivedGroups::Key DerivedGroups::KeyOf(const PlacementService& service) const {
  Key key{service.load.load_class, service.runtime, service.overlap, service.framework, ""};
  if (service.alone || !limits_.Fits(Load(service.load))) key.alone = service.name;
  return key;
}

std::vector<DerivedGroups::Member> DerivedGroups::KeepPrevious(
    const std::vector<const PlacementService*>& services) {
  std::vector<Member> leaving;
  std::map<std::string, std::vector<const PlacementService*>> previous;
  for (const PlacementService* service : services) {
    const auto before = input_.previous.services.find(service->name);
    if (before == input_.previous.services.end()) {
      leaving.push_back({service, "new"});
    } else if (before->second.declared) {
      leaving.push_back({service, absl::StrCat("was in group ", before->second.group)});
    } else {
      previous[before->second.group].push_back(service);
    }
  }
  for (const auto& [name, members] : previous) KeepGroup(name, members, leaving);
  std::sort(leaving.begin(), leaving.end(),
            [](const Member& a, const Member& b) { return a.service->name < b.service->name; });
  return leaving;
}

void DerivedGroups::KeepGroup(const std::string& name,
                              const std::vector<const PlacementService*>& members,
                              std::vector<Member>& leaving) {
  const bool name_is_declared = std::any_of(input_.groups.begin(), input_.groups.end(),
                                            [&](const auto& g) { return g.name == name; });
  std::map<Key, std::vector<const PlacementService*>> by_key;
  for (const PlacementService* service : members) by_key[KeyOf(*service)].push_back(service);
  // The name stays with the larger part.
  const std::vector<const PlacementService*>* staying = nullptr;
  Key key;
  for (const auto& [candidate, services] : by_key) {
    if (name_is_declared || !NumberOf(name, candidate.load_class).has_value()) continue;
    if (staying != nullptr && staying->size() >= services.size()) continue;
    staying = &services;
    key = candidate;
  }
  for (const auto& [other, services] : by_key) {
    if (&services == staying) continue;
    for (const PlacementService* service : services) {
      leaving.push_back({service, absl::StrCat("no longer like the others of ", name)});
    }
  }
  if (staying == nullptr) return;
  // Also when the record of numbers was lost, a name in use is not given again.
  uint32_t& last_number = last_numbers_[std::string(LoadClassName(key.load_class))];
  last_number = std::max(last_number, *NumberOf(name, key.load_class));

  KeepWhatFits(key, name, *staying, leaving);
}

void DerivedGroups::KeepWhatFits(const Key& key, const std::string& name,
                                 const std::vector<const PlacementService*>& staying,
                                 std::vector<Member>& leaving) {
  std::vector<Load> loads;
  loads.reserve(staying.size());
  for (const PlacementService* service : staying) loads.emplace_back(service->load);
  Load sum;
  for (const Load& load : loads) sum += load;
  std::vector<size_t> too_many;
  if (key.alone.empty()) too_many = ChooseToLeave(loads, limits_);
  Bin bin{name, {}, {}};
  for (size_t i = 0; i < staying.size(); ++i) {
    if (std::binary_search(too_many.begin(), too_many.end(), i)) {
      leaving.push_back({staying[i], absl::StrCat(name, " was over ",
                                                  LimitText(limits_, limits_.Exceeded(sum)))});
    } else {
      bin.members.push_back({staying[i], "stays where it was"});
      bin.load += loads[i];
    }
  }
  bins_[key].push_back(std::move(bin));
}

void DerivedGroups::PackRest(const Key& key, const std::vector<Member>& members) {
  std::vector<Bin>& bins = bins_[key];
  const size_t present_count = bins.size();
  std::vector<size_t> bin_of(members.size(), 0);
  if (key.alone.empty()) {
    std::vector<Load> items;
    items.reserve(members.size());
    for (const Member& member : members) items.emplace_back(member.service->load);
    std::vector<Load> present;
    present.reserve(bins.size());
    for (const Bin& bin : bins) present.push_back(bin.load);
    bin_of = PackIntoBins(items, present, limits_);
  }
  for (size_t i = 0; i < members.size(); ++i) {
    while (bins.size() <= bin_of[i]) bins.push_back({NewName(key.load_class), {}, {}});
    Bin& bin = bins[bin_of[i]];
    const std::string_view where = !key.alone.empty() ? "alone in a new group"
                                   : bin_of[i] < present_count
                                       ? "this group of its class has room and ends least full"
                                       : "a new group, since none of its class had room";
    bin.members.push_back(
        {members[i].service, absl::StrCat(members[i].reason, "; ", AsAbsl(where))});
    bin.load += Load(members[i].service->load);
  }
}

std::string DerivedGroups::NewName(LoadClass load_class) {
  const std::string class_name(LoadClassName(load_class));
  uint32_t& number = last_numbers_[class_name];
  const auto taken = [&](const std::string& name) {
    return std::any_of(input_.groups.begin(), input_.groups.end(),
                       [&](const DeclaredGroup& group) { return group.name == name; });
  };
  std::string name;
  do {
    name = absl::StrCat(class_name, "-", ++number);
  } while (taken(name));
  return name;
}

void DerivedGroups::Describe(Placement& placement) const {
  for (const auto& [key, bins] : bins_) {
    for (const Bin& bin : bins) {
      PlacedGroup group;
      group.name = bin.name;
      group.runtime = key.runtime;
      group.overlap = key.overlap;
      group.framework = key.framework;
      group.memory = bin.load.memory();
      group.peak_cpu = bin.load.peak_cpu();
      for (const Member& member : bin.members) {
        group.services.push_back({member.service->name, member.reason});
      }
      std::sort(group.services.begin(), group.services.end(),
                [](const PlacedService& a, const PlacedService& b) { return a.name < b.name; });
      const LoadLimit over = limits_.Exceeded(bin.load);
      const std::string end =
          key.alone.empty()
              ? absl::StrCat("closest limit ", LimitText(limits_, ClosestLimit(limits_, bin.load)))
          : over == LoadLimit::kNone ? "it " + WhyAlone(bin.members.front().service->alone_because)
                                     : absl::StrCat("alone over ", LimitText(limits_, over));
      group.reason = absl::StrCat(
          "class ", AsAbsl(LoadClassName(key.load_class)), ", runtime ",
          AsAbsl(RuntimeName(key.runtime)), key.framework.empty() ? "" : " ", key.framework,
          key.overlap ? "" : ", no overlap", ": ", LoadText(bin.load, limits_), "; ", end);
      if (over != LoadLimit::kNone) {
        placement.remarks.push_back(absl::StrCat("service '", key.alone, "' is by itself over ",
                                                 LimitText(limits_, over), " and has group '",
                                                 group.name, "' alone"));
      }
      placement.groups.push_back(std::move(group));
    }
  }
  placement.record.last_numbers = last_numbers_;
}

}  // namespace cohost::supervisor
