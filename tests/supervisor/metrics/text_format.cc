// SPDX-License-Identifier: Apache-2.0
#include "tests/supervisor/metrics/text_format.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/valid_utf8.h"

namespace cohost::supervisor {
namespace {

bool IsName(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  });
}

// A cursor over one line.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text), rest_(text) {}

  absl::Status Wrong(std::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(AsAbsl(what), " in: ", AsAbsl(text_)));
  }
  bool Take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view Until(std::string_view ends) {
    const std::string_view part = rest_.substr(0, rest_.find_first_of(ends));
    rest_.remove_prefix(part.size());
    return part;
  }
  absl::StatusOr<std::string> Quoted() {
    std::string value;
    if (!Take('"')) return Wrong("no opening quote");
    while (!Take('"')) {
      if (rest_.empty()) return Wrong("no closing quote");
      if (Take('\\')) {
        if (Take('\\')) {
          value += '\\';
        } else if (Take('"')) {
          value += '"';
        } else if (Take('n')) {
          value += '\n';
        } else {
          return Wrong("unknown escape");
        }
      } else {
        value += rest_[0];
        rest_.remove_prefix(1);
      }
    }
    return value;
  }
  std::string_view rest() const { return rest_; }

 private:
  const std::string_view text_;
  std::string_view rest_;
};

absl::StatusOr<Sample> ParseSample(std::string_view text) {
  Line line(text);
  Sample sample;
  sample.name = line.Until("{ ");
  if (!IsName(sample.name)) return line.Wrong("bad name");
  if (line.Take('{')) {
    while (!line.Take('}')) {
      const std::string label(line.Until("="));
      if (!IsName(label)) return line.Wrong("bad label name");
      line.Take('=');
      COHOST_ASSIGN_OR_RETURN(std::string value, line.Quoted());
      if (!sample.labels.emplace(label, value).second) return line.Wrong("label twice");
      line.Take(',');
    }
  }
  if (!line.Take(' ')) return line.Wrong("no blank before the value");
  const std::string value(line.rest());
  if (value == "+Inf") {
    sample.value = HUGE_VAL;
  } else if (!absl::SimpleAtod(value, &sample.value)) {
    return line.Wrong("bad value");
  }
  return sample;
}

// The family that a sample of this name belongs to.
std::string FamilyOf(const std::string& name, const ParsedPage& page) {
  for (std::string_view suffix : {"_bucket", "_sum", "_count"}) {
    if (name.size() <= suffix.size()) continue;
    const std::string base = name.substr(0, name.size() - suffix.size());
    const auto type = page.types.find(base);
    if (name.substr(base.size()) == suffix && type != page.types.end() &&
        type->second == "histogram") {
      return base;
    }
  }
  return name;
}

}  // namespace

std::vector<Sample> ParsedPage::Find(const std::string& name,
                                     const std::map<std::string, std::string>& labels) const {
  std::vector<Sample> found;
  for (const Sample& sample : samples) {
    const bool fits = std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
      const auto it = sample.labels.find(label.first);
      return it != sample.labels.end() && it->second == label.second;
    });
    if (sample.name == name && fits) found.push_back(sample);
  }
  return found;
}

double ParsedPage::Value(const std::string& name,
                         const std::map<std::string, std::string>& labels) const {
  const std::vector<Sample> found = Find(name, labels);
  return found.size() == 1 ? found[0].value : std::nan("");
}

absl::StatusOr<ParsedPage> ParsePage(std::string_view text) {
  if (ValidUtf8(text) != text) return absl::InvalidArgumentError("the page is not UTF-8");
  if (text.empty() || text.back() != '\n') return absl::InvalidArgumentError("no last line end");
  ParsedPage page;
  std::set<std::string> helped;
  std::set<std::string> ended;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> seen;
  std::string present;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    Line cursor(line);
    if (line.rfind("# HELP ", 0) == 0 || line.rfind("# TYPE ", 0) == 0) {
      Line rest(line.substr(7));
      const std::string family(rest.Until(" "));
      if (!IsName(family) || !rest.Take(' ')) return cursor.Wrong("bad comment");
      const bool is_help = line[2] == 'H';
      const bool is_new =
          is_help ? helped.insert(family).second : page.types.emplace(family, rest.rest()).second;
      if (!is_new || ended.count(family) != 0) return cursor.Wrong("told twice");
      if (family != present && !present.empty()) ended.insert(present);
      present = family;
      continue;
    }
    COHOST_ASSIGN_OR_RETURN(Sample sample, ParseSample(line));
    const std::string family = FamilyOf(sample.name, page);
    if (family != present) return cursor.Wrong("a sample outside of its family");
    if (helped.count(family) == 0 || page.types.count(family) == 0) {
      return cursor.Wrong("a sample without HELP and TYPE");
    }
    if (!seen.emplace(sample.name, sample.labels).second) return cursor.Wrong("a series twice");
    page.samples.push_back(std::move(sample));
  }
  return page;
}

}  // namespace cohost::supervisor
