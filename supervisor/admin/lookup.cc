// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/lookup.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/nearest.h"
#include "base/strings.h"

namespace cohost::supervisor {
namespace {

// A name that long cannot be one of ours, and must not be repeated in a message.
constexpr size_t kLongestName = 255;

template <typename View>
absl::Status Check(const std::vector<View>& views, const std::string& name, std::string_view kind) {
  if (name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the name of a ", AsAbsl(kind), " is missing"));
  }
  if (name.size() > kLongestName) {
    return absl::InvalidArgumentError(
        absl::StrCat("a name of ", name.size(), " bytes; at most ", kLongestName));
  }
  const auto has_name = [&](const View& view) { return view.name == name; };
  if (std::any_of(views.begin(), views.end(), has_name)) return absl::OkStatus();
  std::string message = absl::StrCat("no ", AsAbsl(kind), " '", name, "'");
  const auto nearest =
      FindNearest(views, name, [](const View& view) { return std::string_view(view.name); });
  if (nearest != views.end()) {
    absl::StrAppend(&message, "; did you mean '", nearest->name, "'?");
  } else {
    absl::StrAppend(&message, "; `cohostctl ", AsAbsl(kind), "s` lists all");
  }
  return absl::NotFoundError(message);
}

}  // namespace

absl::Status CheckService(const HostSnapshot& snapshot, const std::string& name) {
  return Check(snapshot.services, name, "service");
}

absl::Status CheckGroup(const HostSnapshot& snapshot, const std::string& name,
                        std::optional<uint32_t> slot) {
  if (absl::Status status = Check(snapshot.groups, name, "group"); !status.ok()) return status;
  if (!slot) return absl::OkStatus();
  for (const GroupView& group : snapshot.groups) {
    if (group.name != name || *slot < group.workers) continue;
    return absl::NotFoundError(absl::StrCat("group '", name, "' has no slot ", *slot,
                                            "; its slots are 0 to ", group.workers - 1));
  }
  return absl::OkStatus();
}

}  // namespace cohost::supervisor
