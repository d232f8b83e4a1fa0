// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/pool_target.h"

#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <string>

#include "base/status.h"

namespace cohost::supervisor {

absl::StatusOr<uint64_t> ListenerToken(int descriptor) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) return ErrnoStatus(errno, "fstat", "listener");
  if (!S_ISSOCK(status.st_mode)) return absl::InvalidArgumentError("the listener is no socket");
  return status.st_ino;
}

uint64_t SpawnFingerprint(const GroupTarget& group) {
  // FNV-1a over fixed-size values: the same in every build, since the next supervisor compares it.
  uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](uint64_t value) {
    for (int i = 0; i < 8; ++i) {
      hash = (hash ^ (value & 0xff)) * 0x100000001b3;
      value >>= 8;
    }
  };
  // One above the id: 0 says that it is not set.
  mix(group.identity.uid.has_value() ? uint64_t{*group.identity.uid} + 1 : 0);
  mix(group.identity.gid.has_value() ? uint64_t{*group.identity.gid} + 1 : 0);
  mix(group.identity.supplementary_groups.size());
  for (const gid_t gid : group.identity.supplementary_groups) mix(gid);
  mix(group.policy.limits.memory.count);
  mix(std::bit_cast<uint64_t>(group.policy.limits.cpu));
  mix(group.policy.limits.tasks);
  mix(group.policy.limits.open_files);
  for (const std::string& variable : group.environment) {
    mix(variable.size());
    for (const char c : variable) mix(static_cast<unsigned char>(c));
  }
  return hash == 0 ? 1 : hash;
}

}  // namespace cohost::supervisor
