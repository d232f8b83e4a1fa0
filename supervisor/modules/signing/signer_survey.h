// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "supervisor/modules/signing/derived_record.h"
#include "supervisor/modules/signing/signature_store.h"
#include "supervisor/modules/signing/trusted_keys.h"
#include "supervisor/modules/stored_file.h"

namespace cohost::supervisor {

// Who signed the content of one stored file.
struct ContentSigners {
  std::set<std::string> names;  // of trusted keys
  // Why the signatures beside a source count for nothing, by the source's path: something to tell
  // when a signature is missed.
  std::map<std::string, std::string> remarks;
};

// Finds out who signed the files of a deployment. Looks at the stored content alone: it is read
// again and compared with its hash, since what workers map is the stored copy; the source may be
// another file by now. Signatures come from SOURCE.sig and from those that were kept before
// (signature_store.h); good ones of trusted keys are kept. A file that Cohost derived
// (derived_record.h) is signed by who signed its source. One thread at a time; blocks on the disk.
class SignerSurvey {
 public:
  // `store` is the module store's folder.
  SignerSurvey(TrustedKeys keys, const std::string& store);

  void Look(const std::string& source, const StoredFile& file);

  // By the hash of the stored file: of equal content, however many sources it has.
  std::map<std::string, ContentSigners> TakeSigners();
  // What went wrong beside: signatures that could not be kept, one line each.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  struct Content {
    ContentSigners signers;
    // Of its own and of what it was derived from; none when the stored copy is damaged.
    std::vector<std::string> signed_hashes;
    std::string damage;
  };
  Content& ContentOf(const StoredFile& file);
  // What is wrong with the signatures beside the source; empty when one of them is good.
  std::string ReadSource(const std::string& source, Content& content);

  // Set in the constructor, never changed.
  const TrustedKeys keys_;
  const SignatureStore kept_;
  const DerivedRecords derived_;
  std::map<std::string, Content> contents_;  // by hash of the stored file
  std::vector<std::string> remarks_;
};

}  // namespace cohost::supervisor
