// SPDX-License-Identifier: Apache-2.0
#include "supervisor/event_log.h"

#include <utility>

namespace cohost::supervisor {

uint64_t EventLog::Record(HostEvent event) {
  event.time = clock_.Wall();
  event.id = state_.AppendEvent(event);
  const bool bad = event.kind == "worker_exit" || event.kind == "deployment_refused" ||
                   event.kind == "worker_remark" || event.to == "failed";
  log_.Write(bad ? LogLevel::kWarning : LogLevel::kInfo, event.kind,
             {{"event", static_cast<int64_t>(event.id)},
              {"group", std::string_view(event.group)},
              {"slot", static_cast<int64_t>(event.slot ? int64_t{*event.slot} : -1)},
              {"generation", static_cast<int64_t>(event.generation)},
              {"service", std::string_view(event.service)},
              {"from", std::string_view(event.from)},
              {"to", std::string_view(event.to)},
              {"text", std::string_view(event.message)}});
  // A copy: a subscriber may end itself, or another one, which is not called any more then.
  const auto subscribers = subscribers_;
  for (const auto& [subscription, tell] : subscribers) {
    if (subscribers_.contains(subscription)) tell(event);
  }
  return event.id;
}

uint64_t EventLog::Record(const PoolEvent& event) {
  HostEvent view;
  view.kind = event.kind;
  view.group = event.group;
  view.slot = event.slot;
  view.generation = event.generation;
  view.service = event.service;
  view.from = event.from;
  view.to = event.to;
  view.message = event.message;
  return Record(std::move(view));
}

uint64_t EventLog::Subscribe(std::function<void(const HostEvent&)> event) {
  subscribers_.emplace(++last_subscription_, std::move(event));
  return last_subscription_;
}

}  // namespace cohost::supervisor
