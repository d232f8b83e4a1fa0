// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/diagnostics/counter_event.h"

#include <cstdint>

#include "supervisor/ctl/diagnostics/byte_reader.h"

namespace cohost::supervisor {
namespace {

struct Found {
  CounterValue counter;
  bool has_value = false;
  bool fits = true;
};

void Take(const EventField& field, ByteReader& reader, Found& found);

void TakeAll(const std::vector<EventField>& fields, ByteReader& reader, Found& found) {
  for (const EventField& field : fields) {
    if (!found.fits) return;
    Take(field, reader, found);
  }
}

void Take(const EventField& field, ByteReader& reader, Found& found) {
  CounterValue& counter = found.counter;
  if (field.type == kObjectType) return TakeAll(field.fields, reader, found);
  if (field.type == kStringType) {
    std::string text = reader.Text();
    if (field.name == "Name") {
      counter.name = std::move(text);
    } else if (field.name == "DisplayName") {
      counter.display_name = std::move(text);
    } else if (field.name == "DisplayUnits") {
      counter.unit = std::move(text);
    }
  } else if (field.type == kDoubleType) {
    const auto value = reader.Take<double>();
    counter.is_increment |= field.name == "Increment";
    if (field.name != "Increment" && field.name != "Mean") return;
    counter.value = value;
    found.has_value = true;
  } else if (field.type == kSingleType) {
    const auto value = reader.Take<float>();
    if (field.name == "IntervalSec") counter.interval = static_cast<double>(value);
  } else if (field.type == kInt32Type) {
    (void)reader.Take<uint32_t>();
  } else {
    // A type whose size is not known here: what follows cannot be found.
    found.fits = false;
  }
}

}  // namespace

std::optional<CounterValue> ReadCounter(const EventKind& kind, std::string_view payload) {
  if (kind.name != "EventCounters") return std::nullopt;
  ByteReader reader(payload);
  Found found;
  TakeAll(kind.fields, reader, found);
  if (reader.failed() || !found.fits || !found.has_value || found.counter.name.empty()) {
    return std::nullopt;
  }
  found.counter.provider = kind.provider;
  return found.counter;
}

}  // namespace cohost::supervisor
