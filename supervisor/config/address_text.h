// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "supervisor/config/deployment.h"

namespace cohost::supervisor {

// The longest path of a unix socket: sockaddr_un has 108 bytes with the NUL.
inline constexpr size_t kMaxSocketPath = 107;

// `http://HOST:PORT` (numeric IPv4, IPv6 in brackets, or `localhost`, which is 127.0.0.1; no name
// is looked up) or `http+unix:/absolute/path`. The text becomes canonical ("[0:0::1]" is "[::1]").
absl::StatusOr<Address> ParseAddress(std::string_view text);

// `HOST:PORT` or `http://HOST:PORT`.
absl::StatusOr<Address> ParseEndpoint(std::string_view text);

// `unix:/absolute/path`.
absl::StatusOr<Address> ParseSocket(std::string_view text);

// OUT_OF_RANGE with the real length when the path is too long for a unix socket.
absl::Status CheckSocketPath(std::string_view path);

// Gives the address another port or path and the text that goes with it.
void SetPort(Address& address, uint16_t port);
void SetPath(Address& address, const std::string& path);

}  // namespace cohost::supervisor
