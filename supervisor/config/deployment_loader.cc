// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/deployment_loader.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "supervisor/config/config_files.h"
#include "supervisor/config/deployment_checks.h"
#include "supervisor/config/deployment_options.h"
#include "supervisor/config/reader/deployment_reader.h"
#include "supervisor/config/yaml/yaml_tree.h"

namespace cohost::supervisor {
namespace {

// Over all files: four times 10,000 services written at length.
constexpr Bytes kMaxTotal = MiB(16);

// Of a text that FormatDeployment wrote: a service has up to 1.5 KiB and 110 nodes beside its own
// texts, so this is room for 30,000 of them; one text can be all settings of a service, escaped.
constexpr YamlLimits kFormattedLimits = {
    .size = size_t{128} << 20, .flow = size_t{2} << 20, .nodes = 4'000'000};

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

struct IncludedFile {
  std::string path;
  std::string text;
  ConfigErrors errors;
  std::optional<YamlNode> root;  // nothing when there are errors
};

void ParseFile(IncludedFile& file, const YamlLimits& limits) {
  YamlNode root = ParseYaml(file.text, file.path, limits, file.errors);
  if (file.errors.empty()) file.root = std::move(root);
}

// One load, from the first file to the result.
class Load {
 public:
  explicit Load(const LoadOptions& options)
      : options_(options),
        limits_(options.formatted ? kFormattedLimits : YamlLimits{}),
        files_(Bytes{limits_.size}, kMaxTotal),
        context_(errors_) {
    context_.checks_files = !options.formatted;
  }

  LoadResult FromFile(const std::string& path) {
    if (const auto text = Read(path, nullptr)) ReadMain(*text, path);
    return Finish(path);
  }

  LoadResult FromText(std::string_view text, const std::string& file_name) {
    ReadMain(text, file_name);
    return Finish(file_name);
  }

 private:
  // The content of a file; reports where it was included from when it cannot be read.
  std::optional<std::string> Read(const std::string& path, const Place* included_at) {
    absl::StatusOr<std::string> text = files_.Read(path);
    if (text.ok()) return *std::move(text);
    ConfigError error{.file = path, .message = std::string(text.status().message())};
    if (included_at != nullptr) {
      error = {included_at->file, included_at->line, included_at->column, included_at->key_path,
               error.message};
    }
    errors_.Add(std::move(error));
    return std::nullopt;
  }

  // The file's folder as an absolute path, for the paths that it names.
  SourceFile Source(const std::string& path) {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::absolute(FolderOf(path), error);
    if (error) {
      errors_.Add({.file = path, .message = absl::StrCat("its folder: ", error.message())});
    }
    return {path, folder.string()};
  }

  std::optional<YamlNode> Parse(std::string_view text, const std::string& path) {
    ConfigErrors own;
    YamlNode root = ParseYaml(text, path, limits_, own);
    if (own.empty()) return root;
    for (ConfigError& error : own.Take()) errors_.Add(std::move(error));
    return std::nullopt;
  }

  // Parsing takes most of the time of a load, and no file needs another's tree.
  void ParseAll(std::vector<IncludedFile>& files) {
    std::atomic<size_t> next = 0;
    const auto parse = [&] {
      for (size_t i = next++; i < files.size(); i = next++) ParseFile(files[i], limits_);
    };
    const size_t threads = std::min<size_t>(files.size(), std::thread::hardware_concurrency());
    std::vector<std::thread> others;
    try {
      for (size_t i = 1; i < threads; ++i) others.emplace_back(parse);
    } catch (const std::system_error&) {
      // No more threads to be had: those that there are do all of it.
    }
    parse();
    for (std::thread& other : others) other.join();
  }

  void ReadMain(std::string_view text, const std::string& path) {
    const std::optional<YamlNode> root = Parse(text, path);
    if (!root.has_value()) return;
    complete_ = true;
    const SourceFile file = Source(path);
    ReadDeploymentFile(*root, file, context_, draft_);
    included_.emplace(RealPath(path), Place{path, 1, 1, ""});
    std::vector<IncludedFile> files;
    for (const DeploymentDraft::Include& include : draft_.includes) {
      absl::StatusOr<std::vector<std::string>> found =
          ExpandInclude(FolderOf(path), include.pattern);
      if (!found.ok()) {
        Fail(include.place, std::string(found.status().message()));
        continue;
      }
      for (const std::string& each : *found) Include(each, include.place, files);
    }
    ParseAll(files);
    for (IncludedFile& file : files) {
      if (!file.root.has_value()) {
        for (ConfigError& error : file.errors.Take()) errors_.Add(std::move(error));
        complete_ = false;
        continue;
      }
      ReadIncludedFile(*file.root, Source(file.path), context_, draft_);
    }
  }

  // Reads the file; with its text it joins `files`.
  void Include(const std::string& path, const Place& place, std::vector<IncludedFile>& files) {
    const auto [first, added] = included_.emplace(RealPath(path), place);
    if (!added) {
      Fail(place, absl::StrCat("'", path, "' is part of the deployment already, since ",
                               first->second.file, ":", first->second.line));
      return;
    }
    if (std::optional<std::string> text = Read(path, &place)) {
      files.push_back({path, *std::move(text), {}, std::nullopt});
    } else {
      complete_ = false;
    }
  }

  static std::string RealPath(const std::string& path) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    return error ? path : real.string();
  }

  void Fail(const Place& place, std::string message) {
    errors_.Add({place.file, place.line, place.column, place.key_path, std::move(message)});
  }

  LoadResult Finish(const std::string& path) {
    // With a file missing, what refers to it would be reported although it is right.
    if (complete_) {
      ApplyOptions(options_, path, draft_, errors_);
      CheckDeployment(draft_, errors_);
    }
    for (const std::string& changed : files_.Changed()) {
      errors_.Add({.file = changed, .message = "changed while the deployment was read; try again"});
    }
    LoadResult result;
    result.errors = errors_.Take();
    result.files = files_.paths();
    if (result.errors.empty()) result.deployment = std::move(draft_.deployment);
    return result;
  }

  const LoadOptions& options_;
  const YamlLimits limits_;
  ConfigErrors errors_;
  ConfigFiles files_;
  ReadContext context_;
  DeploymentDraft draft_;
  // Every file was parsed.
  bool complete_ = false;
  // Real path of each file, and what included it.
  std::map<std::string, Place> included_;
};

}  // namespace

LoadResult LoadDeployment(const std::string& path, const LoadOptions& options) {
  return Load(options).FromFile(path);
}

LoadResult ParseDeployment(std::string_view text, const std::string& file_name,
                           const LoadOptions& options) {
  return Load(options).FromText(text, file_name);
}

}  // namespace cohost::supervisor
