// SPDX-License-Identifier: Apache-2.0
//
// cohost-image: makes a data image (base/format/data_image.h) of lines `key TAB value` on standard
// input. In both, \\, \t and \n stand for a backslash, a tab and a line end; everything else is
// taken as it is.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/format/data_image_builder.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"

namespace cohost {
namespace {

constexpr char kUsage[] =
    "usage: cohost-image NAME OUTPUT < LINES\n"
    "Makes the data image OUTPUT, named NAME (at most 32 bytes), of lines `key TAB value`.\n";

absl::StatusOr<std::string> ReadAll(int fd) {
  std::string content;
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "read", "standard input");
    if (count == 0) return content;
    content.append(buffer, static_cast<size_t>(count));
  }
}

std::optional<std::string> Unescape(std::string_view field) {
  std::string plain;
  plain.reserve(field.size());
  for (size_t i = 0; i < field.size(); ++i) {
    if (field[i] != '\\') {
      plain.push_back(field[i]);
      continue;
    }
    if (++i == field.size()) return std::nullopt;
    switch (field[i]) {
      case '\\':
        plain.push_back('\\');
        break;
      case 't':
        plain.push_back('\t');
        break;
      case 'n':
        plain.push_back('\n');
        break;
      default:
        return std::nullopt;
    }
  }
  return plain;
}

absl::Status AddLine(std::string_view line, size_t number, DataImageBuilder& builder) {
  const size_t tab = line.find('\t');
  if (tab == std::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("line ", number, ": no tab after the key"));
  }
  std::optional<std::string> key = Unescape(line.substr(0, tab));
  std::optional<std::string> value = Unescape(line.substr(tab + 1));
  if (!key || !value) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", number, ": a backslash stands only in \\\\, \\t and \\n"));
  }
  builder.Add(*std::move(key), *std::move(value));
  return absl::OkStatus();
}

absl::Status MakeImage(const std::string& name, const std::string& output) {
  COHOST_ASSIGN_OR_RETURN(const std::string input, ReadAll(STDIN_FILENO));
  DataImageBuilder builder(name);
  std::string_view rest = input;
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    COHOST_RETURN_IF_ERROR(AddLine(rest.substr(0, end), number, builder));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  COHOST_ASSIGN_OR_RETURN(const std::string image, builder.Build());
  return WriteFileAtomically(output, image, 0644);
}

}  // namespace
}  // namespace cohost

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) {
    fputs(cohost::kUsage, stdout);
    return 0;
  }
  if (argc != 3) {
    fputs(cohost::kUsage, stderr);
    return 1;
  }
  const absl::Status status = cohost::MakeImage(argv[1], argv[2]);
  if (status.ok()) return 0;
  fprintf(stderr, "cohost-image: %s\n", std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) || absl::IsAlreadyExists(status) ? 1 : 2;
}
