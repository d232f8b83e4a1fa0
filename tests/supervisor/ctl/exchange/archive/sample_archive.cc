// SPDX-License-Identifier: Apache-2.0
#include "tests/supervisor/ctl/exchange/archive/sample_archive.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "supervisor/ctl/exchange/archive/field.h"

namespace cohost::supervisor {

SampleArchive::SampleArchive() {
  const auto add = [&](const std::string& content) {
    const std::string hash = HashOf(content);
    files[hash] = content;
    std::ofstream(folder / hash) << content;
    return hash;
  };
  catalog = add(std::string(700, 'c'));
  orders = add("orders");
  words = add(std::string(512, 'w'));
  deployment = "version: 1\nservices:\n";
  int port = 8101;
  for (const char* name : {"catalog", "orders", "search"}) {
    absl::StrAppend(&deployment, "  - name: ", name, "\n    module: /srv/", name,
                    ".so\n    listen: [\"http://127.0.0.1:", port++, "\"]\n");
    if (std::string_view(name) == "search") {
      absl::StrAppend(&deployment, "    data_images: {words: /srv/words.img}\n",
                      "    settings: {db: {password: \"${env:DB}\"}}\n");
    }
  }
}

ArchiveParts SampleArchive::Parts(bool with_files) const {
  ArchiveParts parts;
  parts.head.host_version = "1.2.3";
  parts.head.hostname = "shop 1";
  parts.head.time = absl::FromUnixSeconds(1'767'323'045);
  parts.head.revision = 12;
  parts.deployment = deployment;
  for (const auto& [hash, content] : files) {
    const StoredKind kind = hash == words ? StoredKind::kDataImage : StoredKind::kModule;
    parts.list.files.push_back({{hash, kind}, content.size(), false, ""});
    if (with_files) parts.paths[hash] = folder / hash;
  }
  parts.list.uses = {{"catalog", catalog, "/srv/catalog.so", ""},
                     {"orders", orders, "/srv/orders.so", ""},
                     {"search", catalog, "/srv/search.so", ""},
                     {"search", words, "/srv/words.img", "words"}};
  parts.signatures[catalog] = "cohost-signature 1\n";
  return parts;
}

std::string SampleArchive::Bytes(bool with_files) const {
  const std::string path = folder / "written";
  const auto fd = OpenFile(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (!fd.ok() || !WriteArchive(Parts(with_files), fd->get()).ok()) std::abort();
  std::stringstream bytes;
  bytes << std::ifstream(path).rdbuf();
  return bytes.str();
}

absl::StatusOr<ArchiveContents> SampleArchive::Read(const std::string& bytes,
                                                    FileSink* sink) const {
  // In memory: some tests read an archive ten thousand times.
  const UniqueFd fd(memfd_create("archive", MFD_CLOEXEC));
  if (!fd.valid() || !WriteAll(fd.get(), bytes).ok()) std::abort();
  return ReadArchive(fd.get(), sink);
}

absl::Status KeepingSink::Begin(const ArchivedFile& file) {
  hash_ = file.name.hash;
  bytes_.clear();
  return absl::OkStatus();
}

absl::Status KeepingSink::Write(std::string_view bytes) {
  bytes_.append(bytes);
  return refuses;
}

absl::Status KeepingSink::End() {
  files[hash_] = bytes_;
  return absl::OkStatus();
}

}  // namespace cohost::supervisor
