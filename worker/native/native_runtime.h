// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "worker/native/host/native_service_description.h"
#include "worker/native/host/runtime_parts.h"
#include "worker/native/host/service_host.h"
#include "worker/services/hosted_service.h"

namespace cohost::worker::native {

// Makes the native services of a worker and keeps what they share. Made once per worker; destroyed,
// if at all, after the services and their table.
class NativeRuntime {
 public:
  explicit NativeRuntime(LentParts lent);
  ~NativeRuntime();
  NativeRuntime(const NativeRuntime&) = delete;
  NativeRuntime& operator=(const NativeRuntime&) = delete;

  // A service that is not loaded yet: Start does that. I/O thread.
  std::unique_ptr<HostedService> Create(NativeServiceDescription description);

  // As DataImages::ReleasePages.
  void ReleaseImagePages() { parts_.images.ReleasePages(); }

 private:
  RuntimeParts parts_;
  // Kept for the worker's life: modules may use their pointer to a service that was destroyed. I/O
  // thread only.
  std::vector<std::shared_ptr<ServiceHost>> hosts_;
};

}  // namespace cohost::worker::native
