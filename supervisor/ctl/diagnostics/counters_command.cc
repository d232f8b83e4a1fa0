// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/diagnostics/counters_command.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "supervisor/admin/message_values.h"
#include "supervisor/ctl/diagnostics/counter_views.h"
#include "supervisor/ctl/diagnostics/nettrace_reader.h"
#include "supervisor/ctl/exchange/exchange_failure.h"

namespace cohost::supervisor {
namespace {

namespace v1 = admin::v1;

constexpr absl::Duration kTimeout = absl::Seconds(10);
constexpr absl::Duration kEndMargin = absl::Minutes(1);
constexpr const char* kProviders[] = {"System.Runtime", "Microsoft.AspNetCore.Hosting"};
// An interval has some thirty; more that never repeat are no counters.
constexpr size_t kMostCounters = 1000;

// The values of one interval after the other.
class Counters {
 public:
  Counters(const Invocation& invocation, AdminClient& client, const Look& look, std::ostream& out)
      : invocation_(invocation), client_(client), look_(look), out_(out) {}

  void Take(const v1::DiagnosedWorker& worker) { worker_ = worker; }

  // A counter that comes again begins the next interval.
  void Take(CounterValue counter) {
    const bool again = std::any_of(values_.begin(), values_.end(), [&](const CounterValue& other) {
      return other.provider == counter.provider && other.name == counter.name;
    });
    if (again || values_.size() >= kMostCounters) Show();
    values_.push_back(std::move(counter));
  }

  void Show() {
    if (values_.empty()) return;
    const v1::Service service = Service();
    out_ << (invocation_.output == OutputFormat::kJson
                 ? CountersJson(worker_, values_, service, absl::Now())
                 : CountersView(worker_, values_, service, look_))
         << std::flush;
    values_.clear();
  }

 private:
  // Without it the counters are shown all the same.
  v1::Service Service() {
    v1::ListServicesRequest request;
    request.set_name(invocation_.name);
    v1::ListServicesResponse list;
    const auto context = ContextFor(kTimeout);
    const grpc::Status call = client_.stub().ListServices(context.get(), request, &list);
    v1::Service service;
    if (call.ok() && !list.services().empty()) service = list.services(0);
    service.set_name(invocation_.name);
    return service;
  }

  const Invocation& invocation_;
  AdminClient& client_;
  const Look& look_;
  std::ostream& out_;
  v1::DiagnosedWorker worker_;
  std::vector<CounterValue> values_;
};

v1::TraceWorkerRequest RequestFor(const Invocation& invocation) {
  v1::TraceWorkerRequest request;
  request.set_service(invocation.name);
  if (invocation.slot) request.set_slot(*invocation.slot);
  if (invocation.duration) Set(request.mutable_duration(), *invocation.duration);
  request.set_without_rundown(true);
  for (const char* name : kProviders) {
    v1::TraceProvider& provider = *request.add_providers();
    provider.set_name(name);
    provider.set_arguments(
        absl::StrCat("EventCounterIntervalSec=", absl::ToDoubleSeconds(invocation.interval)));
  }
  return request;
}

}  // namespace

int RunCounters(const Invocation& invocation, AdminClient& client, const Look& look,
                std::ostream& out, std::ostream& errors) {
  Counters counters(invocation, client, look, out);
  NettraceReader events([&](const EventKind& kind, std::string_view payload) {
    if (auto counter = ReadCounter(kind, payload)) counters.Take(*std::move(counter));
  });
  // Without a duration there is no end, hence no deadline: Ctrl-C ends it.
  const auto context = invocation.duration ? ContextFor(*invocation.duration + kEndMargin)
                                           : std::make_unique<grpc::ClientContext>();
  const auto reader = client.stub().TraceWorker(context.get(), RequestFor(invocation));
  v1::DiagnosticsPart part;
  while (reader->Read(&part)) {
    if (part.has_worker()) counters.Take(part.worker());
    const absl::Status read = events.Feed(part.data());
    if (read.ok()) continue;
    context->TryCancel();
    (void)reader->Finish();
    return Fail({ExitCode::kNoHost, std::string(read.message())}, errors);
  }
  counters.Show();
  const grpc::Status end = reader->Finish();
  if (!end.ok()) return Fail(CallFailure(end, client.socket()), errors);
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace cohost::supervisor
