// SPDX-License-Identifier: Apache-2.0
#include "supervisor/listen/listener_set.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/strings.h"

namespace cohost::supervisor {
namespace {

constexpr std::string_view kHeldPrefix = "listener/";
constexpr std::string_view kActivationPrefix = "activation/";
constexpr std::string_view kUnixKey = "unix:";

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string HeldName(std::string_view key) {
  return absl::StrCat(AsAbsl(kHeldPrefix), AsAbsl(key));
}

// What is held beside a listener: device and inode of its socket file, "" for TCP.
std::string MakeBlob(const Listener& listener) {
  if (listener.address.kind == Address::Kind::kTcp) return "";
  return absl::StrCat(listener.file.device, " ", listener.file.inode);
}

std::optional<SocketFile> ParseBlob(std::string_view blob) {
  SocketFile file;
  const char* end = blob.data() + blob.size();
  const auto device = std::from_chars(blob.data(), end, file.device);
  if (device.ec != std::errc() || device.ptr == end) return std::nullopt;
  const auto inode = std::from_chars(device.ptr + 1, end, file.inode);
  if (inode.ec != std::errc() || inode.ptr != end) return std::nullopt;
  return file;
}

void Remark(const absl::Status& status, std::vector<std::string>& remarks) {
  if (!status.ok()) remarks.emplace_back(status.message());
}

}  // namespace

std::string ListenerKey(const Address& address, std::string_view service, size_t index) {
  const bool any_port = address.kind == Address::Kind::kTcp && address.port == 0;
  return any_port ? absl::StrCat(address.Key(), "#", AsAbsl(service), "/", index) : address.Key();
}

ListenerSet::Change::~Change() {
  for (const auto& [key, opened] : opened_) {
    if (opened.adopted || opened.listener.address.kind == Address::Kind::kTcp) continue;
    // Ignoring the error: the change has failed or was given up, and a stale file is replaced by
    // the next one who opens it.
    (void)RemoveSocketFile(opened.listener.address.path, opened.listener.file);
  }
}

ListenerSet::ListenerSet(DescriptorHolder& holder, std::function<void(std::string)> report)
    : holder_(holder), report_(std::move(report)) {}

void ListenerSet::Inherit(std::vector<HeldEntry> entries) {
  for (HeldEntry& entry : entries) {
    const bool ours =
        StartsWith(entry.name, kHeldPrefix) || StartsWith(entry.name, kActivationPrefix);
    if (!ours || entry.descriptors.size() != 1) continue;
    inherited_.push_back({entry.name, ParseBlob(entry.blob), std::move(entry.descriptors.front())});
  }
}

std::optional<Listener> ListenerSet::Adopt(const WantedListener& wanted) const {
  for (const Inherited& inherited : inherited_) {
    if (StartsWith(inherited.name, kHeldPrefix) && inherited.name != HeldName(wanted.key)) continue;
    // Any free port means one of our own, not one that somebody else gave a meaning.
    const bool any_port = wanted.address.kind == Address::Kind::kTcp && wanted.address.port == 0;
    if (any_port && StartsWith(inherited.name, kActivationPrefix)) continue;
    // A duplicate, so that giving the change up leaves the inherited one for the next.
    UniqueFd copy(fcntl(inherited.fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy.valid()) continue;
    absl::StatusOr<Listener> listener =
        AdoptListener(std::move(copy), wanted.address, inherited.file);
    // Not this one: another may fit, and if none does the address is opened.
    if (listener.ok()) return *std::move(listener);
  }
  return std::nullopt;
}

absl::StatusOr<ListenerSet::Change::Opened> ListenerSet::AdoptOrOpen(
    const WantedListener& wanted) const {
  if (std::optional<Listener> adopted = Adopt(wanted)) {
    return Change::Opened{*std::move(adopted), wanted.default_owner, /*adopted=*/true};
  }
  COHOST_ASSIGN_OR_RETURN(Listener listener, OpenListener(wanted.address, wanted.default_owner));
  return Change::Opened{std::move(listener), wanted.default_owner, /*adopted=*/false};
}

absl::StatusOr<ListenerSet::Change> ListenerSet::Prepare(
    const std::vector<WantedListener>& wanted) {
  Change change;
  std::vector<std::string> problems;
  absl::StatusCode code = absl::StatusCode::kOk;
  const auto fail = [&problems, &code](const absl::Status& status) {
    if (problems.empty()) code = status.code();
    problems.emplace_back(status.message());
  };
  for (const WantedListener& each : wanted) {
    if (change.kept_.count(each.key) + change.opened_.count(each.key) > 0) {
      fail(absl::InvalidArgumentError(absl::StrCat("'", each.key, "' is wanted twice")));
    } else if (present_.count(each.key) > 0) {
      change.kept_.emplace(each.key, each);
    } else if (absl::StatusOr<Change::Opened> opened = AdoptOrOpen(each); opened.ok()) {
      change.opened_.emplace(each.key, *std::move(opened));
    } else {
      fail(opened.status());
    }
  }
  if (!problems.empty()) return absl::Status(code, absl::StrJoin(problems, "; "));
  return change;
}

ListenerSet::Outcome ListenerSet::Commit(Change change) {
  Outcome outcome;
  std::vector<std::string> gone;
  for (const auto& [key, listener] : present_) {
    if (change.kept_.count(key) == 0) gone.push_back(key);
  }
  for (const std::string& key : gone) Drop(key, outcome);
  CommitKept(change, outcome);
  CommitOpened(change, outcome);
  ReleaseInherited(outcome);
  return outcome;
}

void ListenerSet::CommitKept(const Change& change, Outcome& outcome) {
  for (const auto& [key, wanted] : change.kept_) {
    Listener& listener = present_.at(key);
    Remark(ApplyAttributes(listener, wanted.address, wanted.default_owner), outcome.remarks);
    // The port stays the real one.
    listener.address.mode = wanted.address.mode;
    listener.address.owner = wanted.address.owner;
    listener.address.backlog = wanted.address.backlog;
  }
}

void ListenerSet::CommitOpened(Change& change, Outcome& outcome) {
  for (auto& [key, opened] : change.opened_) {
    if (opened.adopted) {
      Remark(ApplyAttributes(opened.listener, opened.listener.address, opened.default_owner),
             outcome.remarks);
    }
    Hold(key, opened.listener);
    present_.insert_or_assign(key, std::move(opened.listener));
    outcome.opened.push_back(key);
  }
  change.opened_.clear();
}

void ListenerSet::Hold(const std::string& key, const Listener& listener) {
  holder_.Hold(HeldName(key), MakeBlob(listener), {listener.fd.get()},
               [key, report = report_](const absl::Status& status) {
                 if (status.ok() || !report) return;
                 report(absl::StrCat("listener ", key, " is not held: ", status.message()));
               });
}

// What an earlier supervisor left and nobody wants any more. Entries that were adopted are held
// again under their key by now, or are the service manager's, which keeps its own duplicate.
void ListenerSet::ReleaseInherited(Outcome& outcome) {
  for (const Inherited& inherited : inherited_) {
    const std::string_view name = inherited.name;
    const bool held = StartsWith(name, kHeldPrefix);
    const std::string key(held ? name.substr(kHeldPrefix.size()) : "");
    if (held && present_.count(key) > 0) continue;
    if (StartsWith(key, kUnixKey) && inherited.file.has_value()) {
      Remark(RemoveSocketFile(key.substr(kUnixKey.size()), *inherited.file), outcome.remarks);
    }
    holder_.Release(inherited.name);
  }
  inherited_.clear();
}

void ListenerSet::Drop(const std::string& key, Outcome& outcome) {
  const Listener& listener = present_.at(key);
  if (listener.address.kind == Address::Kind::kUnix) {
    Remark(RemoveSocketFile(listener.address.path, listener.file), outcome.remarks);
  }
  holder_.Release(HeldName(key));
  present_.erase(key);
  outcome.closed.push_back(key);
}

ListenerSet::Outcome ListenerSet::Close() {
  Outcome outcome;
  while (!present_.empty()) Drop(std::string(present_.begin()->first), outcome);
  ReleaseInherited(outcome);
  return outcome;
}

const Listener* ListenerSet::Find(const std::string& key) const {
  const auto found = present_.find(key);
  return found == present_.end() ? nullptr : &found->second;
}

}  // namespace cohost::supervisor
