// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/file_list.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/ctl/exchange/archive/field.h"
#include "supervisor/modules/signing/content_hash.h"

namespace cohost::supervisor {
namespace {

auto OrderOf(const ArchivedUse& use) { return std::tie(use.service, use.data_image); }

absl::StatusOr<ArchivedFile> ParseFile(const std::vector<std::string_view>& fields) {
  if (fields.size() != 5) return absl::InvalidArgumentError("a file has five fields");
  ArchivedFile file;
  const auto name = StoredName::Parse(fields[1]);
  const bool right = name && name->copy == 1 &&
                     (name->kind == StoredKind::kModule || name->kind == StoredKind::kDataImage);
  if (!right) return absl::InvalidArgumentError("it names no module and no data image");
  file.name = *name;
  COHOST_ASSIGN_OR_RETURN(file.size, ParseNumber(fields[2]));
  if (file.size > kMaxHashedFile.count) {
    return absl::InvalidArgumentError("its size is more than a file of the store may have");
  }
  if (fields[3] != "in" && fields[3] != "out") {
    return absl::InvalidArgumentError("the file is neither 'in' nor 'out'");
  }
  file.included = fields[3] == "in";
  if (fields[4] != "-") {
    if (!IsContentHash(fields[4])) return absl::InvalidArgumentError("its last field is no hash");
    file.signatures_hash = fields[4];
  }
  return file;
}

absl::StatusOr<ArchivedUse> ParseUse(const std::vector<std::string_view>& fields) {
  if (fields.size() != 4 && fields.size() != 5) {
    return absl::InvalidArgumentError("a use has four fields or five");
  }
  ArchivedUse use;
  COHOST_ASSIGN_OR_RETURN(use.service, UnescapeField(fields[1]));
  use.hash = fields[2];
  COHOST_ASSIGN_OR_RETURN(use.source, UnescapeField(fields[3]));
  if (fields.size() == 5) {
    COHOST_ASSIGN_OR_RETURN(use.data_image, UnescapeField(fields[4]));
    if (use.data_image.empty()) return absl::InvalidArgumentError("a data image has no name");
  }
  return use;
}

absl::Status AddLine(std::string_view line, FileList& list) {
  const auto fields = SplitFields(line);
  if (fields[0] == "file" && list.uses.empty()) {
    COHOST_ASSIGN_OR_RETURN(ArchivedFile file, ParseFile(fields));
    if (!list.files.empty() && list.files.back().name.hash >= file.name.hash) {
      return absl::InvalidArgumentError("the files are not in order");
    }
    list.files.push_back(std::move(file));
    return absl::OkStatus();
  }
  if (fields[0] != "use") return absl::InvalidArgumentError("it is no file and no use");
  COHOST_ASSIGN_OR_RETURN(ArchivedUse use, ParseUse(fields));
  if (!list.uses.empty() && OrderOf(list.uses.back()) >= OrderOf(use)) {
    return absl::InvalidArgumentError("the uses are not in order");
  }
  const ArchivedFile* file = list.Find(use.hash);
  const StoredKind kind = use.data_image.empty() ? StoredKind::kModule : StoredKind::kDataImage;
  if (file == nullptr || file->name.kind != kind) {
    return absl::InvalidArgumentError("it uses no file of the list");
  }
  list.uses.push_back(std::move(use));
  return absl::OkStatus();
}

}  // namespace

const ArchivedFile* FileList::Find(std::string_view hash) const {
  const auto found = std::lower_bound(
      files.begin(), files.end(), hash,
      [](const ArchivedFile& file, std::string_view wanted) { return file.name.hash < wanted; });
  return found == files.end() || found->name.hash != hash ? nullptr : &*found;
}

std::string FormatFileList(FileList list) {
  std::sort(list.files.begin(), list.files.end(),
            [](const ArchivedFile& a, const ArchivedFile& b) { return a.name.hash < b.name.hash; });
  std::sort(list.uses.begin(), list.uses.end(),
            [](const ArchivedUse& a, const ArchivedUse& b) { return OrderOf(a) < OrderOf(b); });
  std::string text;
  for (const ArchivedFile& file : list.files) {
    absl::StrAppend(&text, "file ", file.name.ToString(), " ", file.size,
                    file.included ? " in " : " out ",
                    file.signatures_hash.empty() ? "-" : file.signatures_hash, "\n");
  }
  for (const ArchivedUse& use : list.uses) {
    absl::StrAppend(&text, "use ", EscapeField(use.service), " ", use.hash, " ",
                    EscapeField(use.source));
    if (!use.data_image.empty()) absl::StrAppend(&text, " ", EscapeField(use.data_image));
    text += "\n";
  }
  return text;
}

absl::StatusOr<FileList> ParseFileList(std::string_view text) {
  FileList list;
  for (size_t number = 1; !text.empty(); ++number) {
    const auto line = TakeLine(text);
    const absl::Status added = line.ok() ? AddLine(*line, list) : line.status();
    if (!added.ok()) return Annotate(added, absl::StrCat("line ", number));
  }
  std::set<std::string_view> used;
  for (const ArchivedUse& use : list.uses) used.insert(use.hash);
  for (const ArchivedFile& file : list.files) {
    if (!used.contains(file.name.hash)) {
      return absl::InvalidArgumentError(absl::StrCat("nothing uses ", file.name.ToString()));
    }
  }
  return list;
}

}  // namespace cohost::supervisor
