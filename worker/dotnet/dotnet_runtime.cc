// SPDX-License-Identifier: Apache-2.0
#include "worker/dotnet/dotnet_runtime.h"

#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "worker/dotnet/dotnet_service.h"
#include "worker/dotnet/managed_shim.h"

namespace cohost::worker::dotnet {
namespace {

absl::StatusOr<ManagedTable> FindAndStart(const DotnetOptions& options, const HostTable& host,
                                          const std::string& solo) {
  COHOST_ASSIGN_OR_RETURN(const DotnetHost found, FindDotnetHost(options.places));
  return StartShim(found.hostfxr, options.shim, host, solo, options.diagnostics_folder);
}

}  // namespace

DotnetRuntime::DotnetRuntime(LentParts lent, DotnetOptions options)
    : lent_(std::move(lent)), options_(std::move(options)), host_(lent_.host) {}

std::unique_ptr<HostedService> DotnetRuntime::Create(DotnetServiceDescription description,
                                                     ServiceEntry& entry) {
  return std::make_unique<DotnetService>(*this, std::move(description), entry);
}

void DotnetRuntime::WhenStarted(const std::string& solo, std::function<void(absl::Status)> done) {
  absl::Status other;
  if (solo_.has_value() && (!solo.empty() || *solo_ != solo)) {
    other = absl::FailedPreconditionError(
        solo.empty() ? absl::StrCat("this worker is for ", *solo_, " alone")
                     : "an application that wants a worker of its own needs a new worker");
  }
  if (!other.ok() || result_.has_value()) {
    const absl::Status& result = other.ok() ? *result_ : other;
    return lent_.post_to_io([done = std::move(done), result] { done(result); });
  }
  waiting_.push_back(std::move(done));
  if (solo_.has_value()) return;
  solo_ = solo;
  const SteadyTime begin = lent_.clock.Steady();
  try {
    // On a thread of its own, since it reads some twenty files.
    std::thread([this, begin, solo] {
      auto shim = std::make_shared<absl::StatusOr<ManagedTable>>(
          FindAndStart(options_, host_.table(), solo));
      lent_.post_to_io([this, shim, begin] { OnStarted(*shim, lent_.clock.Steady() - begin); });
    }).detach();
  } catch (const std::system_error& error) {
    OnStarted(absl::ResourceExhaustedError(absl::StrCat("no thread to start .NET: ", error.what())),
              absl::ZeroDuration());
  }
}

void DotnetRuntime::OnStarted(absl::StatusOr<ManagedTable> shim, absl::Duration took) {
  result_ = shim.status();
  if (shim.ok()) {
    shim_ = *shim;
    lent_.log.Info(".NET has started", {{"seconds", absl::ToDoubleSeconds(took)}});
  } else {
    lent_.log.Error(".NET has not started", {{"reason", AsStd(shim.status().message())}});
  }
  for (const auto& done : std::exchange(waiting_, {})) done(*result_);
}

}  // namespace cohost::worker::dotnet
