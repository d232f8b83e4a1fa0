// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/table.h"

#include <algorithm>
#include <cstddef>

namespace cohost::supervisor {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kReset = "\x1b[0m";

// Places on a terminal: code points. What a host names and says has no wide or combining ones.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string_view Sequence(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kWarning:
      return "\x1b[33m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kFaint:
      return "\x1b[2m";
  }
  return "";
}

// A service's text must not steer the terminal: neither by the control characters of ASCII nor by
// U+0080 to U+009F, of which U+009B is ESC [ in one.
std::string Printable(std::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_c1 = byte == 0xc2 && i + 1 < text.size() &&
                       (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80;
    if (is_c1) ++i;
    printable += byte < 0x20 || byte == 0x7f || is_c1 ? '?' : text[i];
  }
  return printable;
}

}  // namespace

std::string Paint(std::string_view text, Tone tone, bool colour) {
  const std::string printable = Printable(text);
  if (!colour || tone == Tone::kPlain || printable.empty()) return printable;
  std::string painted(Sequence(tone));
  painted += printable;
  painted += kReset;
  return painted;
}

std::string Table::RenderRow(const std::vector<Cell>& row, const std::vector<size_t>& widths,
                             bool colour) const {
  std::string line;
  // Blanks are written only in front of a text, so a line never ends with them.
  size_t blanks = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) blanks += kGap.size();
    const size_t padding = widths[i] - Width(row[i].text);
    if (columns_[i].align == Align::kRight) blanks += padding;
    if (!row[i].text.empty()) {
      line.append(blanks, ' ');
      line += Paint(row[i].text, row[i].tone, colour);
      blanks = 0;
    }
    if (columns_[i].align == Align::kLeft) blanks += padding;
  }
  return line + "\n";
}

std::string Table::Render(bool colour) const {
  std::vector<size_t> widths;
  std::vector<Cell> titles;
  for (const Column& column : columns_) {
    widths.push_back(Width(column.title));
    titles.emplace_back(column.title, Tone::kFaint);
  }
  for (const std::vector<Cell>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i].text));
  }
  std::string text = RenderRow(titles, widths, colour);
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rule_before_ != 0 && i == rule_before_) {
      size_t total = kGap.size() * (widths.size() - 1);
      for (size_t width : widths) total += width;
      text += Paint(std::string(total, '-'), Tone::kFaint, colour) + "\n";
    }
    text += RenderRow(rows_[i], widths, colour);
  }
  return text;
}

void Sheet::Add(std::string key, Cell value) {
  if (!value.text.empty()) lines_.emplace_back(std::move(key), std::move(value));
}

std::string Sheet::Render(bool colour) const {
  size_t width = 0;
  for (const auto& [key, value] : lines_) width = std::max(width, Width(key));
  std::string text;
  for (const auto& [key, value] : lines_) {
    text += Paint(key, Tone::kFaint, colour);
    text.append(width - Width(key) + kGap.size(), ' ');
    text += Paint(value.text, value.tone, colour) + "\n";
  }
  return text;
}

}  // namespace cohost::supervisor
