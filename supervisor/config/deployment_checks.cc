// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/deployment_checks.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/nearest.h"
#include "base/strings.h"
#include "supervisor/config/address_book.h"
#include "supervisor/config/yaml/scalar.h"

namespace cohost::supervisor {
namespace {

// The segment has 1,024 service rows, some of which belong to services on their way out.
constexpr size_t kMaxServicesOfGroup = 1000;

// One run over a draft.
class Checker {
 public:
  Checker(const DeploymentDraft& draft, ConfigErrors& errors)
      : draft_(draft), deployment_(draft.deployment), errors_(errors) {}

  void Run() {
    CheckGroups();
    CheckServices();
    CheckDefaults();
    CheckHeapLimits();
    CheckSigningKeys();
    CheckAddresses();
  }

 private:
  // What is known of the services of one declared group.
  struct Members {
    size_t count = 0;
    const Place* latency = nullptr;
    const Place* batch = nullptr;
  };

  void Fail(const Place& place, std::string message) {
    errors_.Add({place.file, place.line, place.column, place.key_path, std::move(message)});
  }

  static std::string At(const Place& place) {
    return place.line == 0 ? place.key_path : absl::StrCat(place.file, ":", place.line);
  }

  void CheckGroups() {
    std::map<LoadClass, size_t> matched;
    for (size_t i = 0; i < deployment_.groups.size(); ++i) {
      const Group& group = deployment_.groups[i];
      const GroupPlaces& places = draft_.groups[i];
      const auto [first, added] = groups_.emplace(group.name, i);
      if (!added && !group.name.empty()) {
        Fail(places.name, absl::StrCat("duplicate group '", group.name, "', first at ",
                                       At(draft_.groups[first->second].name)));
      }
      CheckMatch(i, matched);
    }
    by_class_ = std::move(matched);
  }

  void CheckMatch(size_t index, std::map<LoadClass, size_t>& matched) {
    const Group& group = deployment_.groups[index];
    const GroupPlaces& places = draft_.groups[index];
    const bool declared = deployment_.grouping.strategy == Strategy::kDeclared;
    std::set<LoadClass> own;
    for (size_t i = 0; i < group.match.size(); ++i) {
      if (declared) {
        Fail(places.match[i],
             "match needs grouping.strategy load_profile; with declared every "
             "service names its group");
      }
      if (const auto [other, added] = matched.emplace(group.match[i], index); !added) {
        Fail(places.match[i], absl::StrCat("this class is matched already by group '",
                                           deployment_.groups[other->second].name, "' at ",
                                           At(draft_.groups[other->second].name)));
      }
      own.insert(group.match[i]);
    }
    if (own.count(LoadClass::kLatency) + own.count(LoadClass::kBatch) == 2) {
      Fail(places.match.back(), "latency never shares a worker with batch; make two groups");
    }
  }

  void CheckServices() {
    std::map<std::string_view, size_t> names;
    for (size_t i = 0; i < deployment_.services.size(); ++i) {
      const Service& service = deployment_.services[i];
      const auto [first, added] = names.emplace(service.name, i);
      if (!added && !service.name.empty()) {
        Fail(draft_.services[i].name,
             absl::StrCat("duplicate service '", service.name, "', first at ",
                          At(draft_.services[first->second].name)));
      }
      CheckPlacement(i);
    }
  }

  // Whether the service can be placed at all.
  void CheckPlacement(size_t index) {
    const Service& service = deployment_.services[index];
    const ServicePlaces& places = draft_.services[index];
    if (service.group.has_value()) {
      const auto group = groups_.find(*service.group);
      if (group == groups_.end()) {
        FailUnknownGroup(places.group, *service.group);
      } else {
        CheckMember(index, deployment_.groups[group->second]);
      }
    } else if (deployment_.grouping.strategy == Strategy::kDeclared) {
      Fail(places.name, "the service names no group, which grouping.strategy declared demands");
    } else if (const auto group = by_class_.find(service.load.load_class);
               group != by_class_.end()) {
      CheckFit(index, deployment_.groups[group->second]);
    } else {
      CheckDerived(index);
    }
  }

  void FailUnknownGroup(const Place& place, const std::string& name) {
    const auto nearest = FindNearest(groups_, name, [](const auto& entry) { return entry.first; });
    Fail(place, absl::StrCat("no group ", Quoted(name),
                             nearest == groups_.end()
                                 ? ""
                                 : absl::StrCat(", did you mean '", AsAbsl(nearest->first), "'?")));
  }

  // A service that names its group: all of those share workers, whatever placement thinks.
  void CheckMember(size_t index, const Group& group) {
    const Service& service = deployment_.services[index];
    const ServicePlaces& places = draft_.services[index];
    CheckFit(index, group);
    Members& members = members_[group.name];
    if (++members.count == kMaxServicesOfGroup + 1) {
      Fail(places.group, absl::StrCat("group '", group.name, "' has more than ",
                                      kMaxServicesOfGroup, " services"));
    }
    if (service.load.load_class == LoadClass::kLatency) members.latency = &places.name;
    if (service.load.load_class == LoadClass::kBatch) members.batch = &places.name;
    const bool both = members.latency != nullptr && members.batch != nullptr;
    if (!both || (members.latency != &places.name && members.batch != &places.name)) return;
    const Place& other = members.latency == &places.name ? *members.batch : *members.latency;
    Fail(places.load_class,
         absl::StrCat("latency never shares a worker with batch, and group '", group.name,
                      "' has a service of the other class at ", At(other)));
  }

  void CheckFit(size_t index, const Group& group) {
    const Service& service = deployment_.services[index];
    const ServicePlaces& places = draft_.services[index];
    const GroupLimits& limits = group.policy.limits;
    const bool limited = limits.memory.count > 0;
    if (limited && service.load.memory > limits.memory) {
      Fail(places.load_memory, TooLarge(service.load.memory, group.name, limits.memory));
    }
    if (limited && service.limits.memory > limits.memory) {
      Fail(places.limits_memory, TooLarge(service.limits.memory, group.name, limits.memory));
    }
    const double cores = limits.cpu * group.policy.workers;
    if (limits.cpu > 0 && service.load.cpu > cores) {
      Fail(places.load_cpu,
           absl::StrCat(service.load.cpu, " cores are more than the workers of group '", group.name,
                        "' may use together (", cores, ")"));
    }
  }

  static std::string TooLarge(Bytes need, const std::string& group, Bytes limit) {
    return absl::StrCat(FormatBytes(need), " is more than a worker of group '", group,
                        "' may use (", FormatBytes(limit), ")");
  }

  void CheckDerived(size_t index) {
    const Service& service = deployment_.services[index];
    const ServicePlaces& places = draft_.services[index];
    const Grouping& grouping = deployment_.grouping;
    if (service.load.memory > grouping.worker_memory) {
      Fail(places.load_memory,
           absl::StrCat(FormatBytes(service.load.memory), " is more than grouping.worker_memory (",
                        FormatBytes(grouping.worker_memory), "); name a group"));
    }
    if (service.load.cpu > grouping.worker_cpu) {
      Fail(places.load_cpu,
           absl::StrCat(service.load.cpu, " cores are more than grouping.worker_cpu (",
                        grouping.worker_cpu, "); name a group"));
    }
  }

  // Placement fills a derived worker up to worker_memory: a smaller backstop would kill it.
  void CheckDefaults() {
    const Bytes backstop = deployment_.group_defaults.limits.memory;
    const Bytes packed = deployment_.grouping.worker_memory;
    if (deployment_.grouping.strategy == Strategy::kDeclared || backstop.count == 0 ||
        backstop >= packed) {
      return;
    }
    Fail(draft_.defaults_memory,
         absl::StrCat(FormatBytes(backstop), " is less than grouping.worker_memory (",
                      FormatBytes(packed), "), up to which placement fills a worker"));
  }

  // A heap that may fill all that a worker has leaves nothing for the rest of it: the kernel would
  // kill it before .NET says that memory is short.
  void CheckHeapLimit(const GroupPolicy& policy, const Place& place) {
    const Bytes limit = policy.dotnet.heap_limit;
    if (policy.limits.memory.count == 0 || limit < policy.limits.memory) return;
    Fail(place, absl::StrCat(FormatBytes(limit), " is not less than limits.memory (",
                             FormatBytes(policy.limits.memory), ")"));
  }

  void CheckHeapLimits() {
    CheckHeapLimit(deployment_.group_defaults, draft_.defaults.heap_limit);
    for (size_t i = 0; i < deployment_.groups.size(); ++i) {
      CheckHeapLimit(deployment_.groups[i].policy, draft_.groups[i].policy.heap_limit);
    }
  }

  void CheckSigningKeys() {
    const auto& keys = deployment_.host.signing_keys;
    if (keys.size() > kMostSigningKeys) {
      Fail(draft_.signing_keys,
           absl::StrCat(keys.size(), " keys are more than ", kMostSigningKeys));
    }
    CheckKeyNames(draft_.defaults.signatures_from);
    for (const GroupPlaces& group : draft_.groups) CheckKeyNames(group.policy.signatures_from);
  }

  void CheckKeyNames(const std::vector<NamedKey>& named) {
    const auto& keys = deployment_.host.signing_keys;
    for (const NamedKey& key : named) {
      if (keys.count(key.name) > 0) continue;
      const auto nearest = FindNearest(
          keys, key.name, [](const auto& entry) { return std::string_view(entry.first); });
      Fail(key.place, absl::StrCat("no key ", Quoted(key.name), " in host.signing_keys",
                                   nearest == keys.end()
                                       ? ""
                                       : absl::StrCat(", did you mean '", nearest->first, "'?")));
    }
  }

  void CheckAddresses() {
    AddressBook book;
    const auto add = [this, &book](const Address& address, const Place& place,
                                   const std::string& user) {
      if (const AddressBook::Entry* other = book.Add(address, place, user)) {
        Fail(place,
             absl::StrCat(
                 "'", address.text, "' is the address of ", other->user, " at ", At(other->place),
                 other->text == address.text ? "" : absl::StrCat(" ('", other->text, "')")));
      }
    };
    const Host& host = deployment_.host;
    add(host.admin, draft_.admin, "host.admin");
    if (host.metrics.has_value()) add(*host.metrics, draft_.metrics, "host.metrics");
    for (size_t i = 0; i < deployment_.services.size(); ++i) {
      const Service& service = deployment_.services[i];
      for (size_t j = 0; j < service.listen.size(); ++j) {
        add(service.listen[j], draft_.services[i].addresses[j],
            absl::StrCat("service '", service.name, "'"));
      }
    }
  }

  const DeploymentDraft& draft_;
  const Deployment& deployment_;
  ConfigErrors& errors_;
  // Index of each group by name, and of the one that matches a class.
  std::map<std::string_view, size_t> groups_;
  std::map<LoadClass, size_t> by_class_;
  std::map<std::string_view, Members> members_;
};

}  // namespace

void CheckDeployment(const DeploymentDraft& draft, ConfigErrors& errors) {
  Checker(draft, errors).Run();
}

}  // namespace cohost::supervisor
