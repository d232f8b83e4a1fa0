// SPDX-License-Identifier: Apache-2.0
#include "tests/supervisor/pool/group_world.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {

GroupWorld::GroupWorld() : parts{loop, time, time, workers, holder, workers, *this, {}} {
  parts.settings.worker_program = "/usr/libexec/cohost-worker";
  parts.settings.binary_id = "build-1";
  parts.settings.log_folder = folder_.path();
  workers.OnExit([this](const ExitRecord& record) {
    const absl::StatusOr<GenerationId> id = ParseGenerationId(record.name);
    if (id.ok() && on_exit) on_exit(*id, record);
    Changed();
  });
}

bool GroupWorld::Step() {
  bool happened = loop.poll() > 0;
  loop.restart();
  holder.RunCallbacks();
  happened |= workers.Run();
  happened |= time.RunDue();
  return happened;
}

void GroupWorld::Settle() {
  for (int round = 0, quiet = 0; quiet < 3; ++round) {
    quiet = Step() ? 0 : quiet + 1;
    if (round == 20'000) return ADD_FAILURE() << "it never comes to rest";
  }
}

void GroupWorld::Pass(absl::Duration duration) {
  const SteadyTime end = time.Steady() + duration;
  Settle();
  while (time.Steady() < end) {
    time.Pass(std::min(end - time.Steady(), time.UntilNext()));
    Settle();
  }
}

std::shared_ptr<ServiceTarget> GroupWorld::Service(uint64_t id, uint64_t revision) {
  UniqueFd& listener = listeners_[id];
  if (!listener.valid()) listener.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto service = std::make_shared<ServiceTarget>();
  service->id = id;
  service->revision = revision;
  service->name = absl::StrCat("s", id);
  service->module_path = absl::StrCat("/store/", id, "-", revision);
  service->listeners.push_back({absl::StrCat("http://127.0.0.1:", 8000 + id), listener.get()});
  return service;
}

GroupTarget GroupWorld::Group(std::vector<std::shared_ptr<const ServiceTarget>> services,
                              uint32_t workers) {
  GroupTarget group;
  group.name = "g";
  group.policy.workers = workers;
  group.services = std::move(services);
  return group;
}

HeldEntry GroupWorld::Held(const GenerationId& id) const {
  std::vector<HeldEntry> entries = holder.CopyAll();
  for (HeldEntry& entry : entries) {
    if (entry.name == id.HoldName()) return std::move(entry);
  }
  ADD_FAILURE() << "nothing is held as " << id.HoldName();
  return {};
}

FakeWorker* GroupWorld::worker(uint32_t slot, uint32_t generation) {
  return workers.Find(absl::StrCat("worker/g/", slot, "/", generation));
}

bool GroupWorld::Told(const std::string& kind, const std::string& part) const {
  return std::any_of(events.begin(), events.end(), [&](const PoolEvent& event) {
    return event.kind == kind && event.message.find(part) != std::string::npos;
  });
}

// As the pool does it: in the order of the timers.
void GroupWorld::Changed() {
  if (converge_timer_.running()) return;
  converge_timer_.Start(absl::ZeroDuration(), [this] {
    if (converge) converge();
  });
}

void GroupWorld::FoldAndRelease(const GenerationId& id, SegmentReader*) {
  folded.push_back(id);
  holder.Release(id.HoldName());
}

}  // namespace cohost::supervisor
