// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ready_line.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include "supervisor/keeper/protocol.h"

namespace cohost::supervisor {
namespace {

using google::protobuf::Struct;

void Set(Struct& out, const char* name, double number) {
  (*out.mutable_fields())[name].set_number_value(number);
}

void Set(Struct& out, const char* name, const std::string& text) {
  (*out.mutable_fields())[name].set_string_value(text);
}

std::string ToLine(const Struct& fields) {
  std::string line;
  // Fails for invalid UTF-8 only, which names and addresses of a checked deployment do not have.
  const auto status = google::protobuf::util::MessageToJsonString(fields, &line);
  return status.ok() ? line : "{}";
}

}  // namespace

std::string ReadyLine(const HostSnapshot& snapshot, const std::string& admin_socket) {
  Struct fields;
  Struct addresses;
  int ready = 0;
  int failed = 0;
  for (const ServiceView& service : snapshot.services) {
    ready += service.status == ServiceStatus::kReady ? 1 : 0;
    failed += service.status == ServiceStatus::kFailed ? 1 : 0;
    auto* list = (*addresses.mutable_fields())[service.name].mutable_list_value();
    for (const std::string& address : service.addresses) {
      list->add_values()->set_string_value(address);
    }
  }
  int workers = 0;
  for (const WorkerView& worker : snapshot.workers) {
    workers += worker.status == WorkerStatus::kReady ? 1 : 0;
  }
  Set(fields, "services", static_cast<double>(snapshot.services.size()));
  Set(fields, "ready", ready);
  Set(fields, "failed", failed);
  Set(fields, "workers", workers);
  if (snapshot.ready_after) {
    Set(fields, "ready_after_ms", absl::ToDoubleMilliseconds(*snapshot.ready_after));
  }
  Set(fields, "admin", admin_socket);
  if (!snapshot.metrics_address.empty()) Set(fields, "metrics", snapshot.metrics_address);
  Set(fields, "keeper_pid", snapshot.keeper_pid);
  Set(fields, "supervisor_pid", snapshot.supervisor_pid);
  const std::string short_line = ToLine(fields);
  *(*fields.mutable_fields())["addresses"].mutable_struct_value() = std::move(addresses);
  std::string line = ToLine(fields);
  return line.size() <= kMaxReadyLine ? line : short_line;
}

}  // namespace cohost::supervisor
