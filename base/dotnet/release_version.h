// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cohost {

// The version of a release of .NET: "10.0.12", "11.0.0-preview.3.25171.5". Compared as semantic
// versions: a preview is older than its release.
struct ReleaseVersion {
  uint32_t major = 0;
  uint32_t minor = 0;
  uint32_t patch = 0;
  std::string preview{};  // what follows "-"; empty: a release

  // Nothing for another text. What follows "+" is left out.
  static std::optional<ReleaseVersion> Parse(std::string_view text);
  std::string ToString() const;

  std::strong_ordering operator<=>(const ReleaseVersion& other) const;
  friend bool operator==(const ReleaseVersion&, const ReleaseVersion&) = default;
};

}  // namespace cohost
