// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/trusted_keys.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "supervisor/modules/signing/key_file.h"

namespace cohost::supervisor {

TrustedKeys TrustedKeys::Read(const std::map<std::string, std::string>& files,
                              std::vector<Problem>* problems) {
  TrustedKeys keys;
  for (const auto& [name, path] : files) {
    absl::StatusOr<PublicKey> key = ReadPublicKey(path);
    if (!key.ok()) {
      problems->push_back({name, key.status()});
      continue;
    }
    const std::string id = key->id();
    const auto [entry, added] = keys.keys_.emplace(id, Entry{name, *std::move(key)});
    if (added) continue;
    // Most likely the old key under the new name: then dropping the old name would help nobody.
    problems->push_back({name, absl::InvalidArgumentError(
                                   absl::StrCat("'", path, "' is the same key as '",
                                                entry->second.name, "'; name each key once"))});
  }
  return keys;
}

std::map<std::string, Signature> TrustedKeys::Check(
    const std::string& content_hash, const std::vector<Signature>& signatures) const {
  std::map<std::string, Signature> good;
  const std::string message = SignedMessage(content_hash);
  for (const Signature& signature : signatures) {
    const auto entry = keys_.find(signature.key_id);
    if (entry == keys_.end() || !entry->second.key.Verify(message, signature.bytes)) continue;
    good.emplace(entry->second.name, signature);
  }
  return good;
}

const std::string* TrustedKeys::NameOf(const std::string& key_id) const {
  const auto entry = keys_.find(key_id);
  return entry == keys_.end() ? nullptr : &entry->second.name;
}

}  // namespace cohost::supervisor
