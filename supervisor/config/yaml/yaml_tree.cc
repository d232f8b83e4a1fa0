// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/yaml/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <istream>
#include <streambuf>
#include <utility>

#include "absl/strings/str_cat.h"
#include "supervisor/config/yaml/text_check.h"

namespace cohost::supervisor {
namespace {

// Thrown out of an event to end yaml-cpp's parser; the reason is in the errors already.
struct StopParsing {};

// The text as the stream that yaml-cpp wants, which ends the parsing when too much was read since
// the last event: its scanner keeps every token of a flow collection ([...] or {...}, 230 bytes
// each) until the collection is closed, so that 4 MiB of brackets would take a gigabyte.
class MeteredText : public std::streambuf {
 public:
  struct TooMuchAtOnce {};

  MeteredText(std::string_view text, size_t limit) : text_(text), limit_(limit) {}

  // The parser got somewhere.
  void Advance() { since_event_ = 0; }

 protected:
  // yaml-cpp reads the first bytes one by one and the rest in blocks, both from here; an
  // exception passes through it.
  int_type underflow() override {
    const size_t length = std::min(text_.size() - used_, kBlock);
    since_event_ += length;
    if (since_event_ > limit_) throw TooMuchAtOnce();
    if (length == 0) return traits_type::eof();
    // The get area is never written through.
    char* begin = const_cast<char*>(text_.data()) + used_;
    setg(begin, begin, begin + length);
    used_ += length;
    return traits_type::to_int_type(*begin);
  }

 private:
  static constexpr size_t kBlock = 2048;

  const std::string_view text_;
  const size_t limit_;
  size_t used_ = 0;
  size_t since_event_ = 0;
};

// The null that is written at `rest`: yaml-cpp reports it without its text, but `null` and `~` are
// good names.
std::string_view NullAt(std::string_view rest) {
  for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
    if (rest.substr(0, word.size()) == word) return word;
  }
  return "";
}

// Builds the tree from the parser's events. Lives for one document.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const std::string& file, const YamlLimits& limits,
              MeteredText& source, ConfigErrors& errors)
      : text_(text), file_(file), limits_(limits), source_(source), errors_(errors) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!complete_) return;
    Fail(mark, "a second document begins here; a deployment file holds one");
    throw StopParsing();
  }
  void OnDocumentEnd() override { complete_ = true; }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    YamlNode node = NodeAt(mark);
    node.text = std::string(NullAt(text_.substr(std::min<size_t>(mark.pos, text_.size()))));
    if (!node.text.empty()) node.kind = YamlNode::Kind::kScalar;
    const bool written = !node.text.empty();
    Add(mark, std::move(node));
    null_position_ = written ? mark.pos : -1;
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Fail(mark, "aliases (*name) are not supported; write the value out");
    Add(mark, NodeAt(mark));
  }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    Fail(mark, "anchors (&name) are not supported; write the value out where it is needed");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    CheckTag(mark, tag);
    // The file is UTF-8, but yaml-cpp takes \N and \_ for the bytes 0x85 and 0xa0.
    if (!IsUtf8(value)) Fail(mark, "write \\x85 and \\xa0 instead of the escapes \\N and \\_");
    YamlNode node = NodeAt(mark);
    node.kind = YamlNode::Kind::kScalar;
    node.quoted = tag == "!";
    node.text = value;
    Add(mark, std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override {
    CheckDuplicates(open_.back());
    Close();
  }

  // Where the last value begins.
  const YAML::Mark& last() const { return last_; }
  YamlNode TakeRoot() { return std::move(root_); }

  void Fail(const YAML::Mark& mark, std::string message) {
    errors_.Add({file_, mark.line + 1, mark.column + 1, OpenPath(), std::move(message)});
    if (errors_.full()) throw StopParsing();
  }

 private:
  static YamlNode NodeAt(const YAML::Mark& mark) {
    YamlNode node;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  // "?" is what the scanner says of a plain node and "!" of a quoted scalar; a `!` that was written
  // stands in the text.
  void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    const bool written =
        mark.pos >= 0 && static_cast<size_t>(mark.pos) < text_.size() && text_[mark.pos] == '!';
    if (written || (tag != "?" && tag != "!" && !tag.empty())) {
      Fail(mark, "tags (!name) are not supported");
    }
  }

  bool ExpectsKey() const {
    return !open_.empty() && open_.back().kind == YamlNode::Kind::kMap &&
           open_.back().children.size() % 2 == 0;
  }

  // Every node passes here before it costs anything.
  void Count(const YAML::Mark& mark) {
    source_.Advance();
    last_ = mark;
    TakeBackNull(mark);
    if (++count_ <= limits_.nodes) return;
    Fail(mark, absl::StrCat("more than ", limits_.nodes,
                            " values in one file; use several files with include"));
    throw StopParsing();
  }

  // An empty value is reported at the place of the next token: when something else follows at the
  // very place of a null, that word was not the null's.
  void TakeBackNull(const YAML::Mark& mark) {
    if (std::exchange(null_position_, -1) != mark.pos) return;
    if (open_.empty() || open_.back().children.empty()) return;
    YamlNode& last = open_.back().children.back();
    last.kind = YamlNode::Kind::kEmpty;
    last.text.clear();
  }

  // "services[2].limits": the key path of what is being built.
  std::string OpenPath() const {
    std::string path;
    for (const YamlNode& node : open_) {
      if (node.kind == YamlNode::Kind::kList) {
        absl::StrAppend(&path, "[", node.children.size(), "]");
      } else if (node.children.size() % 2 == 1) {
        absl::StrAppend(&path, path.empty() ? "" : ".", node.children.back().text);
      }
    }
    return path;
  }

  void CheckKey(const YAML::Mark& mark, const YamlNode& node) {
    if (node.kind == YamlNode::Kind::kEmpty) Fail(mark, "a key is missing before ':'");
    if (node.kind == YamlNode::Kind::kScalar && !node.quoted && node.text == "<<") {
      Fail(mark, "merge keys (<<) are not supported; write the values out");
    }
  }

  void Add(const YAML::Mark& mark, YamlNode node) {
    Count(mark);
    if (ExpectsKey()) CheckKey(mark, node);
    Attach(std::move(node));
  }

  void Attach(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else {
      open_.back().children.push_back(std::move(node));
    }
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YamlNode::Kind kind) {
    Count(mark);
    CheckTag(mark, tag);
    if (ExpectsKey()) Fail(mark, "a key must be a word, not a list or a map");
    if (open_.size() >= limits_.depth) {
      Fail(mark, absl::StrCat("nested deeper than ", limits_.depth, " levels"));
      throw StopParsing();
    }
    YamlNode node = NodeAt(mark);
    node.kind = kind;
    open_.push_back(std::move(node));
  }

  void Close() {
    YamlNode node = std::move(open_.back());
    open_.pop_back();
    Attach(std::move(node));
  }

  void CheckDuplicates(const YamlNode& map) {
    std::vector<const YamlNode*> keys;
    for (size_t i = 0; i < map.entry_count(); ++i) keys.push_back(&map.key(i));
    std::stable_sort(keys.begin(), keys.end(),
                     [](const YamlNode* a, const YamlNode* b) { return a->text < b->text; });
    for (size_t i = 1; i < keys.size(); ++i) {
      if (keys[i]->text != keys[i - 1]->text || keys[i]->kind != YamlNode::Kind::kScalar) continue;
      const std::string path = OpenPath();
      errors_.Add({file_, keys[i]->line, keys[i]->column,
                   absl::StrCat(path, path.empty() ? "" : ".", keys[i]->text),
                   absl::StrCat("duplicate key, first on line ", keys[i - 1]->line)});
    }
  }

  // Set in the constructor, never changed.
  const std::string_view text_;
  const std::string& file_;
  const YamlLimits& limits_;
  MeteredText& source_;
  ConfigErrors& errors_;

  YamlNode root_;
  YAML::Mark last_;
  // Maps and lists that are not closed yet, outermost first.
  std::vector<YamlNode> open_;
  size_t count_ = 0;
  // Where the last node was when it was a written null, else -1.
  int null_position_ = -1;
  bool complete_ = false;
};

// The first line at or above `line` that is indented with a tab; 0 when there is none.
int TabbedLine(std::string_view text, int line) {
  int number = 1;
  for (size_t begin = 0; begin < text.size() && number <= line + 1; ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view content = text.substr(begin, end - begin);
    const size_t first = content.find_first_not_of(" \t\r");
    if (first != std::string_view::npos &&
        content.substr(0, first).find('\t') != std::string_view::npos) {
      return number;
    }
    begin = end + 1;
  }
  return 0;
}

ConfigError SyntaxError(const YAML::Exception& error, std::string_view text,
                        const std::string& file) {
  if (error.mark.is_null()) return {.file = file, .message = error.msg};
  const int line = error.mark.line + 1;
  if (const int tabbed = TabbedLine(text, line); tabbed > 0) {
    return {file, tabbed, 1, "", "a tab is used for indentation; YAML wants spaces"};
  }
  return {file, line, error.mark.column + 1, "", absl::StrCat("YAML syntax: ", error.msg)};
}

}  // namespace

const YamlNode* YamlNode::Find(std::string_view name) const {
  if (kind != Kind::kMap) return nullptr;
  for (size_t i = 0; i < entry_count(); ++i) {
    if (key(i).text == name) return &value(i);
  }
  return nullptr;
}

YamlNode ParseYaml(std::string_view text, const std::string& file, const YamlLimits& limits,
                   ConfigErrors& errors) {
  if (text.size() > limits.size) {
    errors.Add({.file = file,
                .message = absl::StrCat("longer than ", limits.size,
                                        " bytes; use several files with include")});
    return {};
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  if (const auto fault = CheckText(text)) {
    errors.Add({file, fault->line, fault->column, "", fault->message});
    return {};
  }
  MeteredText source(text, limits.flow);
  TreeBuilder builder(text, file, limits, source, errors);
  try {
    std::istream stream(&source);
    YAML::Parser parser(stream);
    // The second call finds a second document, or nothing.
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const StopParsing&) {
    return {};
  } catch (const MeteredText::TooMuchAtOnce&) {
    errors.Add({file, builder.last().line + 1, builder.last().column + 1, "",
                absl::StrCat("the text, [...], {...} or comment that follows is longer than ",
                             limits.flow, " bytes; use block style, one item a line")});
    return {};
  } catch (const YAML::Exception& error) {
    errors.Add(SyntaxError(error, text, file));
    return {};
  } catch (const std::exception& error) {
    errors.Add({.file = file, .message = absl::StrCat("cannot be parsed: ", error.what())});
    return {};
  }
  return builder.TakeRoot();
}

}  // namespace cohost::supervisor
