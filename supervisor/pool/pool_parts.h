// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "boost/asio/io_context.hpp"
#include "supervisor/loop/timers.h"
#include "supervisor/pool/generation/worker_client.h"
#include "supervisor/process/process_launcher.h"

namespace cohost::supervisor {

// Something that happened to a worker or to a service in it. Kinds:
//   worker_state    from -> to, with the reason in `message`
//   worker_exit     how it ended, when nobody had asked for it
//   worker_remark   a limit not applied, a log that cannot be opened, an alarm and its end
//   service_state   of one service in one worker
//   recycle         a replacement begins, has served, or was rejected
//   overload        most workers miss their probes together; nothing is done about single ones
//   pool_remark     about no worker: a ledger that the keeper does not hold, an entry not
//   understood
struct PoolEvent {
  std::string kind;
  std::string group;
  std::optional<uint32_t> slot;
  uint32_t generation = 0;
  std::string service;
  std::string from;
  std::string to;
  std::string message;
};

// Who is told. Called on the loop thread; must not call the pool back except FillSnapshot and
// settled.
class PoolObserver {
 public:
  virtual ~PoolObserver() = default;
  virtual void OnPoolEvent(const PoolEvent& event) = 0;
  // Something that FillSnapshot or settled() tells has changed; at most once a turn of the loop.
  virtual void OnPoolChanged() = 0;
};

struct PoolSettings {
  std::string worker_program;  // absolute path of cohost-worker
  // Its build id as workers say it in their hello; a worker of another one is served out and then
  // replaced. Empty: not compared.
  std::string binary_id;
  std::string log_folder;  // exists; state_dir/logs
  // Where workers get folders of their own (generation/worker_folder.h); runtime_dir/workers.
  // Empty: they get none.
  std::string worker_folders;
  // The environment of every worker, "KEY=value": PATH, LANG, TZ. COHOST_GROUP, COHOST_SLOT and
  // COHOST_GENERATION are added.
  std::vector<std::string> environment;
  bool use_cgroups = true;
  uint64_t seed = 1;  // of all jitter
};

// What a pool and its workers work with. References outlive the pool.
struct PoolParts {
  boost::asio::io_context& loop;
  Timers& timers;
  const Clock& clock;
  ProcessLauncher& launcher;
  DescriptorHolder& holder;
  WorkerClientFactory& clients;
  PoolObserver& observer;
  PoolSettings settings;
};

}  // namespace cohost::supervisor
