// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cohost::supervisor {

// Little endian UTF-16 of a text, as .NET's diagnostics have it on the wire. What is not UTF-8
// becomes U+FFFD.
std::string Utf16Bytes(std::string_view utf8);

// The opposite, for bytes of a worker: lone surrogates become U+FFFD, an odd last byte is left out.
std::string FromUtf16Bytes(std::string_view bytes);

}  // namespace cohost::supervisor
