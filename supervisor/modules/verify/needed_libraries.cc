// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/needed_libraries.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"
#include "base/units.h"
#include "supervisor/modules/verify/library_cache.h"
#include "supervisor/modules/verify/symbol_versions.h"

namespace cohost::supervisor {

namespace {

constexpr size_t kMostLibraries = 256;
constexpr Bytes kMaxCache = MiB(16);

#if defined(__x86_64__)
constexpr char kPlatform[] = "x86_64";
constexpr char kTriplet[] = "x86_64-linux-gnu";
#elif defined(__aarch64__)
constexpr char kPlatform[] = "aarch64";
constexpr char kTriplet[] = "aarch64-linux-gnu";
#endif

// What takes part in the search: the module, then every library that it brings.
struct Object {
  std::string path;   // empty: the module
  size_t needed_by;   // itself for the module
  std::string rpath;  // searched for whatever it brings; ignored when there is a RUNPATH
  std::optional<std::string> runpath;  // searched for what it names itself
  bool default_folders = true;
  std::vector<std::string> needed;
  std::vector<NeededVersion> versions;
};

absl::StatusOr<Object> Describe(const ElfImage& image, std::string path, size_t needed_by) {
  Object object;
  object.path = std::move(path);
  object.needed_by = needed_by;
  for (const uint64_t name : image.needed()) {
    COHOST_ASSIGN_OR_RETURN(object.needed.emplace_back(), image.StringAt(name));
  }
  if (const auto text = image.Dynamic(DT_RUNPATH)) {
    COHOST_ASSIGN_OR_RETURN(object.runpath, image.StringAt(*text));
  } else if (const auto older = image.Dynamic(DT_RPATH)) {
    COHOST_ASSIGN_OR_RETURN(object.rpath, image.StringAt(*older));
  }
  object.default_folders = !image.HasFlag(DT_FLAGS_1, DF_1_NODEFLIB);
  COHOST_ASSIGN_OR_RETURN(object.versions, ReadNeededVersions(image));
  return object;
}

bool NamesOrigin(std::string_view text) {
  return absl::StrContains(AsAbsl(text), "$ORIGIN") || absl::StrContains(AsAbsl(text), "${ORIGIN}");
}

// With the loader's variables replaced; empty when it cannot name an absolute path. `lib` is what
// $LIB stands for.
std::string Expand(std::string_view text, const Object& object, const std::string& lib) {
  if (NamesOrigin(text) && object.path.empty()) return "";
  const std::string origin = object.path.substr(0, object.path.rfind('/'));
  std::string expanded = absl::StrReplaceAll(AsAbsl(text), {{"${ORIGIN}", origin},
                                                            {"$ORIGIN", origin},
                                                            {"${LIB}", lib},
                                                            {"$LIB", lib},
                                                            {"${PLATFORM}", kPlatform},
                                                            {"$PLATFORM", kPlatform}});
  return expanded.starts_with('/') ? expanded : "";
}

// Debian's value of $LIB, then that of other distributions.
std::vector<std::string> Expansions(std::string_view text, const Object& object) {
  std::vector<std::string> expansions;
  for (const std::string& lib : {absl::StrCat("lib/", kTriplet), std::string("lib64")}) {
    std::string expanded = Expand(text, object, lib);
    if (expanded.empty() || (!expansions.empty() && expansions.front() == expanded)) continue;
    expansions.push_back(std::move(expanded));
  }
  return expansions;
}

class Walk {
 public:
  explicit Walk(const LibrarySearch& search) : search_(search) {
    // Without a cache that can be read the loader goes on to its default folders too.
    if (auto content = ReadRegularFile(search.cache, kMaxCache); content.ok()) {
      cache_ = LibraryCache(*std::move(content));
    }
  }

  absl::Status Check(const ElfImage& module) {
    COHOST_ASSIGN_OR_RETURN(Object root, Describe(module, "", 0));
    objects_.push_back(std::move(root));
    for (size_t i = 0; i < objects_.size(); ++i) {
      // By number: objects_ grows meanwhile.
      for (size_t n = 0; n < objects_[i].needed.size(); ++n) {
        COHOST_RETURN_IF_ERROR(Resolve(i, std::string(objects_[i].needed[n])));
      }
      for (size_t n = 0; n < objects_[i].versions.size(); ++n) {
        COHOST_RETURN_IF_ERROR(CheckVersion(i, objects_[i].versions[n]));
      }
    }
    return absl::OkStatus();
  }

 private:
  struct Found {
    std::string path;
    std::set<std::string> versions;
  };

  // The candidates in the loader's order.
  std::vector<std::string> Candidates(size_t by, const std::string& name) const {
    const Object& object = objects_[by];
    if (name.find('/') != std::string::npos) return Expansions(name, object);
    std::vector<std::string> paths;
    const auto add = [&](std::string_view folders, const Object& of) {
      for (const auto folder : absl::StrSplit(AsAbsl(folders), ':', absl::SkipEmpty())) {
        for (const std::string& expanded : Expansions(AsStd(folder), of)) {
          paths.push_back(absl::StrCat(expanded, "/", name));
        }
      }
    };
    if (!object.runpath.has_value()) {
      for (size_t i = by;; i = objects_[i].needed_by) {
        add(objects_[i].rpath, objects_[i]);
        if (i == 0) break;
      }
    } else {
      add(*object.runpath, object);
    }
    if (!object.default_folders) return paths;
    for (std::string& path : cache_.Find(name)) paths.push_back(std::move(path));
    for (const std::string& folder : search_.folders) {
      paths.push_back(absl::StrCat(folder, "/", name));
    }
    return paths;
  }

  absl::Status Resolve(size_t by, const std::string& name) {
    if (found_.contains(name)) return absl::OkStatus();
    std::string unfit;
    for (std::string& path : Candidates(by, name)) {
      // Looked at before it is opened: opening a device may do something.
      struct stat status;
      if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
      const absl::Status taken = Take(by, name, path);
      if (taken.ok()) return absl::OkStatus();
      // As the loader does with libraries of other machines.
      if (unfit.empty()) {
        unfit = absl::StrCat(" (", PrintableText(path), ": ", taken.message(), ")");
      }
    }
    return Missing(by, name, unfit);
  }

  absl::Status Take(size_t by, const std::string& name, const std::string& path) {
    if (objects_.size() > kMostLibraries) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMostLibraries, " libraries"));
    }
    COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    COHOST_ASSIGN_OR_RETURN(const ElfImage image, ElfImage::Read(fd.get()));
    COHOST_ASSIGN_OR_RETURN(Object object, Describe(image, path, by));
    Found found{path, {}};
    COHOST_ASSIGN_OR_RETURN(found.versions, ReadDefinedVersions(image));
    // Others may ask for it by the name that it gives itself.
    if (const auto soname = image.Dynamic(DT_SONAME)) {
      COHOST_ASSIGN_OR_RETURN(const std::string own_name, image.StringAt(*soname));
      found_.emplace(own_name, found);
    }
    found_.emplace(name, std::move(found));
    objects_.push_back(std::move(object));
    return absl::OkStatus();
  }

  absl::Status CheckVersion(size_t by, const NeededVersion& needed) const {
    const auto library = found_.find(needed.library);
    // Asked of a library that is not among DT_NEEDED: found in another one or not at all.
    if (library == found_.end() || library->second.versions.empty() ||
        library->second.versions.contains(needed.version)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat(Who(by), " needs version ", PrintableText(needed.version), " of ",
                     PrintableText(needed.library), ", which ", PrintableText(library->second.path),
                     " does not have: build it on this distribution or an older one"));
  }

  absl::Status Missing(size_t by, const std::string& name, std::string_view unfit) const {
    std::string remedy = "install it or link it statically";
    if (by == 0) {
      const Object& module = objects_[0];
      if (NamesOrigin(module.rpath) || NamesOrigin(module.runpath.value_or("")) ||
          NamesOrigin(name)) {
        remedy += ", or name its folder in full: $ORIGIN is the folder of the module store there";
      } else if (name.find('/') != std::string::npos && name[0] != '/') {
        remedy += ", or link it by its name: a path that is not absolute says nothing in a worker";
      }
    }
    return absl::InvalidArgumentError(
        absl::StrCat(Who(by), " needs the library ", PrintableText(name),
                     ", which is not on this host", AsAbsl(unfit), ": ", remedy));
  }

  std::string Who(size_t object) const {
    return object == 0 ? "it" : absl::StrCat("its library ", PrintableText(objects_[object].path));
  }

  const LibrarySearch& search_;
  LibraryCache cache_;
  std::vector<Object> objects_;
  std::map<std::string, Found> found_;  // by the names under which they are asked for
};

}  // namespace

std::vector<std::string> LibrarySearch::DefaultFolders() {
  return {absl::StrCat("/lib/", kTriplet),
          absl::StrCat("/usr/lib/", kTriplet),
          "/lib64",
          "/usr/lib64",
          "/lib",
          "/usr/lib"};
}

absl::Status CheckNeededLibraries(const ElfImage& module, const LibrarySearch& search) {
  return Walk(search).Check(module);
}

}  // namespace cohost::supervisor
