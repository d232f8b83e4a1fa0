// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/signature_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "supervisor/modules/signing/content_hash.h"
#include "supervisor/modules/signing/key.h"

namespace cohost::supervisor {
namespace {

constexpr std::string_view kHeader = "cohost-signature 1";

absl::Status BadLine(size_t number, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", AsAbsl(what)));
}

absl::StatusOr<Signature> ParseLine(std::string_view line, size_t number) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || !IsContentHash(line.substr(0, space))) {
    return BadLine(number, "expected the id of a key and a signature");
  }
  const std::string_view encoded = line.substr(space + 1);
  Signature signature;
  signature.key_id = std::string(line.substr(0, space));
  // Abseil takes more spellings than one; the text has to be ours.
  if (!absl::Base64Unescape(AsAbsl(encoded), &signature.bytes) ||
      signature.bytes.size() != kSignatureSize ||
      absl::Base64Escape(signature.bytes) != AsAbsl(encoded)) {
    return BadLine(number, "the signature is not 64 bytes in base64");
  }
  return signature;
}

}  // namespace

absl::StatusOr<std::vector<Signature>> ParseSignatures(std::string_view text) {
  if (text.size() > kMaxSignatureText.count) {
    return absl::InvalidArgumentError(absl::StrCat("longer than ", FormatBytes(kMaxSignatureText)));
  }
  std::vector<Signature> signatures;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return BadLine(number, "the line is cut off");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (number == 1) {
      if (line != kHeader) return BadLine(1, absl::StrCat("expected '", AsAbsl(kHeader), "'"));
      continue;
    }
    if (signatures.size() == kMostSignatures) return BadLine(number, "more than 32 signatures");
    COHOST_ASSIGN_OR_RETURN(Signature signature, ParseLine(line, number));
    if (std::any_of(signatures.begin(), signatures.end(),
                    [&](const Signature& other) { return other.key_id == signature.key_id; })) {
      return BadLine(number, "a second signature by the same key");
    }
    signatures.push_back(std::move(signature));
  }
  if (signatures.empty()) return absl::InvalidArgumentError("there is no signature in it");
  return signatures;
}

std::string FormatSignatures(const std::vector<Signature>& signatures) {
  std::string text = absl::StrCat(AsAbsl(kHeader), "\n");
  for (const Signature& signature : signatures) {
    absl::StrAppend(&text, signature.key_id, " ", absl::Base64Escape(signature.bytes), "\n");
  }
  return text;
}

void PutSignature(Signature signature, std::vector<Signature>& signatures) {
  for (Signature& other : signatures) {
    if (other.key_id != signature.key_id) continue;
    other = std::move(signature);
    return;
  }
  signatures.push_back(std::move(signature));
}

std::string SignedMessage(std::string_view content_hash) {
  return absl::StrCat(AsAbsl(kHeader), "\n", AsAbsl(content_hash), "\n");
}

std::string SignatureFileOf(const std::string& path) { return path + ".sig"; }

absl::StatusOr<std::vector<Signature>> ReadSignaturesOf(const std::string& path) {
  const std::string file = SignatureFileOf(path);
  COHOST_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(file, kMaxSignatureText));
  absl::StatusOr<std::vector<Signature>> signatures = ParseSignatures(text);
  if (!signatures.ok()) return Annotate(signatures.status(), absl::StrCat("'", file, "'"));
  return signatures;
}

}  // namespace cohost::supervisor
