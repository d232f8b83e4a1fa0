// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/key.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/strings.h"

namespace cohost::supervisor {
namespace {

constexpr size_t kPublicKeySize = 32;
constexpr std::string_view kPublicLabel = "-----BEGIN PUBLIC KEY-----";
constexpr std::string_view kPrivateLabel = "-----BEGIN PRIVATE KEY-----";

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(BIO* bio) const { BIO_free_all(bio); }
};
using KeyPointer = std::unique_ptr<EVP_PKEY, Free>;
using ContextPointer = std::unique_ptr<EVP_MD_CTX, Free>;
using BioPointer = std::unique_ptr<BIO, Free>;

// What fails only when OpenSSL cannot allocate: there is nothing to go on with.
template <typename Pointer>
Pointer Checked(Pointer pointer) {
  if (pointer == nullptr) std::abort();
  return pointer;
}

// Without it OpenSSL would ask for a passphrase on the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

size_t Count(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// Whether the text holds one thing, with this label.
absl::Status CheckLabel(std::string_view pem, std::string_view label) {
  const size_t all = Count(pem, "-----BEGIN ");
  if (all > 1) return absl::InvalidArgumentError("it holds more than one key or certificate");
  if (all == 1 && Count(pem, label) == 1) return absl::OkStatus();
  if (Count(pem, "-----BEGIN ENCRYPTED PRIVATE KEY-----") == 1) {
    return absl::InvalidArgumentError(
        "it has a passphrase, which is not supported; `openssl pkey -in FILE` takes it off");
  }
  if (label == kPublicLabel && Count(pem, "PRIVATE KEY-----") > 0) {
    return absl::InvalidArgumentError("it is a private key; its public one belongs here");
  }
  if (label == kPrivateLabel && Count(pem, kPublicLabel) == 1) {
    return absl::InvalidArgumentError("it is a public key; signing needs the private one");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("it is no PEM file with '", AsAbsl(label), "' in it"));
}

template <typename Read>
absl::StatusOr<KeyPointer> ParsePem(std::string_view pem, std::string_view label, Read read) {
  if (absl::Status status = CheckLabel(pem, label); !status.ok()) return status;
  const BioPointer bio(Checked(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))));
  KeyPointer key(read(bio.get(), nullptr, NoPassphrase, nullptr));
  // OpenSSL's own words name functions of its, not what is wrong with the file.
  ERR_clear_error();
  if (key == nullptr) return absl::InvalidArgumentError("the key in it is damaged");
  if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519) {
    return absl::InvalidArgumentError(
        "it is no Ed25519 key; `cohostctl modules new-key NAME` makes one");
  }
  return key;
}

std::string RawPublicKey(const EVP_PKEY* key) {
  std::string bytes(kPublicKeySize, '\0');
  size_t size = bytes.size();
  if (EVP_PKEY_get_raw_public_key(key, reinterpret_cast<unsigned char*>(bytes.data()), &size) !=
          1 ||
      size != kPublicKeySize) {
    std::abort();
  }
  return bytes;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

void WipeSecret(std::string& text) { OPENSSL_cleanse(text.data(), text.size()); }

PublicKey::PublicKey(std::string bytes) : bytes_(std::move(bytes)) {
  Sha256 hash;
  hash.Update(bytes_);
  id_ = HexDigest(hash.Finish());
}

absl::StatusOr<PublicKey> PublicKey::Parse(std::string_view pem) {
  const absl::StatusOr<KeyPointer> key = ParsePem(pem, kPublicLabel, PEM_read_bio_PUBKEY);
  if (!key.ok()) return key.status();
  return PublicKey(RawPublicKey(key->get()));
}

bool PublicKey::Verify(std::string_view message, std::string_view signature) const {
  if (signature.size() != kSignatureSize) return false;
  const KeyPointer key(Checked(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(bytes_), bytes_.size())));
  const ContextPointer context(Checked(EVP_MD_CTX_new()));
  // Ed25519 hashes the message itself: no digest is given.
  const bool valid =
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(message),
                       message.size()) == 1;
  ERR_clear_error();
  return valid;
}

std::string PublicKey::ToPem() const {
  const KeyPointer key(Checked(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(bytes_), bytes_.size())));
  const BioPointer bio(Checked(BIO_new(BIO_s_mem())));
  if (PEM_write_bio_PUBKEY(bio.get(), key.get()) != 1) std::abort();
  return TextOf(bio.get());
}

struct PrivateKey::Key {
  KeyPointer evp;
  PublicKey public_key;
};

PrivateKey::PrivateKey(std::unique_ptr<Key> key) : key_(std::move(key)) {}
PrivateKey::~PrivateKey() = default;
PrivateKey::PrivateKey(PrivateKey&&) noexcept = default;
PrivateKey& PrivateKey::operator=(PrivateKey&&) noexcept = default;

absl::StatusOr<PrivateKey> PrivateKey::Parse(std::string_view pem) {
  absl::StatusOr<KeyPointer> key = ParsePem(pem, kPrivateLabel, PEM_read_bio_PrivateKey);
  if (!key.ok()) return key.status();
  PublicKey public_key(RawPublicKey(key->get()));
  return PrivateKey(std::unique_ptr<Key>(new Key{*std::move(key), std::move(public_key)}));
}

absl::StatusOr<PrivateKey> PrivateKey::Generate() {
  KeyPointer key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  ERR_clear_error();
  if (key == nullptr) return absl::InternalError("OpenSSL could not make a key");
  PublicKey public_key(RawPublicKey(key.get()));
  return PrivateKey(std::unique_ptr<Key>(new Key{std::move(key), std::move(public_key)}));
}

std::string PrivateKey::Sign(std::string_view message) const {
  const ContextPointer context(Checked(EVP_MD_CTX_new()));
  std::string signature(kSignatureSize, '\0');
  size_t size = signature.size();
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_->evp.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     Bytes(message), message.size()) != 1 ||
      size != kSignatureSize) {
    std::abort();
  }
  return signature;
}

const PublicKey& PrivateKey::public_key() const { return key_->public_key; }

std::string PrivateKey::ToPem() const {
  // Secure memory is wiped when it is given back.
  const BioPointer bio(Checked(BIO_new(BIO_s_secmem())));
  if (PEM_write_bio_PKCS8PrivateKey(bio.get(), key_->evp.get(), nullptr, nullptr, 0, nullptr,
                                    nullptr) != 1) {
    std::abort();
  }
  return TextOf(bio.get());
}

}  // namespace cohost::supervisor
