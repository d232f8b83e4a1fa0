// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "worker/services/exchange.h"

namespace cohost::worker {

// How the end of an answer's body is told.
struct Framing {
  enum Kind { kNone, kLength, kChunked, kUntilClose };
  Kind kind = kNone;
  uint64_t length = 0;
};

// What Connection says.
enum class Persistence {
  kKeepAlive,        // nothing: the default of HTTP/1.1
  kKeepAliveHttp10,  // "keep-alive", for a client of HTTP/1.0 that asked for it
  kClose,
};

// Whether a service may answer with these: status 200 to 599, names that are tokens and not the
// host's (IsHostField), values without control characters.
bool IsAllowedHead(uint32_t status, std::span<const HeaderView> headers);
bool AreAllowedFields(std::span<const HeaderView> headers);
// 204 and 304 have no body.
bool HasNoBody(uint32_t status);

// Appends status line, Date, Connection, framing, `headers` and the empty line. Any thread.
void AppendResponseHead(std::string& out, uint32_t status, std::span<const HeaderView> headers,
                        Framing framing, Persistence persistence);
// Appends `name: value` lines.
void AppendFields(std::string& out, std::span<const HeaderView> headers);
// Appends a whole answer of the host's own: a line of plain text, with Retry-After for 503.
void AppendHostAnswer(std::string& out, uint32_t status, Persistence persistence,
                      bool for_head_request);

// IMF-fixdate of now, computed once a second and thread. The view is valid until the thread's next
// call.
std::string_view HttpDate();

}  // namespace cohost::worker
