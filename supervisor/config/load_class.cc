// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/load_class.h"

namespace cohost::supervisor {

std::string_view LoadClassName(LoadClass load_class) {
  switch (load_class) {
    case LoadClass::kLatency:
      return "latency";
    case LoadClass::kSteady:
      return "steady";
    case LoadClass::kBursty:
      return "bursty";
    case LoadClass::kBatch:
      return "batch";
    case LoadClass::kIdle:
      return "idle";
  }
  return "";
}

LoadClass LoadClassOf(std::string_view text) {
  if (text == "latency") return LoadClass::kLatency;
  if (text == "bursty") return LoadClass::kBursty;
  if (text == "batch") return LoadClass::kBatch;
  if (text == "idle") return LoadClass::kIdle;
  return LoadClass::kSteady;
}

}  // namespace cohost::supervisor
