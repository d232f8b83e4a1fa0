// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace cohost::supervisor {

// One sample of a page of metrics.
struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

struct ParsedPage {
  std::map<std::string, std::string> types;  // by family
  std::vector<Sample> samples;

  // All samples of this name whose labels include `labels`.
  std::vector<Sample> Find(const std::string& name,
                           const std::map<std::string, std::string>& labels = {}) const;
  // The one sample of this name and these labels; NaN when there is not exactly one.
  double Value(const std::string& name, const std::map<std::string, std::string>& labels) const;
};

// A reader of Prometheus' text format 0.0.4 as strict as the format's text: HELP and TYPE once per
// family and before its samples, families in one piece, no series twice, well-formed UTF-8, the
// escapes \\, \" and \n only.
absl::StatusOr<ParsedPage> ParsePage(std::string_view page);

}  // namespace cohost::supervisor
