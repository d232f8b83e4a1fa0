// SPDX-License-Identifier: Apache-2.0
#include "base/dotnet/release_version.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <tuple>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/strings.h"

namespace cohost {
namespace {

constexpr size_t kLongestText = 100;

std::optional<uint32_t> NumberOf(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// One part between two dots: numbers by value and before words, words by their bytes.
std::strong_ordering CompareParts(std::string_view a, std::string_view b) {
  const auto number_a = NumberOf(a);
  const auto number_b = NumberOf(b);
  if (number_a && number_b) return *number_a <=> *number_b;
  if (number_a.has_value() != number_b.has_value()) {
    return number_a ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return a.compare(b) <=> 0;
}

std::strong_ordering ComparePreviews(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a.empty() <=> b.empty();
  const std::vector<std::string> parts_a = absl::StrSplit(a, '.');
  const std::vector<std::string> parts_b = absl::StrSplit(b, '.');
  for (size_t i = 0; i < std::min(parts_a.size(), parts_b.size()); ++i) {
    if (const auto order = CompareParts(parts_a[i], parts_b[i]); std::is_neq(order)) return order;
  }
  return parts_a.size() <=> parts_b.size();
}

}  // namespace

std::optional<ReleaseVersion> ReleaseVersion::Parse(std::string_view text) {
  if (text.size() > kLongestText) return std::nullopt;
  text = text.substr(0, text.find('+'));
  ReleaseVersion version;
  const size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    version.preview = text.substr(dash + 1);
    const bool good = std::all_of(version.preview.begin(), version.preview.end(), [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-';
    });
    if (version.preview.empty() || !good) return std::nullopt;
  }
  const std::vector<std::string> parts = absl::StrSplit(AsAbsl(text.substr(0, dash)), '.');
  if (parts.size() != 3) return std::nullopt;
  std::array<uint32_t, 3> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto number = NumberOf(parts[i]);
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  std::tie(version.major, version.minor, version.patch) =
      std::tie(numbers[0], numbers[1], numbers[2]);
  return version;
}

std::string ReleaseVersion::ToString() const {
  return absl::StrCat(major, ".", minor, ".", patch, preview.empty() ? "" : "-", preview);
}

std::strong_ordering ReleaseVersion::operator<=>(const ReleaseVersion& other) const {
  if (const auto order =
          std::tie(major, minor, patch) <=> std::tie(other.major, other.minor, other.patch);
      std::is_neq(order)) {
    return order;
  }
  return ComparePreviews(preview, other.preview);
}

}  // namespace cohost
