// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/glob.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"

namespace cohost::supervisor {

namespace {

constexpr size_t kMaxPattern = 512;
constexpr size_t kMaxParts = 32;

std::vector<std::string_view> Split(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t slash = path.find('/', begin);
    parts.push_back(path.substr(begin, slash - begin));
    if (slash == std::string_view::npos) return parts;
    begin = slash + 1;
  }
}

// The bytes of the character that `text` begins with: well-formed as far as lead and continuation
// bytes go, otherwise one byte.
size_t CharacterLength(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;
  if (length > text.size()) return 1;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 1;
  }
  return length;
}

absl::Status Refused(std::string_view pattern, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("pattern '", AsAbsl(pattern), "': ", AsAbsl(why)));
}

}  // namespace

absl::StatusOr<Glob> Glob::Parse(std::string_view pattern) {
  if (pattern.empty()) return Refused(pattern, "it is empty");
  if (pattern.size() > kMaxPattern) return Refused(pattern.substr(0, 40), "longer than 512 bytes");
  if (pattern.front() == '/') {
    return Refused(pattern, "it is absolute; write it relative to the application's folder");
  }
  if (pattern.find_first_of(std::string_view("\0\n", 2)) != std::string_view::npos) {
    return Refused(pattern.substr(0, pattern.find('\0')), "it has a line break or a NUL");
  }
  Glob glob;
  glob.text_ = std::string(pattern);
  const std::vector<std::string_view> parts = Split(pattern);
  if (parts.size() > kMaxParts) return Refused(pattern, "it has more than 32 parts");
  for (const std::string_view text : parts) {
    if (text.empty()) {
      return Refused(pattern,
                     "it has an empty part; for all that is in a folder write 'folder/**'");
    }
    if (text == "." || text == "..") {
      return Refused(pattern, "'.' and '..' are not allowed; name files below the folder");
    }
    auto part = ParsePart(text);
    if (!part.ok()) return Refused(pattern, AsStd(part.status().message()));
    glob.parts_.push_back(*std::move(part));
  }
  return glob;
}

absl::StatusOr<Glob::Part> Glob::ParsePart(std::string_view text) {
  Part part;
  part.text = std::string(text);
  if (text == "**") {
    part.any_depth = true;
    return part;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    Token token;
    if (text[i] == '*') {
      if (i + 1 < text.size() && text[i + 1] == '*') {
        return absl::InvalidArgumentError("'**' stands alone between slashes");
      }
      token.kind = Token::Kind::kRun;
    } else if (text[i] == '?') {
      token.kind = Token::Kind::kOne;
    } else if (text[i] == '[') {
      COHOST_ASSIGN_OR_RETURN(token, ParseSet(text, &i));
    } else {
      if (text[i] == '\\' && ++i == text.size()) {
        return absl::InvalidArgumentError("nothing follows the last '\\'");
      }
      token.character = text[i];
    }
    part.tokens.push_back(token);
  }
  return part;
}

// `at` is on "[" and moves to "]".
absl::StatusOr<Glob::Token> Glob::ParseSet(std::string_view text, size_t* at) {
  Token token;
  token.kind = Token::Kind::kSet;
  size_t i = *at + 1;
  if (i < text.size() && text[i] == '!') {
    token.inverted = true;
    ++i;
  }
  for (bool first = true; i < text.size() && (first || text[i] != ']'); first = false, ++i) {
    unsigned char low = static_cast<unsigned char>(text[i]);
    unsigned char high = low;
    if (i + 2 < text.size() && text[i + 1] == '-' && text[i + 2] != ']') {
      high = static_cast<unsigned char>(text[i + 2]);
      i += 2;
    }
    if (high >= 128 || low > high) {
      return absl::InvalidArgumentError("characters in '[...]' are ASCII, ranges go upwards");
    }
    for (unsigned c = low; c <= high; ++c) token.set[c / 64] |= uint64_t{1} << c % 64;
  }
  if (i >= text.size()) {
    return absl::InvalidArgumentError("'[' has no ']'; for the character itself write '\\['");
  }
  *at = i;
  return token;
}

bool Glob::TokenMatches(const Token& token, std::string_view character) {
  switch (token.kind) {
    case Token::Kind::kCharacter:
      return character.size() == 1 && character[0] == token.character;
    case Token::Kind::kOne:
    case Token::Kind::kRun:
      return true;
    case Token::Kind::kSet: {
      const auto c = static_cast<unsigned char>(character[0]);
      const bool in = character.size() == 1 && c < 128 && (token.set[c / 64] >> c % 64 & 1) != 0;
      return in != token.inverted;
    }
  }
  return false;
}

// Only the last run is ever tried again: what an earlier one could take more of, the last one could
// as well.
bool Glob::PartMatches(const Part& part, std::string_view name) {
  const std::vector<Token>& tokens = part.tokens;
  size_t token = 0;
  size_t at = 0;
  size_t run = tokens.size();  // the last run passed
  size_t taken = 0;            // up to where it takes
  while (at < name.size()) {
    if (token < tokens.size() && tokens[token].kind == Token::Kind::kRun) {
      run = token++;
      taken = at;
      continue;
    }
    if (token < tokens.size()) {
      // A literal character beyond ASCII is several tokens of one byte each.
      const size_t length =
          tokens[token].kind == Token::Kind::kCharacter ? 1 : CharacterLength(name.substr(at));
      if (TokenMatches(tokens[token], name.substr(at, length))) {
        at += length;
        ++token;
        continue;
      }
    }
    if (run == tokens.size()) return false;
    taken += CharacterLength(name.substr(taken));
    at = taken;
    token = run + 1;
  }
  while (token < tokens.size() && tokens[token].kind == Token::Kind::kRun) ++token;
  return token == tokens.size();
}

bool Glob::Matches(std::string_view path) const {
  const std::vector<std::string_view> names = Split(path);
  // reached[i]: the names so far can be the first i parts.
  std::vector<bool> reached(parts_.size() + 1, false);
  reached[0] = true;
  // "**" may be no part, but not at the end: "a/**" is not a itself.
  const auto skip = [&](std::vector<bool>& at) {
    for (size_t i = 0; i + 1 < parts_.size(); ++i) {
      if (at[i] && parts_[i].any_depth) at[i + 1] = true;
    }
  };
  skip(reached);
  for (const std::string_view name : names) {
    std::vector<bool> next(parts_.size() + 1, false);
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (!reached[i]) continue;
      if (parts_[i].any_depth) {
        next[i] = true;
        if (i + 1 == parts_.size()) next[i + 1] = true;
      } else if (PartMatches(parts_[i], name)) {
        next[i + 1] = true;
      }
    }
    skip(next);
    reached = std::move(next);
  }
  return reached[parts_.size()];
}

std::optional<std::string> Glob::literal() const {
  std::string path;
  for (const Part& part : parts_) {
    if (part.any_depth) return std::nullopt;
    if (!path.empty()) path += '/';
    for (const Token& token : part.tokens) {
      if (token.kind != Token::Kind::kCharacter) return std::nullopt;
      path += token.character;
    }
  }
  return path;
}

bool Glob::is_everything() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.any_depth; });
}

std::optional<Glob> Glob::folder() const {
  if (parts_.size() < 2) return std::nullopt;
  Glob glob = *this;
  glob.text_.resize(text_.size() - parts_.back().text.size() - 1);
  glob.parts_.pop_back();
  return glob;
}

}  // namespace cohost::supervisor
