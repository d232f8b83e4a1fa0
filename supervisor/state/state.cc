// SPDX-License-Identifier: Apache-2.0
#include "supervisor/state/state.h"

#include <pthread.h>

#include <thread>
#include <utility>

#include "base/status.h"
#include "supervisor/state/database.h"
#include "supervisor/state/state_file.h"
#include "supervisor/state/state_writer.h"

namespace cohost::supervisor {

namespace {

constexpr absl::Duration kDestructorLimit = absl::Seconds(2);

}  // namespace

// The writer with its thread's end of it.
class State::Core {
 public:
  Core(OpenedDatabase opened, Options options) : writer_(std::move(opened), std::move(options)) {}

  StateWriter& writer() { return writer_; }

  static void Start(const std::shared_ptr<Core>& core) {
    core->thread_ = std::thread([core] { core->writer_.Run(); });
    // Ignoring its result: the name is for people who look at threads.
    (void)::pthread_setname_np(core->thread_.native_handle(), "state");
  }

  // Called by the owner only.
  absl::Status Close(absl::Duration limit) {
    if (!thread_.joinable()) return absl::OkStatus();
    if (writer_.Finish(limit)) {
      thread_.join();
      return absl::OkStatus();
    }
    thread_.detach();
    return absl::DeadlineExceededError("the state could not be written in time");
  }

 private:
  StateWriter writer_;
  std::thread thread_;
};

State::State(std::shared_ptr<Core> core) : core_(std::move(core)) {}

State::~State() {
  // Ignoring a late end: nobody is left to be told.
  (void)Close(kDestructorLimit);
}

State::Opened State::Open(Options options) {
  OpenedDatabase database = OpenStateFile(options.path);
  Opened opened;
  opened.snapshot = database.snapshot;
  opened.notices = database.notices;
  auto core = std::make_shared<Core>(std::move(database), std::move(options));
  Core::Start(core);
  opened.state.reset(new State(std::move(core)));
  return opened;
}

void State::SaveDeployment(StateRevision revision, PlacementRecord placement,
                           ServiceIds service_ids, Done done) {
  core_->writer().Write(
      [revision = std::move(revision), placement = std::move(placement),
       service_ids = std::move(service_ids)](StateSnapshot& known) {
        known.revision = revision;
        known.placement = placement;
        known.service_ids = service_ids;
      },
      [](Database& database, const StateSnapshot& known, size_t keep) -> absl::Status {
        COHOST_RETURN_IF_ERROR(database.WriteRevision(*known.revision, keep));
        COHOST_RETURN_IF_ERROR(database.WritePlacement(known.placement));
        return database.WriteServiceIds(known.service_ids);
      },
      std::move(done));
}

void State::SaveOperatorStop(std::string service, OperatorStop stop, Done done) {
  core_->writer().Write(
      [service, stop](StateSnapshot& known) { known.operator_stops[service] = stop; },
      [service, stop](Database& database, const StateSnapshot&, size_t) {
        return database.WriteOperatorStop(service, stop);
      },
      std::move(done));
}

void State::ClearOperatorStop(std::string service, Done done) {
  core_->writer().Write([service](StateSnapshot& known) { known.operator_stops.erase(service); },
                        [service](Database& database, const StateSnapshot&, size_t) {
                          return database.EraseOperatorStop(service);
                        },
                        std::move(done));
}

uint64_t State::AppendEvent(HostEvent event) { return core_->writer().Append(std::move(event)); }

void State::ReadEventsAfter(uint64_t id, size_t limit, EventsDone done) {
  core_->writer().Read([id, limit](Database& database) { return database.EventsAfter(id, limit); },
                       std::move(done));
}

void State::ReadLastEvents(size_t count, EventsDone done) {
  core_->writer().Read([count](Database& database) { return database.LastEvents(count); },
                       std::move(done));
}

uint64_t State::dropped_events() const { return core_->writer().dropped_events(); }

absl::Status State::Close(absl::Duration limit) { return core_->Close(limit); }

}  // namespace cohost::supervisor
