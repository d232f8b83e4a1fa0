// SPDX-License-Identifier: Apache-2.0
#include "supervisor/profile/process_sampler.h"

#include <pthread.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/pidfd.h"

namespace cohost::supervisor {
namespace {

absl::StatusOr<ProcessMaps> ReadMaps(const ProcessStats& stats) {
  ProcessMaps maps;
  SmapsParser parser([&maps](const Mapping& mapping) { maps.Add(mapping); });
  COHOST_RETURN_IF_ERROR(
      stats.ReadMaps([&parser](std::string_view part) { return parser.Feed(part); }));
  COHOST_RETURN_IF_ERROR(parser.Finish());
  return maps;
}

ProcessSample Sample(const SampledProcess& process, SampleDepth depth) {
  ProcessSample sample;
  sample.name = process.name;
  sample.pid = process.pid;
  const UniqueFd pidfd = OpenPidfd(process.pid);
  absl::StatusOr<ProcessStats> stats =
      absl::NotFoundError(absl::StrCat("there is no process ", process.pid));
  if (pidfd.valid()) stats = ProcessStats::Open(process.pid, pidfd.get());
  if (!stats.ok()) {
    if (depth == SampleDepth::kMappings) sample.maps = stats.status();
    return sample;
  }
  if (const auto memory = stats->ReadMemory(); memory.ok()) sample.memory = *memory;
  if (const auto cpu = stats->ReadCpu(); cpu.ok()) sample.cpu = *cpu;
  if (depth == SampleDepth::kMappings) sample.maps = ReadMaps(*stats);
  return sample;
}

}  // namespace

ProcessSampler::ProcessSampler() : thread_([this] { Run(); }) {}

ProcessSampler::~ProcessSampler() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

bool ProcessSampler::Measure(std::vector<SampledProcess> processes, SampleDepth depth, Done done) {
  {
    MutexLock lock(mutex_);
    if (jobs_.size() >= kMostWaiting) return false;
    jobs_.push_back({std::move(processes), depth, std::move(done)});
  }
  changed_.NotifyOne();
  return true;
}

void ProcessSampler::Run() {
  pthread_setname_np(pthread_self(), "sampler");
  while (true) {
    Job job;
    {
      MutexLock lock(mutex_);
      while (jobs_.empty() && !ending_) changed_.Wait(mutex_);
      if (ending_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    std::vector<ProcessSample> samples;
    samples.reserve(job.processes.size());
    for (const SampledProcess& process : job.processes) {
      {
        MutexLock lock(mutex_);
        if (ending_) return;
      }
      samples.push_back(Sample(process, job.depth));
    }
    job.done(std::move(samples));
  }
}

}  // namespace cohost::supervisor
