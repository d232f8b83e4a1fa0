// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "supervisor/config/deployment.h"
#include "supervisor/listen/listener.h"
#include "supervisor/process/process_launcher.h"

namespace cohost::supervisor {

// The name of a listener: Address::Key(), and for port 0 also whose it is, since any number of
// services may ask for a free port of one host.
std::string ListenerKey(const Address& address, std::string_view service, size_t index);

// An address that should be open, with the user that owns a unix socket which names none.
struct WantedListener {
  std::string key;  // ListenerKey()
  Address address;
  std::optional<uid_t> default_owner;
};

// All listening sockets of the host, by ListenerKey(). A change is prepared (may fail, changes
// nothing that anybody sees) and then committed (cannot fail). Each listener is held by the keeper
// as "listener/<key>" from its commit on, so the next supervisor gets the same sockets. Loop thread
// only; the holder outlives the set. Ending the set closes this process's duplicates and removes no
// socket file: sockets outlive the supervisor. Close() is the orderly end.
class ListenerSet {
 public:
  // A prepared change: the listeners that were not there before.
  class Change {
   public:
    Change(Change&& other) noexcept
        : opened_(std::move(other.opened_)), kept_(std::move(other.kept_)) {
      other.opened_.clear();
    }
    Change& operator=(Change&&) = delete;
    // Undoes what was opened: an uncommitted change leaves no socket file behind.
    ~Change();

   private:
    friend class ListenerSet;
    Change() = default;
    struct Opened {
      Listener listener;
      std::optional<uid_t> default_owner;
      // Taken over: undoing it leaves the socket and its file alone.
      bool adopted = false;
    };
    std::map<std::string, Opened> opened_;
    // Listeners that stay, by key, as they are wanted now.
    std::map<std::string, WantedListener> kept_;
  };

  // `report` gets a line for each listener that the keeper refused to hold: it works, but ends with
  // this supervisor.
  explicit ListenerSet(DescriptorHolder& holder, std::function<void(std::string)> report = nullptr);
  ListenerSet(const ListenerSet&) = delete;
  ListenerSet& operator=(const ListenerSet&) = delete;

  // Gives the set what an earlier supervisor ("listener/<key>") or the service manager
  // ("activation/N") opened. A wanted address that one of them fits uses it instead of opening.
  void Inherit(std::vector<HeldEntry> entries);

  // Opens every wanted address that is not present. On failure names each address that could not be
  // opened, in one message.
  absl::StatusOr<Change> Prepare(const std::vector<WantedListener>& wanted);

  // What a commit did.
  struct Outcome {
    std::vector<std::string> opened;
    std::vector<std::string> closed;
    // Changed modes, owners and backlogs that could not be applied, files that could not be
    // removed.
    std::vector<std::string> remarks;
  };
  // Makes the prepared listeners present, applies changed modes, owners and backlogs to those that
  // stay, and closes those that are not wanted. Inherited entries that nobody wanted are released.
  Outcome Commit(Change change);

  // Closes everything, removes our socket files and releases what the keeper holds.
  Outcome Close();

  // Null when absent; valid until the next Commit.
  const Listener* Find(const std::string& key) const;
  const std::map<std::string, Listener>& listeners() const { return present_; }

 private:
  struct Inherited {
    std::string name;  // of the entry
    std::optional<SocketFile> file;
    UniqueFd fd;
  };
  absl::StatusOr<Change::Opened> AdoptOrOpen(const WantedListener& wanted) const;
  // A duplicate of the inherited listener that fits, or none.
  std::optional<Listener> Adopt(const WantedListener& wanted) const;
  void CommitOpened(Change& change, Outcome& outcome);
  void CommitKept(const Change& change, Outcome& outcome);
  void ReleaseInherited(Outcome& outcome);
  void Hold(const std::string& key, const Listener& listener);
  void Drop(const std::string& key, Outcome& outcome);

  // Set in the constructor, never changed.
  DescriptorHolder& holder_;
  const std::function<void(std::string)> report_;
  // Loop thread only.
  std::map<std::string, Listener> present_;
  std::vector<Inherited> inherited_;
};

}  // namespace cohost::supervisor
