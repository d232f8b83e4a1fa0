// SPDX-License-Identifier: Apache-2.0
//
// The segment: what a worker tells through memory, so that nothing is lost when it dies or hangs.
//
// One sealed memfd a worker generation (F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL), made by the
// supervisor, held by the keeper, mapped writable by the worker and read-only by the supervisor.
// Little endian, this machine's byte order; never written to disk. The reader distrusts it: it
// copies every value once, checks ranges, and treats a counter that fell (a punched hole reads as
// zeros) as a fault of the worker. Untouched pages cost nothing, so capacities are generous. The
// layout is version kSegmentVersion; a reader that meets another version reads only the frozen
// first 64 bytes of the header and serves such a worker out.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cohost {

inline constexpr uint64_t kSegmentMagic = 0x31474553'54534843;  // "CHSTSEG1"
inline constexpr uint32_t kSegmentVersion = 1;
inline constexpr uint32_t kThreadSlots = 4096;  // one more, the overflow slot, follows the last
inline constexpr uint32_t kServiceRows = 1024;
inline constexpr uint32_t kStripes =
    4;  // counters are spread by thread, so cores do not share lines
inline constexpr uint32_t kLatencyBuckets = 13;  // 12 bounds and one above all of them
inline constexpr uint32_t kNoRow = 0xffffffff;

// Upper bounds of the latency histogram, in seconds. Fixed, so that histograms can be added over
// generations.
inline constexpr std::array<double, kLatencyBuckets - 1> kLatencyBounds = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30};

// Why a request was answered by the host and not by the service.
enum class LimitHit : uint32_t {
  kQueueFull,       // 503, more than concurrency + queue
  kRequestTimeout,  // 504
  kHeaderTooLarge,  // 431 or 414
  kBodyTooLarge,    // 413
  kClientTimeout,   // 408, the client was too slow
  kMalformed,       // 400 and other refusals of the parser
  kCount,
};

// Counters of one service in one stripe. Only ever added to, relaxed; every field is a total since
// the worker's start.
struct ServiceCounters {
  std::atomic<uint64_t> started;   // requests whose head was read
  std::atomic<uint64_t> finished;  // answered, failed or abandoned by the client
  std::array<std::atomic<uint64_t>, 6>
      answered;  // by code class: [1]..[5]; [0]: closed without an answer
  std::array<std::atomic<uint64_t>, 6> limit_hits;  // by LimitHit
  std::atomic<uint64_t> latency_sum_ns;  // head read until last byte handed to the kernel
  std::array<std::atomic<uint64_t>, kLatencyBuckets> latency;  // not cumulative
  std::atomic<uint64_t> bytes_received;                        // of HTTP, heads included
  std::atomic<uint64_t> bytes_sent;
  std::atomic<uint64_t> connections;  // accepted
  std::array<std::atomic<uint64_t>, 9> reserved;
};
static_assert(sizeof(ServiceCounters) == 320);
static_assert(static_cast<size_t>(LimitHit::kCount) == 6);

enum class RowState : uint32_t { kFree, kLoading, kReady, kFailed, kDraining, kStopped };

// One service of this worker. The row number is chosen by the worker, told at assign, and not used
// again for another service in the same generation.
struct ServiceRow {
  std::atomic<uint64_t> service_id;  // the supervisor's number for the service; 0: free
  std::atomic<uint32_t> state;       // RowState
  std::atomic<uint32_t> queued;      // requests that wait for concurrency now
  std::atomic<uint64_t>
      oldest_request_ns;  // SteadyTime of the oldest request in the service's code; 0: none
  std::atomic<uint64_t> oldest_queued_ns;  // the same for the queue
  std::atomic<uint64_t> last_accept_ns;    // SteadyTime of the last accepted connection; 0: none
  std::atomic<uint64_t> allocated_bytes;   // by the SDK's alloc, now
  std::array<uint64_t, 2> reserved;
  std::array<ServiceCounters, kStripes> stripes;
};
static_assert(sizeof(ServiceRow) == 64 + 4 * 320);

enum class ThreadState : uint32_t { kFree, kIdle, kInService, kInHost };

// What one thread of the worker is doing: written by that thread alone, read when the worker
// crashed or hangs.
struct alignas(64) ThreadSlot {
  std::atomic<uint32_t> thread_id;  // kernel thread id; 0: free
  std::atomic<uint32_t> state;      // ThreadState
  std::atomic<uint32_t> row;        // service row worked for, kNoRow: none
  uint32_t reserved0;
  std::atomic<uint64_t> request_start_ns;  // SteadyTime; 0: none
  std::array<uint64_t, 5> reserved;
};
static_assert(sizeof(ThreadSlot) == 64);

// Written by async-signal-safe code of a dying worker. `stage` is stored last: a reader believes
// only what the stage covers.
struct CrashRecord {
  std::atomic<uint32_t>
      stage;  // 0 none, 1 identity fields written, 2 stack written, 3 module table written
  uint32_t signal;
  int32_t code;  // si_code
  uint32_t thread_id;
  uint32_t row;  // service row blamed, kNoRow: unknown
  uint32_t stack_size;
  uint64_t fault_address;
  uint64_t stack_pointer;
  std::array<uint64_t, 24> registers;  // in the order of ucontext's gregs
  std::array<char, 256> request_line;  // NUL-terminated, may be cut
  uint32_t module_table_size;
  uint32_t reserved;
  std::array<char, 65536> stack;         // from stack_pointer upwards
  std::array<char, 65536> module_table;  // lines of /proc/self/maps, may be cut
};

struct SegmentHeader {
  // Frozen for ever.
  uint64_t magic;
  uint32_t version;
  uint32_t header_size;
  uint64_t size;  // of the whole segment
  uint32_t generation;
  uint32_t pid;  // as the worker sees itself; 0 until its hello
  std::array<char, 32> binary_id;
  // Of this version.
  uint32_t thread_slots;
  uint32_t service_rows;
  uint32_t stripes;
  uint32_t latency_buckets;
  uint64_t thread_slots_offset;
  uint64_t service_rows_offset;
  uint64_t crash_record_offset;
  std::atomic<uint64_t> thread_slot_overflows;  // threads that found no slot
  std::atomic<uint64_t> accept_progress;        // times the accept thread went round
  std::atomic<uint64_t> loop_progress_ns;  // SteadyTime of the I/O loop's last turn (a timer turns
                                           // it at least every second)
  std::atomic<uint64_t> log_bytes_dropped;
  std::atomic<uint64_t> accept_errors;  // accepts that failed for want of descriptors or memory
};

struct Segment {
  union {
    SegmentHeader header;
    std::array<char, 4096> header_page;
  };
  std::array<ThreadSlot, kThreadSlots + 1> threads;
  std::array<char, 4096 - 64> padding;
  std::array<ServiceRow, kServiceRows> rows;
  CrashRecord crash;
};
static_assert(offsetof(Segment, threads) == 4096);
static_assert(offsetof(Segment, rows) % 4096 == 0);

// Writes the header of a fresh, zeroed segment.
void InitializeSegment(Segment& segment, uint32_t generation);

// Whether the header is one that this build can read whole: magic, version, sizes and offsets.
bool IsReadableSegment(const Segment& segment);

}  // namespace cohost
