// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/signing_commands.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"
#include "supervisor/ctl/failure.h"
#include "supervisor/ctl/json_text.h"
#include "supervisor/modules/signing/content_hash.h"
#include "supervisor/modules/signing/key_file.h"
#include "supervisor/modules/signing/signature_text.h"

namespace cohost::supervisor {
namespace {

// Enough of an id for people to tell keys apart.
std::string Short(const std::string& key_id) { return key_id.substr(0, 16); }

// Signs one file; what was done.
absl::StatusOr<std::string> Sign(const PrivateKey& key, const std::string& file) {
  const std::string signature_file = SignatureFileOf(file);
  COHOST_ASSIGN_OR_RETURN(const std::string hash, HashOfFile(file));
  absl::StatusOr<std::vector<Signature>> read = ReadSignaturesOf(file);
  std::vector<Signature> signatures;
  if (read.ok()) {
    signatures = *std::move(read);
  } else if (!absl::IsNotFound(read.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(read.status().message(), "; remove it to sign anew, it is not overwritten"));
  }
  const std::string& id = key.public_key().id();
  PutSignature({id, key.Sign(SignedMessage(hash))}, signatures);
  if (signatures.size() > kMostSignatures) {
    return absl::ResourceExhaustedError(
        absl::StrCat("'", signature_file, "' has ", kMostSignatures,
                     " signatures already; remove it to sign anew"));
  }
  COHOST_RETURN_IF_ERROR(WriteFileAtomically(signature_file, FormatSignatures(signatures), 0644));
  return absl::StrCat("signed by key ", Short(id), ", ", signatures.size(),
                      signatures.size() == 1 ? " signature" : " signatures");
}

// Verifies one file; "good", or what is not.
absl::StatusOr<std::string> Verify(const PublicKey& key, const std::string& file) {
  COHOST_ASSIGN_OR_RETURN(const std::string hash, HashOfFile(file));
  const absl::StatusOr<std::vector<Signature>> signatures = ReadSignaturesOf(file);
  if (absl::IsNotFound(signatures.status())) {
    return absl::NotFoundError(
        absl::StrCat("not signed: there is no '", SignatureFileOf(file), "'"));
  }
  if (!signatures.ok()) return signatures.status();
  const auto found =
      std::find_if(signatures->begin(), signatures->end(),
                   [&](const Signature& signature) { return signature.key_id == key.id(); });
  if (found == signatures->end()) {
    return absl::NotFoundError(absl::StrCat("not signed by key ", Short(key.id())));
  }
  if (!key.Verify(SignedMessage(hash), found->bytes)) {
    return absl::DataLossError(absl::StrCat("changed since key ", Short(key.id()), " signed it"));
  }
  return std::string("good");
}

struct FileResult {
  std::string file;
  absl::StatusOr<std::string> text;
};

int Show(const Invocation& invocation, const std::vector<FileResult>& results,
         std::string_view failed, std::ostream& out, std::ostream& errors) {
  google::protobuf::Struct document;
  auto* files = (*document.mutable_fields())["files"].mutable_list_value();
  size_t failures = 0;
  for (const FileResult& result : results) {
    const std::string text =
        result.text.ok() ? *result.text : std::string(result.text.status().message());
    failures += result.text.ok() ? 0 : 1;
    if (invocation.output == OutputFormat::kTable) {
      out << result.file << ": " << text << "\n";
      continue;
    }
    auto& fields = *files->add_values()->mutable_struct_value()->mutable_fields();
    fields["file"].set_string_value(result.file);
    fields["good"].set_bool_value(result.text.ok());
    fields["text"].set_string_value(text);
  }
  if (invocation.output == OutputFormat::kJson) out << Json(document, true);
  if (failures == 0) return static_cast<int>(ExitCode::kDone);
  errors << "cohostctl: " << failures << " of " << results.size() << " files " << failed << "\n";
  return static_cast<int>(ExitCode::kWrongCall);
}

int Fail(const absl::Status& status, std::ostream& errors) {
  errors << "cohostctl: " << status.message() << "\n";
  return static_cast<int>(ExitCode::kWrongCall);
}

template <typename Key>
std::vector<FileResult> ForEachFile(const std::vector<std::string>& files, const Key& key,
                                    absl::StatusOr<std::string> (*action)(const Key&,
                                                                          const std::string&)) {
  std::vector<FileResult> results;
  results.reserve(files.size());
  for (const std::string& file : files) results.push_back({file, action(key, file)});
  return results;
}

int MakeKey(const Invocation& invocation, std::ostream& out, std::ostream& errors) {
  const absl::StatusOr<PublicKey> key = WriteNewKey(invocation.name);
  if (!key.ok()) return Fail(key.status(), errors);
  if (invocation.output == OutputFormat::kJson) {
    google::protobuf::Struct document;
    auto& fields = *document.mutable_fields();
    fields["key"].set_string_value(key->id());
    fields["private"].set_string_value(invocation.name + ".key");
    fields["public"].set_string_value(invocation.name + ".pub");
    out << Json(document, true);
  } else {
    out << invocation.name << ".key: secret, signs modules\n"
        << invocation.name << ".pub: for host.signing_keys, key " << Short(key->id()) << "\n";
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace

int RunSigningCommand(const Invocation& invocation, std::ostream& out, std::ostream& errors) {
  if (invocation.command == "modules new-key") return MakeKey(invocation, out, errors);
  if (invocation.command == "modules sign") {
    const absl::StatusOr<PrivateKey> key = ReadPrivateKey(invocation.key);
    if (!key.ok()) return Fail(key.status(), errors);
    return Show(invocation, ForEachFile(invocation.files, *key, Sign), "were not signed", out,
                errors);
  }
  const absl::StatusOr<PublicKey> key = ReadPublicKey(invocation.key);
  if (!key.ok()) return Fail(key.status(), errors);
  return Show(invocation, ForEachFile(invocation.files, *key, Verify), "have no good signature",
              out, errors);
}

}  // namespace cohost::supervisor
