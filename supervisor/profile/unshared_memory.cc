// SPDX-License-Identifier: Apache-2.0
#include "supervisor/profile/unshared_memory.h"

#include <utility>

namespace cohost::supervisor {
UnsharedSample MakeUnsharedSample(std::string service, const ProcessMaps& maps) {
  UnsharedSample sample;
  sample.service = std::move(service);
  sample.own = maps.anonymous.count + maps.shared_memory.count;
  for (const auto& [identity, file] : maps.files) sample.files += file.file_bytes();
  return sample;
}

void ScaleUnshared(const FilePages& files, UnsharedMemory& memory) {
  uint64_t count = 0;
  uint64_t own = 0;
  uint64_t copied = 0;
  for (const UnsharedSample& sample : memory.samples) {
    if (!sample.status.ok()) continue;
    ++count;
    own += sample.own;
    copied += sample.files;
  }
  if (count == 0) return;
  memory.own = own * memory.services / count;
  memory.files_copied = copied * memory.services / count;
  for (const auto& [identity, bytes] : files) memory.files_once += bytes;
}

}  // namespace cohost::supervisor
