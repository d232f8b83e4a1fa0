// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/units.h"

// Signatures as they stand beside a file (FILE.sig) and in the module store. Text, every line ended
// by '\n':
//
//   cohost-signature 1
//   <key> <signature>          1 to 32 times, each key once
//
// <key> is the id of the public key (key.h: SHA-256 in 64 lower-case hexadecimal digits),
// <signature> the 64 bytes of an Ed25519 signature in base64 (RFC 4648, padded, 88 characters). The
// signed message says what it is for, so that no signature of something else can be taken for one:
//
//   "cohost-signature 1\n" + SHA-256 of the file's content in 64 hexadecimal digits + "\n"
//
// A reader takes the whole text or nothing: with another first line (a later version), a torn or
// malformed line, a key that comes twice, more than 32 signatures or more than 64 KiB it counts as
// no signature at all, and the first fault is named. What a signature is worth is not looked at
// while reading.
namespace cohost::supervisor {

inline constexpr Bytes kMaxSignatureText = KiB(64);
inline constexpr size_t kMostSignatures = 32;

struct Signature {
  std::string key_id;
  std::string bytes;  // kSignatureSize
  friend bool operator==(const Signature&, const Signature&) = default;
};

// In the order of the text. INVALID_ARGUMENT naming the line.
absl::StatusOr<std::vector<Signature>> ParseSignatures(std::string_view text);
std::string FormatSignatures(const std::vector<Signature>& signatures);

// Puts a signature in the place of the one by the same key, else at the end.
void PutSignature(Signature signature, std::vector<Signature>& signatures);

// What is signed for a file with this content hash.
std::string SignedMessage(std::string_view content_hash);

// The signatures beside `path`: PATH.sig. NOT_FOUND when there is no such file; other errors name
// it. Blocks on the disk.
std::string SignatureFileOf(const std::string& path);
absl::StatusOr<std::vector<Signature>> ReadSignaturesOf(const std::string& path);

}  // namespace cohost::supervisor
