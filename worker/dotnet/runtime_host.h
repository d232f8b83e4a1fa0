// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/format/segment.h"
#include "base/log.h"
#include "worker/accept/accept_gate.h"
#include "worker/dotnet/boundary.h"
#include "worker/loop/thread_slots.h"

namespace cohost::worker::dotnet {

// What the shim may tell about one service. Called on any thread; outlives the service's row.
class ServiceEvents {
 public:
  virtual ~ServiceEvents() = default;

  virtual void Started(bool ok, std::string reason) = 0;
  virtual void Progress() = 0;
  virtual void Drained(uint32_t cancelled) = 0;
  virtual void Stopped() = 0;
  virtual void Noticed(Notice notice, const std::string& text) = 0;
};

// One service as the shim's calls find it. Immutable.
struct HostedRow {
  std::string name;
  uint64_t service_id = 0;
  std::shared_ptr<AcceptGate> gate;
  std::shared_ptr<ServiceEvents> events;
};

// What the worker lends to the shim's calls; outlives the process's use of them.
struct RuntimeHostParts {
  ThreadSlots& slots;
  Log& log;
  // A service without room for connections has some: for Acceptor::NoteRoom. Any thread.
  std::function<void(uint64_t service_id)> note_room;
};

// The worker's side of the boundary: the HostTable, whose plain functions find the services by
// their rows. One per process, since such functions have no object; made before the shim is started
// and never destroyed. Thread-safe.
class RuntimeHost {
 public:
  explicit RuntimeHost(RuntimeHostParts parts);
  RuntimeHost(const RuntimeHost&) = delete;
  RuntimeHost& operator=(const RuntimeHost&) = delete;

  const HostTable& table() const { return table_; }
  // Kept until the process ends: calls of a stopped application may come late.
  void Add(int32_t row, HostedRow hosted);

 private:
  // Null: none there.
  const HostedRow* Find(int32_t row) const;

  static void SetService(int32_t row, uint64_t since_ns);
  static void SetFolder(int32_t row, const char* folder);
  static void WriteLog(int32_t row, ManagedLogLevel level, const char* category, const char* text);
  static void Started(int32_t row, int32_t ok, const char* reason);
  static void Progress(int32_t row);
  static void ConnectionEnded(int32_t row, Channel channel);
  static void Drained(int32_t row, uint32_t cancelled);
  static void Stopped(int32_t row);
  static void Noticed(int32_t row, Notice notice, const char* text);

  // Set in the constructor, never changed.
  const RuntimeHostParts parts_;
  const HostTable table_;

  std::array<std::atomic<const HostedRow*>, kServiceRows> rows_{};
};

}  // namespace cohost::worker::dotnet
