// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/generation.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/build_id.h"
#include "base/status.h"
#include "base/system/seqpacket.h"
#include "supervisor/pool/generation/worker_folder.h"

namespace cohost::supervisor {
namespace {

constexpr absl::Duration kFirstReconnect = absl::Milliseconds(20);

}  // namespace

Generation::Generation(const PoolParts& parts, Observer& observer, GenerationId id)
    : parts_(parts),
      observer_(observer),
      id_(std::move(id)),
      roster_(*this, observer),
      reconnect_timer_(parts.timers) {}

Generation::~Generation() = default;

void Generation::Spawn(const GroupTarget& group, GenerationRecord record, int log_file) {
  record_ = std::move(record);
  MakeFolder(group);
  const absl::Status prepared = Prepare(SpecFor(group), log_file);
  if (prepared.ok()) return;
  reconnect_timer_.Start(absl::ZeroDuration(),
                         [this, prepared] { observer_.OnSpawnFailed(prepared); });
}

// A worker without it serves as well.
void Generation::MakeFolder(const GroupTarget& group) {
  if (!group.diagnostics || parts_.settings.worker_folders.empty()) return;
  std::string path = WorkerFolderPath(parts_.settings.worker_folders, id_);
  const absl::Status made = MakeWorkerFolder(path, group.identity);
  if (made.ok()) {
    folder_ = std::move(path);
  } else {
    remarks_.push_back(absl::StrCat("no diagnostics of .NET: ", made.message()));
  }
}

void Generation::RemoveFolder() {
  if (folder_.empty()) return;
  const absl::Status removed = RemoveWorkerFolder(folder_);
  if (!removed.ok()) observer_.OnRemark(std::string(removed.message()));
}

absl::Status Generation::Prepare(ProcessSpec spec, int log_file) {
  COHOST_ASSIGN_OR_RETURN(auto segment, SegmentReader::Create(id_.number));
  COHOST_ASSIGN_OR_RETURN(SocketPair link, MakeSeqpacketPair());
  segment_fd_ = std::move(segment.first);
  segment_ = std::move(segment.second);
  worker_end_ = std::move(link.second);
  if (log_file >= 0) {
    log_file_.Reset(fcntl(log_file, F_DUPFD_CLOEXEC, 0));
    if (!log_file_.valid()) return ErrnoStatus(errno, "dup", "log file");
  }
  // Held before it is spawned: the next supervisor finds every worker that may live.
  parts_.holder.Hold(id_.HoldName(), EncodeGenerationRecord(record_),
                     {link.first.get(), segment_fd_.get()},
                     [this, alive = std::weak_ptr<bool>(alive_),
                      spec = std::move(spec)](const absl::Status& held) mutable {
                       if (alive.expired()) return;
                       if (held.ok()) return Launch(std::move(spec));
                       observer_.OnSpawnFailed(Annotate(held, "the keeper cannot hold the worker"));
                     });
  StartLink(std::move(link.first));
  return absl::OkStatus();
}

ProcessSpec Generation::SpecFor(const GroupTarget& group) const {
  ProcessSpec spec;
  spec.name = id_.ProcessName();
  spec.program = parts_.settings.worker_program;
  spec.arguments = {parts_.settings.worker_program};
  spec.environment = parts_.settings.environment;
  spec.environment.insert(spec.environment.end(), group.environment.begin(),
                          group.environment.end());
  spec.environment.push_back(absl::StrCat("COHOST_GROUP=", id_.group));
  spec.environment.push_back(absl::StrCat("COHOST_SLOT=", id_.slot));
  spec.environment.push_back(absl::StrCat("COHOST_GENERATION=", id_.number));
  if (!folder_.empty()) {
    spec.environment.push_back(absl::StrCat("COHOST_DIAGNOSTICS_FOLDER=", folder_));
  } else if (group.diagnostics) {
    // Not in a folder that all processes share.
    spec.environment.push_back("DOTNET_EnableDiagnostics=0");
  }
  spec.identity = group.identity;
  spec.limits.open_files = group.policy.limits.open_files;
  spec.limits.memory = group.policy.limits.memory;
  spec.limits.cpu = group.policy.limits.cpu;
  spec.limits.tasks = group.policy.limits.tasks;
  spec.use_cgroup = parts_.settings.use_cgroups;
  return spec;
}

void Generation::Launch(ProcessSpec spec) {
  spec.descriptors = {{kLinkDescriptor, worker_end_.get()},
                      {kSegmentDescriptor, segment_fd_.get()}};
  if (log_file_.valid()) {
    spec.descriptors.emplace_back(1, log_file_.get());
    spec.descriptors.emplace_back(2, log_file_.get());
  }
  parts_.launcher.Launch(std::move(spec), [this, alive = std::weak_ptr<bool>(alive_)](
                                              absl::StatusOr<LaunchedProcess> launched) {
    if (alive.expired()) return;
    // Only the worker has them now, so that its end is the end of the link.
    worker_end_.Reset();
    segment_fd_.Reset();
    log_file_.Reset();
    if (!launched.ok()) return observer_.OnSpawnFailed(launched.status());
    pid_ = launched->pid;
    remarks_.insert(remarks_.end(), launched->remarks.begin(), launched->remarks.end());
    for (const std::string& remark : remarks_) observer_.OnRemark(remark);
  });
}

absl::Status Generation::Adopt(HeldEntry entry, pid_t pid) {
  if (entry.descriptors.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(entry.name, " has ", entry.descriptors.size(), " descriptors"));
  }
  std::error_code error;  // ignoring: then there is no folder
  COHOST_ASSIGN_OR_RETURN(record_, DecodeGenerationRecord(entry.blob));
  COHOST_ASSIGN_OR_RETURN(segment_, SegmentReader::Open(std::move(entry.descriptors[1])));
  pid_ = pid;
  if (std::string path = WorkerFolderPath(parts_.settings.worker_folders, id_);
      std::filesystem::is_directory(path, error)) {
    folder_ = std::move(path);
  }
  StartLink(std::move(entry.descriptors[0]));
  return absl::OkStatus();
}

void Generation::StartLink(UniqueFd socket) {
  link_ = std::make_unique<WorkerLink>(parts_.loop, parts_.timers, parts_.clock, std::move(socket),
                                       BuildId(), *this);
  link_->SendHello();
}

void Generation::OnLinkState(const LinkMessage& state) {
  binary_id_ = state.binary_id;
  if (!roster_.TakeState(state)) return;
  reported_ = true;
  if (state.draining) roster_.Close();
  Connect();
  observer_.OnReported(state.draining);
  roster_.BeginAgain();
}

void Generation::OnServiceState(const LinkServiceState& state) { roster_.TakeServiceState(state); }

void Generation::OnDrained() { observer_.OnGenerationDrained(); }

void Generation::OnLinkLost(const absl::Status& why) { observer_.OnFault(why); }

bool Generation::TakeRow(uint64_t service_id, uint32_t row) {
  if (row == kNoRow) return true;
  const absl::Status taken = segment_->AddRow(service_id, row);
  if (!taken.ok()) observer_.OnFault(taken);
  return taken.ok();
}

WorkerClient* Generation::channel() {
  const bool usable = reported_ && !link_->lost() && !reconnect_timer_.running();
  return usable ? client_.get() : nullptr;
}

void Generation::Connect() {
  absl::StatusOr<SocketPair> channel = MakeStreamPair();
  if (!channel.ok()) return ChannelFailed(channel.status());
  client_ = parts_.clients.Connect(std::move(channel->first));
  link_->SendChannel(channel->second.get(), [this](const absl::Status& taken) {
    if (!taken.ok() && !absl::IsAborted(taken)) ChannelFailed(Annotate(taken, "channel"));
  });
  WatchStatistics();
}

// A channel made from a descriptor cannot reconnect: its first UNAVAILABLE is its end, though not
// yet the worker's (RPC-03). After an exit, the exit record comes before the timer or soon after.
void Generation::ChannelFailed(const absl::Status& why) {
  if (reconnect_timer_.running() || link_->lost()) return;
  if (++failed_channels_ > kMaxChannels) {
    return observer_.OnFault(Annotate(why, "no channel to the worker works"));
  }
  reconnect_timer_.Start(kFirstReconnect * (1 << failed_channels_), [this] {
    client_.reset();
    if (link_->lost()) return;
    Connect();
    roster_.BeginAgain();
  });
}

void Generation::WatchStatistics() {
  client_->WatchStatistics(
      kStatisticsInterval,
      [this](const WorkerGauges& gauges) {
        ChannelWorks();
        roster_.TakeGauges(gauges);
      },
      [this](const absl::Status& ended) {
        if (absl::IsDeadlineExceeded(ended) && channel() != nullptr) return WatchStatistics();
        ChannelFailed(ended);
      });
}

void Generation::Drain(absl::Duration timeout) {
  roster_.Close();
  if (link_ == nullptr) return;  // it could not be spawned, and says so soon
  link_->SendDrain(timeout, [this](const absl::Status& begun) {
    if (begun.ok()) observer_.OnIntakeStopped();
  });
}

void Generation::HandOverTo(Generation& successor) {
  absl::StatusOr<SocketPair> sockets = MakeSeqpacketPair();
  if (!sockets.ok()) return observer_.OnRemark(std::string(sockets.status().message()));
  // The receiver first: nothing is handed to nobody.
  successor.link_->SendPredecessor(sockets->first.get(), [](const absl::Status&) {});
  link_->SendSuccessor(sockets->second.get(), [](const absl::Status&) {});
}

bool Generation::Stop() {
  if (link_ == nullptr || link_->lost()) return false;
  link_->SendStop();
  return true;
}

void Generation::Kill() {
  parts_.launcher.Kill(id_.ProcessName(),
                       [this, alive = std::weak_ptr<bool>(alive_)](const absl::Status& killed) {
                         if (!alive.expired() && !killed.ok()) observer_.OnKillFailed(killed);
                       });
}

void Generation::Rearm() {
  if (reported_ && !link_->lost()) link_->SendRearm([](const absl::Status&) {});
}

void Generation::SetLogFile(int file) {
  // Also before the first answer: one that starts must not write on into the renamed file.
  if (link_ != nullptr && !link_->lost()) link_->SendLogFile(file, [](const absl::Status&) {});
}

void Generation::Probe(absl::Duration timeout) {
  if (channel() == nullptr) return;
  client_->Probe(timeout, [this](const absl::StatusOr<std::vector<ProbeOutcome>>& outcomes) {
    // One call that could not be made is not yet a missed probe.
    if (absl::IsUnavailable(outcomes.status())) return ChannelFailed(outcomes.status());
    if (outcomes.ok()) {
      ChannelWorks();
      roster_.TakeProbe(*outcomes);
    }
    observer_.OnProbe(outcomes.ok());
  });
}

std::vector<uint64_t> Generation::Suspects() {
  if (roster_.suspect() != 0) return {roster_.suspect()};
  return segment_ == nullptr ? std::vector<uint64_t>() : segment_->LoadingServices();
}

}  // namespace cohost::supervisor
