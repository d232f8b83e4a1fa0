// SPDX-License-Identifier: Apache-2.0
#include "worker/native/native_runtime.h"

#include <utility>

#include "worker/native/host/host_table.h"
#include "worker/native/native_service.h"

namespace cohost::worker::native {

NativeRuntime::NativeRuntime(LentParts lent) : parts_(std::move(lent), HostTable()) {}

// The timers first: their thread calls the hosts.
NativeRuntime::~NativeRuntime() { parts_.timers.reset(); }

std::unique_ptr<HostedService> NativeRuntime::Create(NativeServiceDescription description) {
  hosts_.push_back(std::make_shared<ServiceHost>(parts_, std::move(description)));
  return std::make_unique<NativeService>(parts_, hosts_.back());
}

}  // namespace cohost::worker::native
