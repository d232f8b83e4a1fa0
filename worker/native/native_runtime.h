// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/units.h"
#include "worker/handler_pool.h"
#include "worker/hosted_service.h"
#include "worker/native/data_images.h"
#include "worker/native/module.h"
#include "worker/native/service_calls.h"
#include "worker/timers.h"

namespace cohost::worker::native {

class ServiceHost;

// One service of the deployment, as the native runtime needs it.
struct NativeServiceDescription {
  std::string name;
  uint32_t row = 0;  // of the segment
  std::string module_path;
  // Flattened: "db:password", "list:0".
  std::vector<std::pair<std::string, std::string>> settings;
  std::string data_folder;
  // Paths by the name that the module asks for.
  std::map<std::string, std::string> data_images;
  // Of the SDK's alloc; 0: no limit.
  Bytes memory_limit;
};

// What all native services of a worker share: the modules, the timers, the images, and what the
// worker lends them. Made once per worker; destroyed, if at all, after the services and their
// table.
class NativeRuntime {
 public:
  struct Parts {
    HandlerPool& pool;
    const Clock& clock;
    Log& log;
    // Runs a function on the I/O thread, later. Any thread.
    std::function<void(std::function<void()>)> post_to_io;
    // For calls between services.
    CallTarget& call_target;
    uint32_t generation = 0;
  };

  // The references in `parts` outlive the runtime.
  explicit NativeRuntime(Parts parts);
  ~NativeRuntime();
  NativeRuntime(const NativeRuntime&) = delete;
  NativeRuntime& operator=(const NativeRuntime&) = delete;

  // A service that is not loaded yet: Start does that. I/O thread.
  std::unique_ptr<HostedService> Create(NativeServiceDescription description);

  const Parts& parts() const { return parts_; }
  ThreadSlots& slots() { return parts_.pool.slots(); }
  ModuleSet& modules() { return modules_; }
  DataImages& images() { return images_; }
  Timers& timers() { return *timers_; }

 private:
  // Set in the constructor, never changed.
  const Parts parts_;

  ModuleSet modules_;
  DataImages images_;
  // Kept for the worker's life: modules may use their pointer to a service that was destroyed. I/O
  // thread only.
  std::vector<std::shared_ptr<ServiceHost>> hosts_;
  std::unique_ptr<Timers> timers_;
};

}  // namespace cohost::worker::native
