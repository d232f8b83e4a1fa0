// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace cohost::supervisor {

// A pattern of relative paths, as `persist` has them. Immutable.
//
//   pattern = part { "/" part }          at most 512 bytes and 32 parts
//   part    = "**"                       any number of whole parts, also none; at the end of the
//                                        pattern at least one: "uploads/**" is what is below
//                                        uploads
//           | one or more of:
//             *          any characters of one name, also none
//             ?          one character (of UTF-8; a byte that is no part of UTF-8 is one too)
//             [a-z_]     one of these; [!a-z] one other character; ASCII only, "]" first is itself
//             \c         the character c itself
//             other      itself
//
// Case counts, and a leading dot is nothing special. Absolute patterns, empty parts, "." and ".."
// are refused: a pattern reaches nothing outside the folder that it is applied to. Matching takes
// at most (length of the pattern) times (length of the path) steps, whatever either holds.
class Glob {
 public:
  // INVALID_ARGUMENT with what is wrong and what to write instead.
  static absl::StatusOr<Glob> Parse(std::string_view pattern);

  // `path` is relative, its parts separated by single slashes.
  bool Matches(std::string_view path) const;

  const std::string& text() const { return text_; }
  // The one path that it matches, when there is no wildcard in it.
  std::optional<std::string> literal() const;
  // Ends in "/**": everything below some folders.
  bool is_below() const { return parts_.size() > 1 && parts_.back().any_depth; }
  // It is "**" or nothing but such parts: everything.
  bool is_everything() const;
  // Without the last part: which folders "X/**" is below, or which "X/*.db" is directly in. Nothing
  // when there is one part only.
  std::optional<Glob> folder() const;

  friend bool operator==(const Glob& a, const Glob& b) { return a.text_ == b.text_; }

 private:
  struct Token {
    enum class Kind { kCharacter, kOne, kRun, kSet };
    Kind kind = Kind::kCharacter;
    char character = 0;
    // kSet: bit of each ASCII character that is in it.
    uint64_t set[2] = {0, 0};
    bool inverted = false;
  };
  struct Part {
    std::string text;
    bool any_depth = false;
    std::vector<Token> tokens;
  };

  static absl::StatusOr<Part> ParsePart(std::string_view text);
  static absl::StatusOr<Token> ParseSet(std::string_view text, size_t* at);
  static bool TokenMatches(const Token& token, std::string_view character);
  static bool PartMatches(const Part& part, std::string_view name);

  std::string text_;
  std::vector<Part> parts_;
};

}  // namespace cohost::supervisor
