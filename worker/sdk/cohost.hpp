// SPDX-License-Identifier: Apache-2.0
//
// The C++17 face of cohost.h: header only, and the manual of what it wraps. A module is a class
// derived from cohost::Service and one line COHOST_MODULE(Class, flags). Exceptions end at the
// border: from Handle the client gets 500, from the constructor or Start the service has failed
// with the exception's text. Names follow the C functions; threads and limits are as documented
// there.
#pragma once

#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "worker/sdk/cohost.h"
#include "worker/sdk/context.hpp"
#include "worker/sdk/host.hpp"
#include "worker/sdk/request.hpp"
#include "worker/sdk/text.hpp"

namespace cohost {

// What a module derives from: one object per deployed service, made with its Context. The
// constructor runs as `create`, the destructor as `destroy`.
class Service {
 public:
  explicit Service(Context context) : context_(context) {}
  virtual ~Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Life-cycle thread; done when they return.
  virtual void Start() {}
  virtual void Drain() {}
  virtual void Stop() {}
  // Service code, see the module's flags.
  virtual void Handle(Request request) = 0;
  // I/O thread. The Request object stays where it is; its answers get COHOST_GONE.
  virtual void Cancelled(cohost_request, cohost_cancel_reason) {}
  // A host's thread. One line when the service cannot do its work, empty when it can.
  virtual std::string Health() { return {}; }

 protected:
  const Context& context() const { return context_; }

 private:
  const Context context_;
};

namespace internal {

// Calls `function` and gives the text of what it threw, nothing when it threw nothing.
template <typename Function>
std::optional<std::string> Catch(Function&& function) noexcept {
  try {
    function();
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "unknown exception";
  }
}

// The table of functions for a service class.
template <typename T>
struct Module {
  // The instance: the object and what the done functions need.
  struct Instance {
    cohost_service* service;
    std::unique_ptr<T> object;
  };
  static Instance& Of(void* instance) { return *static_cast<Instance*>(instance); }

  static cohost_status Create(cohost_service* service, void** out) {
    const auto error = Catch([&] {
      auto instance = std::make_unique<Instance>();
      instance->service = service;
      instance->object = std::make_unique<T>(Context(service));
      *out = instance.release();
    });
    if (!error) return COHOST_OK;
    Context(service).Error(*error);
    return COHOST_FAILED;
  }
  static void Start(void* instance) {
    const auto error = Catch([&] { Of(instance).object->Start(); });
    host->start_done(Of(instance).service, error ? COHOST_FAILED : COHOST_OK,
                     ToC(error ? std::string_view(*error) : std::string_view()));
  }
  static void Handle(void* instance, cohost_request request) {
    const auto error = Catch([&] { Of(instance).object->Handle(Request(request)); });
    if (error) Context(Of(instance).service).Error("request failed: " + *error);
  }
  static void Cancel(void* instance, cohost_request request, cohost_cancel_reason reason) {
    (void)Catch([&] { Of(instance).object->Cancelled(request, reason); });
  }
  static void Drain(void* instance) {
    const auto error = Catch([&] { Of(instance).object->Drain(); });
    if (error) Context(Of(instance).service).Error("drain failed: " + *error);
    host->drain_done(Of(instance).service);
  }
  static void Stop(void* instance) {
    const auto error = Catch([&] { Of(instance).object->Stop(); });
    if (error) Context(Of(instance).service).Error("stop failed: " + *error);
    host->stop_done(Of(instance).service);
  }
  static void Destroy(void* instance) {
    const cohost_service* const service = Of(instance).service;
    (void)Catch([&] { delete static_cast<Instance*>(instance); });
    TimedWork::All().Forget(service);
  }
  static cohost_status Health(void* instance, char* reason, size_t capacity, size_t* size) {
    std::string text;
    const auto error = Catch([&] { text = Of(instance).object->Health(); });
    if (error) text = *error;
    *size = text.size() < capacity ? text.size() : capacity;
    if (*size != 0) memcpy(reason, text.data(), *size);
    return text.empty() ? COHOST_OK : COHOST_FAILED;
  }

  static cohost_module Table(cohost_module_flags flags, const char* name, const char* version) {
    cohost_module module{};
    module.major = COHOST_ABI_MAJOR;
    module.size = sizeof(module);
    module.flags = flags;
    module.name = cohost_text(name);
    module.version = cohost_text(version);
    module.create = Create;
    module.start = Start;
    module.request = Handle;
    module.cancel = Cancel;
    module.drain = Drain;
    module.stop = Stop;
    module.destroy = Destroy;
    module.health = Health;
    return module;
  }
};

inline cohost_status Enter(const cohost_host* table) {
  // This header uses all of the table that it was written for.
  if (table->major != COHOST_ABI_MAJOR || !COHOST_HAS(table, call_cancel)) {
    return COHOST_NOT_SUPPORTED;
  }
  host = table;
  return COHOST_OK;
}

}  // namespace internal
}  // namespace cohost

#ifndef COHOST_MODULE_VERSION
#define COHOST_MODULE_VERSION ""
#endif

// Makes `Type`, derived from cohost::Service and made from a cohost::Context, the service of this
// module. Once per module. -DCOHOST_MODULE_VERSION='"..."' sets the version shown to people.
#define COHOST_MODULE(Type, flags)                                                        \
  extern "C" COHOST_EXPORT cohost_status cohost_module_v1(const cohost_host* table,       \
                                                          const cohost_module** module) { \
    static const cohost_module kModule =                                                  \
        cohost::internal::Module<Type>::Table(flags, #Type, COHOST_MODULE_VERSION);       \
    const cohost_status status = cohost::internal::Enter(table);                          \
    if (status == COHOST_OK) *module = &kModule;                                          \
    return status;                                                                        \
  }
