// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/config_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"

namespace cohost::supervisor {
namespace {

// A folder of configuration, not of data.
constexpr size_t kMaxFilesOfPattern = 4096;

bool Same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec &&
         a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

}  // namespace

absl::StatusOr<std::string> ConfigFiles::Read(const std::string& path) {
  struct stat before {};
  if (stat(path.c_str(), &before) != 0) return ErrnoStatus(errno, "open", path);
  if (S_ISDIR(before.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("'", path, "' is a directory, not a file"));
  }
  if (!S_ISREG(before.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("'", path, "' is not a regular file"));
  }
  const Bytes rest{std::min(limit_.count, total_.count - read_)};
  absl::StatusOr<std::string> content = ReadRegularFile(path, rest);
  if (content.status().code() == absl::StatusCode::kResourceExhausted) {
    return absl::ResourceExhaustedError(
        rest == limit_
            ? absl::StrCat("longer than ", FormatBytes(limit_), "; use several files with include")
            : absl::StrCat("all files together are longer than ", FormatBytes(total_)));
  }
  COHOST_RETURN_IF_ERROR(content.status());
  read_ += content->size();
  paths_.push_back(path);
  stats_.push_back(before);
  return content;
}

std::vector<std::string> ConfigFiles::Changed() const {
  std::vector<std::string> changed;
  for (size_t i = 0; i < paths_.size(); ++i) {
    struct stat now {};
    if (stat(paths_[i].c_str(), &now) != 0 || !Same(now, stats_[i])) changed.push_back(paths_[i]);
  }
  return changed;
}

absl::StatusOr<std::vector<std::string>> ExpandInclude(const std::string& folder,
                                                       const std::string& pattern) {
  const std::string whole = pattern[0] == '/' ? pattern : absl::StrCat(folder, "/", pattern);
  const size_t slash = pattern.rfind('/');
  const std::string name = slash == std::string::npos ? pattern : pattern.substr(slash + 1);
  constexpr std::string_view kWildcards = "*?[";
  if (slash != std::string::npos &&
      pattern.substr(0, slash).find_first_of(kWildcards) != std::string::npos) {
    return absl::InvalidArgumentError("wildcards stand in the last part of the pattern only");
  }
  if (name.find_first_of(kWildcards) == std::string::npos) return std::vector<std::string>{whole};

  const std::string parent = whole.substr(0, whole.rfind('/'));
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator it(parent.empty() ? "/" : parent, error);
  if (error == std::errc::no_such_file_or_directory) return found;
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string entry = it->path().filename().string();
    if (fnmatch(name.c_str(), entry.c_str(), FNM_PERIOD) != 0) continue;
    found.push_back(absl::StrCat(parent, "/", entry));
    if (found.size() > kMaxFilesOfPattern) {
      return absl::ResourceExhaustedError(
          absl::StrCat("more than ", kMaxFilesOfPattern, " files match"));
    }
  }
  if (error) return ErrnoStatus(error.value(), "read folder", parent);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace cohost::supervisor
