// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cohost::supervisor {

// Writes a document that ParseYaml reads back to exactly the same texts: block style, two spaces a
// level, one value a line, in the order of the calls. Texts stand in double quotes with escapes, so
// that `no`, `0755` and line ends stay what they are. yaml-cpp's emitter is no help: it replaces
// U+FFFE, leaves 0x7f as it is, and takes an escaped key for short that its parser finds too long.
// Not thread-safe.
class YamlWriter {
 public:
  // A map as the value of `key`, or as the next item of the open list, up to Close(). Something
  // must be written into it.
  void Open(std::string_view key);
  void OpenItem();
  void Close();

  // A value as it is: a number, a boolean, a size, a word of ours.
  void Word(std::string_view key, std::string_view value);
  // Any UTF-8.
  void Text(std::string_view key, std::string_view value);
  // The same, when the key is any UTF-8 too.
  void Entry(std::string_view key, std::string_view value);

  // Lists, also empty ones.
  void Words(std::string_view key, const std::vector<std::string_view>& values);
  void Texts(std::string_view key, const std::vector<std::string>& values);

  const std::string& text() const { return text_; }

 private:
  void Line(std::string_view first, std::string_view second = "", std::string_view third = "");

  std::string text_;
  int depth_ = 0;
  // The next line is the first one of an item.
  bool item_begins_ = false;
};

}  // namespace cohost::supervisor
