// SPDX-License-Identifier: Apache-2.0
#include "supervisor/memory_meter.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/status.h"
#include "boost/asio/post.hpp"
#include "supervisor/profile/mapped_files.h"

namespace cohost::supervisor {
namespace {

// What the loop knows of processes and files when a measurement begins.
struct Plan {
  std::set<std::string> workers;                             // names of the processes
  std::map<std::string, std::vector<std::string>> services;  // by name of the process
  std::vector<std::string> paths;
  std::vector<std::string> hashes;  // of the paths
  std::map<std::string, std::vector<std::string>> uses;
  absl::Time time;
};

Plan MakePlan(const HostSnapshot& processes, const std::vector<ListedFile>& files,
              absl::Time time) {
  Plan plan;
  plan.time = time;
  for (const WorkerView& worker : processes.workers) {
    const std::string name = ProcessFigures::WorkerName(worker);
    plan.workers.insert(name);
    plan.services[name] = worker.services;
  }
  for (const ListedFile& listed : files) {
    const auto add = [&](const std::string& path) {
      plan.paths.push_back(path);
      plan.hashes.push_back(listed.file.hash);
    };
    add(listed.file.path);
    for (const std::string& copy : listed.copies) add(copy);
    for (const std::string& service : listed.services) {
      plan.uses[service].push_back(listed.file.hash);
    }
  }
  return plan;
}

absl::Status TooManyWait() {
  return absl::ResourceExhaustedError("too many measurements wait already; try again in a moment");
}

// On the sampler's thread: reads headers of the store's files.
absl::StatusOr<MemoryReport> Attribute(Plan plan, const std::vector<ProcessSample>& samples) {
  MemoryInput input;
  input.uses = std::move(plan.uses);
  COHOST_ASSIGN_OR_RETURN(const auto files, IdentifyMappedFiles(plan.paths));
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i]) input.files[files[i]->identity] = {plan.hashes[i], files[i]->bss};
  }
  uint32_t unmeasured = 0;
  for (const ProcessSample& sample : samples) {
    if (!sample.maps.ok()) {
      ++unmeasured;
      continue;
    }
    MeasuredProcess& process = input.processes.emplace_back();
    process.name = sample.name;
    process.services = std::move(plan.services[sample.name]);
    process.maps = *sample.maps;
  }
  MemoryReport report = AttributeMemory(input);
  for (const MeasuredProcess& process : input.processes) {
    if (!plan.workers.contains(process.name)) continue;
    ++report.workers;
    report.workers_pss += process.maps.pss.count;
    RaiseFilePages(process.maps, report.files);
  }
  report.measured = plan.time;
  report.unmeasured = unmeasured;
  return report;
}

}  // namespace

MemoryMeter::MemoryMeter(MemoryMeterParts parts)
    : parts_(std::move(parts)),
      random_(parts_.seed),
      totals_timer_(parts_.timers),
      mappings_timer_(parts_.timers) {}

void MemoryMeter::Begin(absl::Duration delay) {
  ScheduleTotals(delay);
  std::uniform_real_distribution<double> part(1, 2);
  ScheduleMappings(kFirstMappings * part(random_));
}

void MemoryMeter::ScheduleTotals(absl::Duration delay) {
  totals_timer_.Start(delay, [this] {
    MeasureTotals([] {});
    ScheduleTotals(kTotalsInterval);
  });
}

void MemoryMeter::ScheduleMappings(absl::Duration delay) {
  mappings_timer_.Start(delay, [this] {
    // Ignoring an error: nobody waits, and the next day is another.
    Measure(MemoryDepth::kModules, [](const absl::Status&) {});
    std::uniform_real_distribution<double> part(0, 1);
    ScheduleMappings(kMappingsInterval + kMappingsJitter * part(random_));
  });
}

void MemoryMeter::Measure(MemoryDepth depth, std::function<void(const absl::Status&)> done) {
  if (depth == MemoryDepth::kProcesses) {
    return MeasureTotals([done = std::move(done)] { done(absl::OkStatus()); });
  }
  waiting_.push_back(std::move(done));
  if (!std::exchange(measuring_, true)) MeasureMappings();
}

void MemoryMeter::MeasureTotals(std::function<void()> done) {
  auto sampled = [this, done](std::vector<ProcessSample> samples) {
    boost::asio::post(parts_.loop, [this, done, samples = std::move(samples)]() mutable {
      figures_.Update(std::move(samples));
      parts_.changed();
      done();
    });
  };
  std::vector<SampledProcess> processes = ProcessFigures::Processes(parts_.processes());
  if (!sampler_.Measure(std::move(processes), SampleDepth::kTotals, std::move(sampled))) done();
}

void MemoryMeter::MeasureMappings() {
  const HostSnapshot processes = parts_.processes();
  auto sampled = [this, plan = MakePlan(processes, parts_.files(), parts_.clock.Wall())](
                     std::vector<ProcessSample> samples) {
    absl::StatusOr<MemoryReport> report = Attribute(plan, samples);
    boost::asio::post(parts_.loop,
                      [this, samples = std::move(samples), report = std::move(report)]() mutable {
                        FinishMappings(std::move(samples), std::move(report));
                      });
  };
  if (!sampler_.Measure(ProcessFigures::Processes(processes), SampleDepth::kMappings,
                        std::move(sampled))) {
    FinishMappings({}, TooManyWait());
  }
}

void MemoryMeter::MeasureOne(SampledProcess process,
                             std::function<void(const absl::StatusOr<ProcessMaps>&)> done) {
  auto sampled = [this, done](std::vector<ProcessSample> samples) {
    boost::asio::post(parts_.loop,
                      [done, samples = std::move(samples)] { done(samples.front().maps); });
  };
  if (!sampler_.Measure({std::move(process)}, SampleDepth::kMappings, std::move(sampled))) {
    done(TooManyWait());
  }
}

void MemoryMeter::FinishMappings(std::vector<ProcessSample> samples,
                                 absl::StatusOr<MemoryReport> report) {
  if (!samples.empty()) figures_.Update(std::move(samples));
  const absl::Status status = report.status();
  if (status.ok()) report_ = std::make_shared<const MemoryReport>(*std::move(report));
  measuring_ = false;
  parts_.changed();
  // Whoever asks again from inside begins a new one.
  for (const auto& done : std::exchange(waiting_, {})) done(status);
}

void MemoryMeter::Fill(HostSnapshot& snapshot) const {
  figures_.Fill(snapshot);
  snapshot.module_memory = report_;
}

}  // namespace cohost::supervisor
