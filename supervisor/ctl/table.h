// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohost::supervisor {

// How a text stands out on a terminal with colours.
enum class Tone { kPlain, kGood, kWarning, kBad, kFaint };

// A row is written as a list of texts, hence the implicit conversions.
struct Cell {
  Cell(std::string text, Tone tone = Tone::kPlain)  // NOLINT(google-explicit-constructor)
      : text(std::move(text)), tone(tone) {}
  Cell(const char* text) : text(text) {}  // NOLINT(google-explicit-constructor)
  std::string text;
  Tone tone = Tone::kPlain;
};

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

// `text` in its tone; unchanged without colour.
std::string Paint(std::string_view text, Tone tone, bool colour);

// Columns as wide as their widest cell, two blanks between them, no blanks at the ends of lines.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns.
  void Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  // A line above the rows that follow: those are sums.
  void AddRule() { rule_before_ = rows_.size(); }
  bool empty() const { return rows_.empty(); }

  std::string Render(bool colour) const;

 private:
  std::string RenderRow(const std::vector<Cell>& row, const std::vector<size_t>& widths,
                        bool colour) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
  size_t rule_before_ = 0;  // 0: none
};

// `key  value` lines with the values aligned.
class Sheet {
 public:
  // Does nothing for an empty value.
  void Add(std::string key, Cell value);
  std::string Render(bool colour) const;

 private:
  std::vector<std::pair<std::string, Cell>> lines_;
};

}  // namespace cohost::supervisor
