// SPDX-License-Identifier: Apache-2.0
//
// The keeper's protocol: a SOCK_SEQPACKET socketpair between cohostd and its child, the supervisor
// (descriptor 3 there). Made anew for each supervisor; what the keeper has outlives it.
//
// A message is a KeeperHeader and a body of `body_size` bytes, little endian, with up to 64
// descriptors. The whole protocol of version 1 is frozen: a keeper is not replaced while it runs,
// so every later supervisor must understand it. A later version adds types only.
//
//   supervisor -> keeper                            keeper -> supervisor
//   kList                                           kListBegin, kHeldEntry (each one entry with its
//                                                   descriptors), kRunning (each one process with
//                                                   its pidfd), kExited (every unacknowledged
//                                                   record, again), kListEnd
//   kSpawn + descriptors                            kSpawned + 1 descriptor (pidfd), or kError
//   kHold + descriptors                             kDone or kError; replaces an entry of that name
//   kRelease                                        kDone, also when there is no such entry
//   kEnd                                            kDone when nothing of the process is left,
//   kError
//                                                   DEADLINE_EXCEEDED after 5 s
//   kAcknowledge                                    nothing
//   kReady                                          nothing
//   kShutdownComplete                               nothing; the keeper ends everything and exits
//                                                   kExited: whenever a process was reaped
//                                                   kShutdown: SIGTERM or SIGINT came
//                                                   kReload: SIGHUP came
//
// The design's list is spawn, hold, release, list. The others are here because of who can do them:
// kEnd, since only the keeper is the parent that leftovers of a process fall to, so only it can
// tell that nothing is left; kShutdown and kReload, since people and systemd signal the keeper;
// kReady and kShutdownComplete, since only the supervisor knows when everything serves and when it
// is drained.
//
// Answers repeat the request's sequence; kExited, kShutdown and kReload have sequence 0. Requests
// are taken in order, but answered as they finish. A request with a malformed body is answered with
// kError INVALID_ARGUMENT, one of an unknown type with kError UNIMPLEMENTED. A message whose header
// does not fit ends the connection: the keeper kills the supervisor and starts the next one; a
// supervisor exits. A message that arrived without some of its descriptors is lost: the keeper
// answers kError RESOURCE_EXHAUSTED with sequence 0, and the request runs into its limit.
//
// Bodies (strings: u32 length and bytes; lists: u32 count and elements):
//
//   kSpawn            string name, string program, strings arguments, strings environment,
//                     list of u32 numbers (the descriptors' in the child, in their order),
//                     u32 flags (SpawnFlags), u32 kind (0), u32 uid, u32 gid, list of u32 groups,
//                     u64 open files, u64 core bytes, u32 oom score (two's complement),
//                     u64 memory bytes, u64 cpu in millionths of a core, u32 tasks
//   kHold             string name, string blob
//   kRelease, kEnd    string name
//   kAcknowledge      u64 record
//   kReady            string line
//   kShutdownComplete u32 exit code (0 to 255)
//   kDone, kList, kListEnd, kShutdown, kReload        nothing
//   kError            u32 code (absl::StatusCode), string message
//   kSpawned          u32 pid, strings remarks
//   kListBegin        u32 supervisor restarts, u64 start of the keeper (CLOCK_MONOTONIC, ns)
//   kHeldEntry        string name, string blob
//   kRunning          string name, u32 pid
//   kExited           u64 record, string name, u32 pid, u32 how (0 code, 1 signal, 2 unknown),
//                     u32 code or signal, u32 out of memory (0 or 1), u64 user ns, u64 system ns
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cohost::supervisor {

inline constexpr uint32_t kKeeperMagic = 0x52504b43;  // "CKPR"
inline constexpr uint16_t kKeeperVersion = 1;

inline constexpr size_t kMaxProcessName = 120;
inline constexpr size_t kMaxEntryName = 255;
inline constexpr size_t kMaxBlob = 4096;
inline constexpr size_t kMaxReadyLine = 120 * 1024;
// Highest number of a descriptor in a child.
inline constexpr uint32_t kMaxChildDescriptor = 255;

enum class KeeperType : uint16_t {
  kList = 1,
  kSpawn = 2,
  kHold = 3,
  kRelease = 4,
  kEnd = 5,
  kAcknowledge = 6,
  kReady = 7,
  kShutdownComplete = 8,

  kDone = 32,
  kError = 33,
  kSpawned = 34,
  kListBegin = 35,
  kHeldEntry = 36,
  kRunning = 37,
  kListEnd = 38,
  kExited = 39,
  kShutdown = 40,
  kReload = 41,
};

struct KeeperHeader {
  uint32_t magic = kKeeperMagic;
  uint16_t version = kKeeperVersion;
  uint16_t type = 0;  // KeeperType
  uint64_t sequence = 0;
  uint32_t body_size = 0;
  uint32_t descriptor_count = 0;
};
static_assert(sizeof(KeeperHeader) == 24);

enum SpawnFlags : uint32_t {
  kSpawnUseCgroup = 1,
  kSpawnSetUid = 2,  // `uid` counts
  kSpawnSetGid = 4,  // `gid` counts
};

// The body of kSpawn. Meanings as in ProcessSpec (process_launcher.h).
struct SpawnRequest {
  std::string name;
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::vector<uint32_t> numbers;
  uint32_t flags = 0;
  uint32_t kind = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
  uint64_t open_files = 0;
  uint64_t core_size = 0;
  int32_t oom_score_adjust = 0;
  uint64_t memory = 0;
  uint64_t cpu_millionths = 0;
  uint32_t tasks = 0;
};

enum class ExitHow : uint32_t { kCode = 0, kSignal = 1, kUnknown = 2 };

// The body of kExited.
struct ExitNotice {
  uint64_t record = 0;
  std::string name;
  uint32_t pid = 0;
  ExitHow how = ExitHow::kUnknown;
  uint32_t value = 0;
  bool out_of_memory = false;
  uint64_t user_ns = 0;
  uint64_t system_ns = 0;
};

// The decoded form of every message. Only the members that its type names above are used.
struct KeeperMessage {
  KeeperType type = KeeperType::kList;
  uint64_t sequence = 0;

  SpawnRequest spawn{};                // kSpawn
  ExitNotice exit{};                   // kExited
  std::string name{};                  // kHold, kRelease, kEnd, kHeldEntry, kRunning
  std::string text{};                  // blob, ready line, message of kError
  uint32_t number = 0;                 // pid, exit code, code of kError, supervisor restarts
  uint64_t big_number = 0;             // record of kAcknowledge, start of the keeper
  std::vector<std::string> remarks{};  // kSpawned
};

// The bytes of a message that travels with `descriptor_count` descriptors. INVALID_ARGUMENT when it
// is longer than a message may be.
absl::StatusOr<std::string> EncodeKeeperMessage(const KeeperMessage& message,
                                                size_t descriptor_count);

// INVALID_ARGUMENT when the header does not fit the message.
absl::StatusOr<KeeperHeader> DecodeKeeperHeader(std::string_view bytes, size_t descriptor_count);
// The message under a header that fits: INVALID_ARGUMENT for a malformed body, UNIMPLEMENTED for an
// unknown type.
absl::StatusOr<KeeperMessage> DecodeKeeperMessage(const KeeperHeader& header,
                                                  std::string_view bytes);

// kError's code and text as a status and back.
absl::Status ErrorOf(const KeeperMessage& message);
KeeperMessage ErrorMessage(uint64_t sequence, const absl::Status& status);

}  // namespace cohost::supervisor
