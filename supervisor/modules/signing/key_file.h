// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/units.h"
#include "supervisor/modules/signing/key.h"

// Keys on the disk. Errors name the file, what is wrong with it and what to do. Any thread; blocks
// on the disk.
namespace cohost::supervisor {

// A PEM file of one Ed25519 key has 113 or 119 bytes; the rest is for comments.
inline constexpr Bytes kMaxKeyFile = KiB(16);

// FAILED_PRECONDITION when others may write the file (its key would be theirs), INVALID_ARGUMENT
// when it is no Ed25519 public key, RESOURCE_EXHAUSTED when it is longer than kMaxKeyFile.
absl::StatusOr<PublicKey> ReadPublicKey(const std::string& path);

// The same for a private one: FAILED_PRECONDITION when the group or others may do anything with
// the file.
absl::StatusOr<PrivateKey> ReadPrivateKey(const std::string& path);

// Makes a key and writes NAME.key (0600) and NAME.pub (0644). ALREADY_EXISTS when one of them is
// there: a key is never overwritten. A failure leaves neither.
absl::StatusOr<PublicKey> WriteNewKey(const std::string& name);

}  // namespace cohost::supervisor
