// SPDX-License-Identifier: Apache-2.0
#include "worker/native/native_runtime.h"

#include "worker/native/host_table.h"
#include "worker/native/native_service.h"
#include "worker/native/service_host.h"

namespace cohost::worker::native {

NativeRuntime::NativeRuntime(Parts parts)
    : parts_(std::move(parts)),
      modules_(HostTable()),
      timers_(std::make_unique<Timers>(parts_.clock)) {}

// The timers first: their thread calls the hosts.
NativeRuntime::~NativeRuntime() { timers_.reset(); }

std::unique_ptr<HostedService> NativeRuntime::Create(NativeServiceDescription description) {
  hosts_.push_back(std::make_shared<ServiceHost>(*this, std::move(description)));
  return std::make_unique<NativeService>(*this, hosts_.back());
}

}  // namespace cohost::worker::native
