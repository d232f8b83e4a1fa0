// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/workers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace cohost::supervisor {

FakeWorker::FakeWorker(std::string name, UniqueFd link, UniqueFd segment,
                       const WorkerBehaviour& behaviour)
    : name_(std::move(name)), link_(std::move(link)), behaviour_(behaviour) {
  segment_ = static_cast<Segment*>(
      mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, segment.get(), 0));
}

FakeWorker::~FakeWorker() { munmap(segment_, sizeof(Segment)); }

bool FakeWorker::Run() {
  if (behaviour_.silent_link) return false;
  bool received = false;
  for (;;) {
    absl::StatusOr<Message> message = ReceiveMessage(link_.get());
    if (!message.ok()) return received;
    received = true;
    Receive(*std::move(message));
  }
}

void FakeWorker::Receive(Message message) {
  const absl::StatusOr<LinkMessage> decoded =
      DecodeLinkMessage(message.bytes, message.descriptors.size());
  if (!decoded.ok()) return;
  LinkMessage answer;
  answer.type = LinkType::kAck;
  answer.sequence = decoded->sequence;
  bool drained = false;
  switch (decoded->type) {
    case LinkType::kHello:
      answer.type = LinkType::kState;
      answer.binary_id = behaviour_.binary_id;
      answer.draining = draining_;
      answer.listener_tokens.assign(tokens_.begin(), tokens_.end());
      for (const auto& [id, service] : services_) {
        answer.services.push_back(
            {id, service.revision, service.row, static_cast<uint32_t>(service.state)});
      }
      break;
    case LinkType::kListener:
      tokens_.insert(decoded->token);
      break;
    case LinkType::kReleaseListener:
      tokens_.erase(decoded->token);
      break;
    case LinkType::kChannel: {
      uint64_t client = 0;
      if (read(message.descriptors.front().get(), &client, sizeof(client)) == sizeof(client)) {
        channels_.insert(client);
      }
      break;
    }
    case LinkType::kRearm:
      ++rearms_;
      break;
    case LinkType::kLogFile:
      ++log_files_;
      break;
    case LinkType::kSuccessor:
      ++successors_;
      break;
    case LinkType::kPredecessor:
      ++predecessors_;
      break;
    case LinkType::kDrain:
      draining_ = true;
      drained = !behaviour_.never_drained;
      break;
    case LinkType::kStop:
      wants_to_exit_ = !behaviour_.ignores_stop;
      break;
    case LinkType::kState:
    case LinkType::kAck:
    case LinkType::kServiceState:
    case LinkType::kDrained:
      answer.code = static_cast<int32_t>(absl::StatusCode::kUnimplemented);
      break;
  }
  Send(answer);
  if (drained) SendDrained();
}

void FakeWorker::Send(const LinkMessage& message) { SendRaw(EncodeLinkMessage(message, 0)); }

void FakeWorker::SendRaw(const std::string& bytes) {
  // A supervisor that is gone is none of a worker's business.
  (void)SendMessage(link_.get(), bytes);
}

void FakeWorker::SendDrained() {
  LinkMessage message;
  message.type = LinkType::kDrained;
  Send(message);
}

void FakeWorker::SendServiceState(uint64_t service_id, RowState state) {
  Service& service = services_.at(service_id);
  service.state = state;
  segment_->rows[service.row].state = static_cast<uint32_t>(state);
  LinkMessage message;
  message.type = LinkType::kServiceState;
  message.services.push_back(
      {service_id, service.revision, service.row, static_cast<uint32_t>(state)});
  Send(message);
}

std::string FakeWorker::ModulePath(uint64_t service_id) const {
  const auto service = services_.find(service_id);
  return service == services_.end() ? "" : service->second.module_path;
}

std::optional<absl::StatusOr<AssignOutcome>> FakeWorker::Assign(const ServiceTarget& target) {
  AssignOutcome outcome;
  outcome.service_id = target.id;
  outcome.revision = target.revision;
  const auto [known, fresh] = services_.try_emplace(target.id);
  Service& service = known->second;
  if (fresh) {
    service.revision = target.revision;
    service.module_path = target.module_path;
    service.row = next_row_++;
    segment_->rows[service.row].service_id = target.id;
    segment_->rows[service.row].state = static_cast<uint32_t>(RowState::kLoading);
  }
  if (service.state == RowState::kLoading) {
    if (behaviour_.deadly.contains(target.name)) {
      dies_ = target.name;
      return std::nullopt;
    }
    if (behaviour_.hanging.contains(target.name)) return std::nullopt;
    if (behaviour_.expired.contains(target.name)) return absl::DeadlineExceededError("too late");
    service.state = behaviour_.failing.contains(target.name) ? RowState::kFailed : RowState::kReady;
    segment_->rows[service.row].state = static_cast<uint32_t>(service.state);
  }
  outcome.ready = service.state == RowState::kReady;
  if (!outcome.ready) {
    const auto reason = behaviour_.failing.find(target.name);
    outcome.reason = reason == behaviour_.failing.end() ? "failed before" : reason->second;
  }
  outcome.row = behaviour_.refused_rows.contains(target.name) ? kServiceRows - 1 : service.row;
  outcome.load_time = absl::Milliseconds(7);
  return outcome;
}

absl::Status FakeWorker::Remove(uint64_t service_id) {
  const auto service = services_.find(service_id);
  if (service == services_.end()) return absl::NotFoundError("not here");
  segment_->rows[service->second.row].state = static_cast<uint32_t>(RowState::kStopped);
  services_.erase(service);
  return absl::OkStatus();
}

void FakeWorker::Count(uint64_t service_id, uint64_t requests) {
  ServiceCounters& counters = segment_->rows[services_.at(service_id).row].stripes[requests % 4];
  counters.started += requests;
  counters.finished += requests;
  counters.answered[2] += requests;
}

std::vector<uint64_t> FakeWorker::services() const {
  std::vector<uint64_t> ids;
  for (const auto& [id, service] : services_) ids.push_back(id);
  return ids;
}

// Calls wait until FakeWorkers::Run, which finds the worker that got this client's channel.
class FakeWorkerClient final : public WorkerClient {
 public:
  FakeWorkerClient(FakeWorkers& workers, UniqueFd socket, uint64_t id)
      : workers_(workers), socket_(std::move(socket)), id_(id) {
    workers_.clients_.insert(this);
    // As many bytes as the worker's side reads: the socket's buffer is empty.
    (void)!write(socket_.get(), &id_, sizeof(id_));
  }
  ~FakeWorkerClient() override { workers_.clients_.erase(this); }

  void Assign(const ServiceTarget& service, absl::Duration, absl::Duration,
              std::function<void(absl::StatusOr<AssignOutcome>)> done) override {
    calls_.push_back([this, service, done = std::move(done)](FakeWorker* worker) {
      if (worker == nullptr) return done(absl::UnavailableError("closed"));
      ++workers_.assigns;
      std::optional<absl::StatusOr<AssignOutcome>> outcome = worker->Assign(service);
      if (outcome.has_value()) done(*std::move(outcome));
    });
  }
  void Remove(uint64_t service_id, absl::Duration,
              std::function<void(absl::Status)> done) override {
    calls_.push_back([service_id, done = std::move(done)](FakeWorker* worker) {
      done(worker == nullptr ? absl::UnavailableError("closed") : worker->Remove(service_id));
    });
  }
  void Probe(absl::Duration,
             std::function<void(absl::StatusOr<std::vector<ProbeOutcome>>)> done) override {
    calls_.push_back([this, done = std::move(done)](FakeWorker* worker) {
      if (worker == nullptr) return done(absl::UnavailableError("closed"));
      ++workers_.probes;
      if (workers_.behaviour.deaf.contains(worker->name())) {
        return done(absl::DeadlineExceededError("no answer"));
      }
      std::vector<ProbeOutcome> outcomes;
      for (const uint64_t id : worker->services()) outcomes.push_back({id, true, ""});
      done(std::move(outcomes));
    });
  }
  void WatchStatistics(absl::Duration, std::function<void(const WorkerGauges&)>,
                       std::function<void(absl::Status)> ended) override {
    ended_ = std::move(ended);
  }

  bool Run() {
    FakeWorker* worker = workers_.WithChannel(id_);
    if (worker != nullptr) attached_ = true;
    // Its channel has not arrived yet.
    if (worker == nullptr && !attached_) return false;
    if (worker == nullptr && ended_) {
      std::exchange(ended_, nullptr)(absl::UnavailableError("closed"));
      return true;
    }
    if (calls_.empty()) return false;
    const auto call = std::move(calls_.front());
    calls_.pop_front();
    call(worker);
    return true;
  }

 private:
  FakeWorkers& workers_;
  UniqueFd socket_;
  const uint64_t id_;
  bool attached_ = false;
  std::deque<std::function<void(FakeWorker*)>> calls_;
  std::function<void(absl::Status)> ended_;
};

void FakeWorkers::Launch(ProcessSpec spec,
                         std::function<void(absl::StatusOr<LaunchedProcess>)> done) {
  const std::string name = spec.name;
  UniqueFd link;
  UniqueFd segment;
  for (const auto& [number, fd] : spec.descriptors) {
    if (number == kLinkDescriptor) link.Reset(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (number == kSegmentDescriptor) segment.Reset(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  }
  launcher_.Launch(std::move(spec), std::move(done));
  launched_ = true;
  if (!launcher_.IsRunning(name)) return;
  workers_[name] =
      std::make_unique<FakeWorker>(name, std::move(link), std::move(segment), behaviour);
}

void FakeWorkers::Kill(const std::string& name, std::function<void(absl::Status)> done) {
  launcher_.Kill(name, std::move(done));
  if (!launcher_.IsRunning(name)) workers_.erase(name);
}

void FakeWorkers::OnExit(std::function<void(const ExitRecord&)> handler) {
  launcher_.OnExit(std::move(handler));
}

std::unique_ptr<WorkerClient> FakeWorkers::Connect(UniqueFd socket) {
  ++connects;
  return std::make_unique<FakeWorkerClient>(*this, std::move(socket), ++last_client_);
}

bool FakeWorkers::Run() {
  bool happened = std::exchange(launched_, false);
  launcher_.RunCallbacks();
  std::vector<std::string> exiting;
  for (const auto& [name, worker] : workers_) {
    happened |= worker->Run();
    if (worker->wants_to_exit()) exiting.push_back(name);
  }
  for (const std::string& name : exiting) Exit(name, 0);
  for (FakeWorkerClient* client :
       std::vector<FakeWorkerClient*>(clients_.begin(), clients_.end())) {
    // One may be ended by another's answer.
    if (clients_.contains(client)) happened |= client->Run();
  }
  std::vector<std::string> dying;
  for (const auto& [name, worker] : workers_) {
    if (worker->dies().has_value()) dying.push_back(name);
  }
  for (const std::string& name : dying) Crash(name, SIGSEGV);
  return happened || !exiting.empty() || !dying.empty();
}

void FakeWorkers::Crash(const std::string& name, int signal) {
  workers_.erase(name);
  launcher_.EndWithSignal(name, signal);
  launched_ = true;
}

void FakeWorkers::Exit(const std::string& name, int code) {
  workers_.erase(name);
  launcher_.EndWithExitCode(name, code);
  launched_ = true;
}

void FakeWorkers::CutChannels() {
  for (uint64_t id = 1; id <= last_client_; ++id) cut_.insert(id);
}

FakeWorker* FakeWorkers::WithChannel(uint64_t client) {
  if (cut_.contains(client)) return nullptr;
  for (const auto& [name, worker] : workers_) {
    if (worker->HasChannel(client)) return worker.get();
  }
  return nullptr;
}

FakeWorker* FakeWorkers::Find(const std::string& name) {
  const auto worker = workers_.find(name);
  return worker == workers_.end() ? nullptr : worker->second.get();
}

std::vector<std::string> FakeWorkers::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, worker] : workers_) names.push_back(name);
  return names;
}

}  // namespace cohost::supervisor
