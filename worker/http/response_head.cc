// SPDX-License-Identifier: Apache-2.0
#include "worker/http/response_head.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include <boost/beast/http/status.hpp>

#include "worker/http/http_text.h"

namespace cohost::worker {
namespace {

void AppendNumber(std::string& out, uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), static_cast<size_t>(end - digits.data()));
}

std::string_view Reason(uint32_t status) {
  namespace http = boost::beast::http;
  const auto text = http::obsolete_reason(static_cast<http::status>(status));
  return {text.data(), text.size()};
}

}  // namespace

bool AreAllowedFields(std::span<const HeaderView> headers) {
  return std::all_of(headers.begin(), headers.end(), [](const HeaderView& header) {
    return IsToken(header.name) && IsFieldValue(header.value) && !IsHostField(header.name);
  });
}

bool IsAllowedHead(uint32_t status, std::span<const HeaderView> headers) {
  return status >= 200 && status <= 599 && AreAllowedFields(headers);
}

bool HasNoBody(uint32_t status) { return status == 204 || status == 304; }

void AppendFields(std::string& out, std::span<const HeaderView> headers) {
  for (const HeaderView& header : headers) {
    out.append(header.name).append(": ").append(header.value).append("\r\n");
  }
}

void AppendResponseHead(std::string& out, uint32_t status, std::span<const HeaderView> headers,
                        Framing framing, Persistence persistence) {
  if (status == 200) {
    out.append("HTTP/1.1 200 OK\r\nDate: ");
  } else {
    out.append("HTTP/1.1 ");
    AppendNumber(out, status);
    out.append(" ").append(Reason(status)).append("\r\nDate: ");
  }
  out.append(HttpDate()).append("\r\n");
  if (persistence == Persistence::kClose) out.append("Connection: close\r\n");
  if (persistence == Persistence::kKeepAliveHttp10) out.append("Connection: keep-alive\r\n");
  if (framing.kind == Framing::kLength) {
    out.append("Content-Length: ");
    AppendNumber(out, framing.length);
    out.append("\r\n");
  } else if (framing.kind == Framing::kChunked) {
    out.append("Transfer-Encoding: chunked\r\n");
  }
  AppendFields(out, headers);
  out.append("\r\n");
}

void AppendHostAnswer(std::string& out, uint32_t status, Persistence persistence,
                      bool for_head_request) {
  std::string body = std::to_string(status);
  body.append(" ").append(Reason(status)).append("\n");
  static constexpr std::array<HeaderView, 2> kHeaders = {HeaderView{"Content-Type", "text/plain"},
                                                         HeaderView{"Retry-After", "1"}};
  AppendResponseHead(out, status, std::span(kHeaders).first(status == 503 ? 2 : 1),
                     {Framing::kLength, body.size()}, persistence);
  if (!for_head_request) out.append(body);
}

std::string_view HttpDate() {
  thread_local time_t second = -1;
  thread_local std::array<char, 32> text;
  const time_t now = time(nullptr);
  if (now != second) {
    static constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                         "Thu", "Fri", "Sat"};
    static constexpr std::array<const char*, 12> kMonths = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    tm utc{};
    gmtime_r(&now, &utc);
    std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                  kDays[static_cast<size_t>(utc.tm_wday) % 7], utc.tm_mday % 100,
                  kMonths[static_cast<size_t>(utc.tm_mon) % 12], (utc.tm_year + 1900) % 10000,
                  utc.tm_hour % 100, utc.tm_min % 100, utc.tm_sec % 100);
    second = now;
  }
  return {text.data(), 29};
}

}  // namespace cohost::worker
