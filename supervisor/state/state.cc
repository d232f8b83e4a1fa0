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

void State::SaveDeployment(DeploymentChange change, Done done) {
  auto shared = std::make_shared<const DeploymentChange>(std::move(change));
  core_->writer().Write(
      [shared](StateSnapshot& known) {
        known.revision = shared->revision;
        known.placement = shared->placement;
        known.service_ids = shared->service_ids;
        known.pins = shared->pins;
        for (const ServiceChange& service : shared->services) {
          known.services[service.service] = service;
          if (service.files.module.empty()) known.services.erase(service.service);
        }
      },
      [shared](Database& database, const StateSnapshot&, size_t keep) -> absl::Status {
        HistoryTables history = database.history();
        COHOST_RETURN_IF_ERROR(history.WriteRevision(shared->revision, keep));
        for (const ServiceChange& service : shared->services) {
          COHOST_RETURN_IF_ERROR(history.WriteServiceChange(service));
        }
        COHOST_RETURN_IF_ERROR(history.ForgetRemoved(shared->revision.applied));
        COHOST_RETURN_IF_ERROR(history.WritePins(shared->pins));
        COHOST_RETURN_IF_ERROR(history.WriteModules(shared->modules));
        COHOST_RETURN_IF_ERROR(database.WritePlacement(shared->placement));
        return database.WriteServiceIds(shared->service_ids);
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

template <typename T>
void State::Read(std::function<absl::StatusOr<T>(Database&)> query, ReadDone<T> done) {
  auto result = std::make_shared<absl::StatusOr<T>>(absl::UnknownError("not read"));
  core_->writer().Read(
      [query = std::move(query), result](Database& database) {
        *result = query(database);
        return result->status();
      },
      [done = std::move(done), result](absl::Status status) {
        if (!status.ok()) return done(std::move(status));
        done(std::move(*result));
      });
}

void State::ReadEventsAfter(uint64_t id, size_t limit, EventsDone done) {
  Read<std::vector<HostEvent>>(
      [id, limit](Database& database) { return database.EventsAfter(id, limit); }, std::move(done));
}

void State::ReadLastEvents(size_t count, EventsDone done) {
  Read<std::vector<HostEvent>>([count](Database& database) { return database.LastEvents(count); },
                               std::move(done));
}

void State::ReadRevisions(size_t limit, ReadDone<std::vector<StateRevision>> done) {
  Read<std::vector<StateRevision>>(
      [limit](Database& database) { return database.history().Revisions(limit); }, std::move(done));
}

void State::ReadRevision(uint64_t revision, ReadDone<StateRevision> done) {
  Read<StateRevision>(
      [revision](Database& database) { return database.history().Revision(revision); },
      std::move(done));
}

void State::ReadChanges(std::string service, size_t limit,
                        ReadDone<std::vector<ServiceChange>> done) {
  Read<std::vector<ServiceChange>>(
      [service = std::move(service), limit](Database& database) {
        return database.history().Changes(service, limit);
      },
      std::move(done));
}

void State::ReadChangesAt(uint64_t revision, ReadDone<std::map<std::string, ServiceChange>> done) {
  Read<std::map<std::string, ServiceChange>>(
      [revision](Database& database) { return database.history().ChangesAt(revision); },
      std::move(done));
}

void State::ReadHashes(ReadDone<std::set<std::string>> done) {
  Read<std::set<std::string>>([](Database& database) { return database.history().Hashes(); },
                              std::move(done));
}

void State::ReadModules(ReadDone<std::map<std::string, ModuleRecord>> done) {
  Read<std::map<std::string, ModuleRecord>>(
      [](Database& database) { return database.history().Modules(); }, std::move(done));
}

void State::ForgetModules(std::set<std::string> hashes, Done done) {
  core_->writer().Write(
      [](StateSnapshot&) {},
      [hashes = std::move(hashes)](Database& database, const StateSnapshot&, size_t) {
        return database.history().EraseModules(hashes);
      },
      std::move(done));
}

uint64_t State::dropped_events() const { return core_->writer().dropped_events(); }

absl::Status State::Close(absl::Duration limit) { return core_->Close(limit); }

}  // namespace cohost::supervisor
