// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "supervisor/modules/signing/key.h"
#include "supervisor/modules/signing/signature_text.h"

namespace cohost::supervisor {

// The public keys of a deployment (host.signing_keys) by name, as they were when it was read.
// Immutable.
class TrustedKeys {
 public:
  struct Problem {
    std::string name;
    absl::Status status;  // not OK
  };
  // Reads the files, `files` is path by name. A key that cannot be used, or is the same as one
  // before it, is a problem and left out. Blocks on the disk.
  static TrustedKeys Read(const std::map<std::string, std::string>& files,
                          std::vector<Problem>* problems);

  // Those of the signatures that are by one of these keys and good for that content, by the key's
  // name.
  std::map<std::string, Signature> Check(const std::string& content_hash,
                                         const std::vector<Signature>& signatures) const;
  // Null when no key of that id is trusted.
  const std::string* NameOf(const std::string& key_id) const;
  bool empty() const { return keys_.empty(); }

 private:
  struct Entry {
    std::string name;
    PublicKey key;
  };
  std::map<std::string, Entry> keys_;  // by id
};

}  // namespace cohost::supervisor
