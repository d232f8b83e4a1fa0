// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cohost {

using Sha256Digest = std::array<unsigned char, 32>;

// SHA-256 of bytes that come in parts (OpenSSL's). One thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::string_view bytes);
  // Once, at the end.
  Sha256Digest Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// 64 lower-case hexadecimal digits.
std::string HexDigest(const Sha256Digest& digest);

}  // namespace cohost
