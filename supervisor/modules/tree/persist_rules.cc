// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/persist_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"

namespace cohost::supervisor {

bool PersistPlan::IsInFolder(std::string_view path) const {
  for (std::string_view folder = FolderOf(path); !folder.empty(); folder = FolderOf(folder)) {
    if (std::binary_search(folders.begin(), folders.end(), folder)) return true;
  }
  return false;
}

bool PersistPlan::Holds(std::string_view path) const {
  return std::binary_search(files.begin(), files.end(), path) || IsInFolder(path);
}

absl::StatusOr<PersistRules> PersistRules::Parse(const std::vector<std::string>& patterns) {
  if (patterns.size() > kMostPatterns) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMostPatterns, " patterns; use folders ('uploads/**')"));
  }
  PersistRules rules;
  for (const std::string& pattern : patterns) {
    COHOST_ASSIGN_OR_RETURN(Glob glob, Glob::Parse(pattern));
    if (glob.is_everything()) {
      return absl::InvalidArgumentError(
          absl::StrCat("pattern '", pattern,
                       "': it matches the whole application, which is read-only; name what "
                       "it writes"));
    }
    rules.globs_.push_back(std::move(glob));
  }
  return rules;
}

bool PersistRules::Matches(std::string_view path) const {
  return std::any_of(globs_.begin(), globs_.end(),
                     [path](const Glob& glob) { return glob.Matches(path); });
}

// The state of making one plan.
class PersistRules::Planner {
 public:
  Planner(const PersistRules& rules, const std::vector<WalkedEntry>& entries)
      : rules_(rules), entries_(entries) {
    for (const WalkedEntry& entry : entries) {
      if (entry.type == WalkedEntry::Type::kFolder) {
        content_.try_emplace(entry.path);
        continue;
      }
      // What is no file cannot be persisted, so a folder with one is the tree's.
      const bool matches = entry.type == WalkedEntry::Type::kFile && rules.Matches(entry.path);
      if (matches) matching_.push_back(entry.path);
      for (std::string_view folder = FolderOf(entry.path); !folder.empty();
           folder = FolderOf(folder)) {
        Content& content = content_[std::string(folder)];
        ++(matches ? content.matching : content.other);
      }
    }
  }

  absl::StatusOr<PersistPlan> Plan() {
    for (const Glob& glob : rules_.globs_) AddFolders(glob);
    RemoveNested();
    plan_.folders.assign(folders_.begin(), folders_.end());
    std::set<std::string> files;
    for (const std::string& path : matching_) {
      if (!plan_.IsInFolder(path)) files.insert(path);
    }
    for (const Glob& glob : rules_.globs_) {
      const auto path = glob.literal();
      if (path.has_value() && !folders_.contains(*path) && !plan_.IsInFolder(*path)) {
        files.insert(*path);
      }
    }
    plan_.files.assign(files.begin(), files.end());
    COHOST_RETURN_IF_ERROR(CheckNothingInTheWay());
    for (const Glob& glob : rules_.globs_) AddNotice(glob);
    return std::move(plan_);
  }

 private:
  struct Content {
    size_t matching = 0;
    size_t other = 0;
  };

  void AddFolders(const Glob& glob) {
    if (const auto path = glob.literal(); path.has_value()) {
      if (content_.contains(*path)) folders_.insert(*path);
      return;
    }
    const auto folder = glob.folder();
    if (!folder.has_value()) return;
    if (const auto path = folder->literal(); path.has_value()) {
      const auto content = content_.find(*path);
      if (glob.is_below() || content == content_.end() || content->second.other == 0) {
        folders_.insert(*path);
      }
      return;
    }
    for (const auto& [path, content] : content_) {
      const bool whole = glob.is_below() || (content.matching > 0 && content.other == 0);
      if (whole && folder->Matches(path)) folders_.insert(path);
    }
  }

  void RemoveNested() {
    const std::set<std::string> all = folders_;
    std::erase_if(folders_, [&all](const std::string& path) {
      for (std::string_view folder = FolderOf(path); !folder.empty(); folder = FolderOf(folder)) {
        if (all.contains(std::string(folder))) return true;
      }
      return false;
    });
  }

  absl::Status CheckNothingInTheWay() const {
    const auto type_of = [this](std::string_view path) {
      const auto entry = std::lower_bound(
          entries_.begin(), entries_.end(), path,
          [](const WalkedEntry& each, std::string_view wanted) { return each.path < wanted; });
      return entry == entries_.end() || entry->path != path ? WalkedEntry::Type::kFolder
                                                            : entry->type;
    };
    const auto check_folder = [&](std::string_view path) -> absl::Status {
      if (type_of(path) == WalkedEntry::Type::kFolder) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat("persist needs a folder '", AsAbsl(path),
                                                     "', but the application has a file or link of "
                                                     "this name: change the pattern"));
    };
    for (const auto* paths : {&plan_.folders, &plan_.files}) {
      for (const std::string& path : *paths) {
        if (paths == &plan_.folders) COHOST_RETURN_IF_ERROR(check_folder(path));
        for (std::string_view folder = FolderOf(path); !folder.empty(); folder = FolderOf(folder)) {
          COHOST_RETURN_IF_ERROR(check_folder(folder));
        }
      }
    }
    for (const std::string& path : plan_.files) {
      const WalkedEntry::Type type = type_of(path);
      if (type == WalkedEntry::Type::kLink || type == WalkedEntry::Type::kOther) {
        return absl::InvalidArgumentError(absl::StrCat(
            "persist '", path, "' is no regular file: name the file itself that is written"));
      }
    }
    return absl::OkStatus();
  }

  // A wildcard in a folder that stays the tree's.
  void AddNotice(const Glob& glob) {
    if (glob.literal().has_value() || glob.is_below()) return;
    const auto folder = glob.folder();
    if (folder.has_value()) {
      const auto path = folder->literal();
      // Which folders a wildcard means is not known, so there is nothing to warn of.
      if (!path.has_value() || folders_.contains(*path) || plan_.IsInFolder(*path)) return;
    }
    const auto now = std::count_if(plan_.files.begin(), plan_.files.end(),
                                   [&glob](const std::string& path) { return glob.Matches(path); });
    plan_.notices.push_back(
        absl::StrCat("persist '", glob.text(),
                     "': the application cannot create further files here, since the "
                     "folder is read-only; ",
                     now,
                     " are kept. Name a file that it creates (orders.db), or let "
                     "it write to a folder of its own (data/**)"));
  }

  const PersistRules& rules_;
  const std::vector<WalkedEntry>& entries_;
  std::map<std::string, Content> content_;  // by folder
  std::vector<std::string> matching_;
  std::set<std::string> folders_;
  PersistPlan plan_;
};

absl::StatusOr<PersistPlan> PersistRules::Plan(const std::vector<WalkedEntry>& entries) const {
  return Planner(*this, entries).Plan();
}

}  // namespace cohost::supervisor
