// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/signer_survey.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "supervisor/modules/signing/content_hash.h"

namespace cohost::supervisor {
namespace {

std::string Text(const absl::Status& status) { return std::string(status.message()); }

}  // namespace

SignerSurvey::SignerSurvey(TrustedKeys keys, const std::string& store)
    : keys_(std::move(keys)), kept_(store), derived_(store) {}

SignerSurvey::Content& SignerSurvey::ContentOf(const StoredFile& file) {
  const auto [entry, added] = contents_.try_emplace(file.hash);
  Content& content = entry->second;
  if (!added) return content;
  const absl::StatusOr<std::string> hash = HashOfFile(file.path);
  if (!hash.ok() || *hash != file.hash) {
    content.damage =
        absl::StrCat("the stored copy '", file.path, "' is damaged (",
                     hash.ok() ? "its content is not what its name says" : Text(hash.status()),
                     "); remove it, so that it is copied anew");
    return content;
  }
  content.signed_hashes.push_back(file.hash);
  const absl::StatusOr<DerivedRecord> record = derived_.Find(file.hash);
  if (record.ok()) {
    content.signed_hashes.push_back(record->source_hash);
  } else if (!absl::IsNotFound(record.status())) {
    remarks_.push_back(Text(record.status()));
  }
  for (const std::string& signed_hash : content.signed_hashes) {
    const absl::StatusOr<std::vector<Signature>> kept = kept_.Find(signed_hash);
    if (!kept.ok()) {
      remarks_.push_back(Text(kept.status()));
      continue;
    }
    for (const auto& [name, signature] : keys_.Check(signed_hash, *kept)) {
      content.signers.names.insert(name);
    }
  }
  return content;
}

std::string SignerSurvey::ReadSource(const std::string& source, Content& content) {
  const absl::StatusOr<std::vector<Signature>> signatures = ReadSignaturesOf(source);
  if (absl::IsNotFound(signatures.status())) {
    return absl::StrCat("there is no '", SignatureFileOf(source), "'");
  }
  if (!signatures.ok()) return Text(signatures.status());
  bool any = false;
  for (const std::string& signed_hash : content.signed_hashes) {
    std::vector<Signature> good;
    for (auto& [name, signature] : keys_.Check(signed_hash, *signatures)) {
      content.signers.names.insert(name);
      good.push_back(signature);
    }
    any = any || !good.empty();
    if (absl::Status kept = kept_.Keep(signed_hash, good); !kept.ok()) {
      remarks_.push_back(
          absl::StrCat("signatures of '", source, "' are not kept: ", kept.message()));
    }
  }
  if (any) return "";
  for (const Signature& signature : *signatures) {
    if (const std::string* name = keys_.NameOf(signature.key_id)) {
      return absl::StrCat("in '", SignatureFileOf(source), "' the signature by '", *name,
                          "' is of other content: the file was changed after it was signed");
    }
  }
  return absl::StrCat("'", SignatureFileOf(source),
                      "' has no signature by a key of host.signing_keys (the first is by key ",
                      signatures->front().key_id.substr(0, 16), ")");
}

void SignerSurvey::Look(const std::string& source, const StoredFile& file) {
  Content& content = ContentOf(file);
  if (content.signers.remarks.contains(source)) return;
  content.signers.remarks[source] =
      content.damage.empty() ? ReadSource(source, content) : content.damage;
}

std::map<std::string, ContentSigners> SignerSurvey::TakeSigners() {
  std::map<std::string, ContentSigners> signers;
  for (auto& [hash, content] : contents_) signers.emplace(hash, std::move(content.signers));
  contents_.clear();
  return signers;
}

}  // namespace cohost::supervisor
