// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/diagnostics/counter_views.h"

#include <google/protobuf/struct.pb.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "supervisor/ctl/cells.h"
#include "supervisor/ctl/json_text.h"
#include "supervisor/ctl/table.h"
#include "supervisor/ctl/views.h"

namespace cohost::supervisor {
namespace {

double PerSecond(const CounterValue& counter) {
  return counter.interval > 0 ? counter.value / counter.interval : counter.value;
}

std::string ValueOf(const CounterValue& counter) {
  const double value = counter.is_increment ? PerSecond(counter) : counter.value;
  // Whole numbers as such, however large.
  const bool whole =
      value > -1e15 && value < 1e15 && value == static_cast<double>(static_cast<int64_t>(value));
  return whole ? absl::StrCat(static_cast<int64_t>(value)) : absl::StrFormat("%.3g", value);
}

std::string UnitOf(const CounterValue& counter) {
  return absl::StrCat(counter.unit, counter.is_increment ? "/s" : "");
}

}  // namespace

std::string CountersView(const admin::v1::DiagnosedWorker& worker,
                         const std::vector<CounterValue>& counters,
                         const admin::v1::Service& service, const Look& look) {
  std::string text = absl::StrCat("worker ", SlotName(worker.group(), worker.slot()), ", process ",
                                  worker.pid(), ": all of its services together (",
                                  absl::StrJoin(worker.services(), ", "), ")\n");
  Table table({{"COUNTER"}, {"VALUE", Align::kRight}, {"UNIT"}, {"OF"}});
  for (const CounterValue& counter : counters) {
    table.Add({counter.display_name.empty() ? counter.name : counter.display_name, ValueOf(counter),
               UnitOf(counter), counter.provider});
  }
  text += table.Render(look.colour);
  return absl::StrCat(text, service.name(),
                      " itself, since it was first deployed here: ", OwnFigures(service), "\n\n");
}

std::string CountersJson(const admin::v1::DiagnosedWorker& worker,
                         const std::vector<CounterValue>& counters,
                         const admin::v1::Service& service, absl::Time now) {
  google::protobuf::Struct fields;
  auto& map = *fields.mutable_fields();
  map["time"].set_string_value(absl::FormatTime(absl::RFC3339_sec, now, absl::UTCTimeZone()));
  map["worker"].set_string_value(SlotName(worker.group(), worker.slot()));
  map["pid"].set_number_value(worker.pid());
  for (const std::string& each : worker.services()) {
    map["services"].mutable_list_value()->add_values()->set_string_value(each);
  }
  for (const CounterValue& counter : counters) {
    auto& entry = *map["counters"]
                       .mutable_list_value()
                       ->add_values()
                       ->mutable_struct_value()
                       ->mutable_fields();
    entry["provider"].set_string_value(counter.provider);
    entry["name"].set_string_value(counter.name);
    entry["displayName"].set_string_value(counter.display_name);
    entry["unit"].set_string_value(UnitOf(counter));
    entry["value"].set_number_value(counter.is_increment ? PerSecond(counter) : counter.value);
  }
  map["service"].set_string_value(service.name());
  map["serviceRequests"].set_number_value(static_cast<double>(service.requests()));
  map["serviceErrors"].set_number_value(static_cast<double>(service.errors()));
  return Json(fields, false);
}

}  // namespace cohost::supervisor
