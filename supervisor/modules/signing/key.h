// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace cohost::supervisor {

// Keys are Ed25519 (RFC 8032), by OpenSSL. As text they are PEM: "PUBLIC KEY" (X.509
// SubjectPublicKeyInfo) and "PRIVATE KEY" (PKCS#8 without a passphrase), as `openssl genpkey
// -algorithm ed25519` writes them. A text holds exactly one key; what stands around it is ignored.
// Everything else (another algorithm, a certificate, a second key) is INVALID_ARGUMENT with the
// reason.

inline constexpr size_t kSignatureSize = 64;

// An immutable value.
class PublicKey {
 public:
  static absl::StatusOr<PublicKey> Parse(std::string_view pem);

  // SHA-256 of the 32 bytes of the key, in 64 lower-case hexadecimal digits.
  const std::string& id() const { return id_; }
  bool Verify(std::string_view message, std::string_view signature) const;
  std::string ToPem() const;

  friend bool operator==(const PublicKey&, const PublicKey&) = default;

 private:
  friend class PrivateKey;
  explicit PublicKey(std::string bytes);

  std::string bytes_;  // 32
  std::string id_;
};

// Immutable; wiped from memory at its end.
class PrivateKey {
 public:
  static absl::StatusOr<PrivateKey> Parse(std::string_view pem);
  // INTERNAL when the system has no random numbers.
  static absl::StatusOr<PrivateKey> Generate();
  ~PrivateKey();
  PrivateKey(PrivateKey&&) noexcept;
  PrivateKey& operator=(PrivateKey&&) noexcept;

  // kSignatureSize bytes; the same for the same message.
  std::string Sign(std::string_view message) const;
  const PublicKey& public_key() const;
  // The caller wipes it (WipeSecret).
  std::string ToPem() const;

 private:
  struct Key;
  explicit PrivateKey(std::unique_ptr<Key> key);

  std::unique_ptr<Key> key_;
};

// Overwrites the text, so that the secret in it does not stay in memory.
void WipeSecret(std::string& text);

}  // namespace cohost::supervisor
