// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <openssl/evp.h>

#include <cstdlib>

namespace cohost {

namespace {

// SHA-256 of OpenSSL fails only when it cannot allocate or was built without it: there is nothing
// to go on with.
void Check(int result) {
  if (result != 1) std::abort();
}

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  if (context_->evp == nullptr) std::abort();
  Check(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;

void Sha256::Update(std::string_view bytes) {
  Check(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()));
}

Sha256Digest Sha256::Finish() {
  Sha256Digest digest;
  unsigned length = 0;
  Check(EVP_DigestFinal_ex(context_->evp, digest.data(), &length));
  return digest;
}

std::string HexDigest(const Sha256Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (const unsigned char byte : digest) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace cohost
