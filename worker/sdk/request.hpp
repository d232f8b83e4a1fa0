// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/sdk/cohost.h"
#include "worker/sdk/host.hpp"
#include "worker/sdk/text.hpp"

namespace cohost {

struct Header {
  std::string_view name;
  std::string_view value;
};
using Headers = std::initializer_list<Header>;

// One request, from Handle until it is answered. Move it where the answer is made: to another
// thread, a container, a task. One that is destroyed without an answer is aborted (500). Calls for
// one request by several threads are the module's to order.
class Request {
 public:
  explicit Request(cohost_request id) : id_(id) {
    info_.size = sizeof(info_);
    if (host->request_info(id_, &info_) != COHOST_OK) info_ = cohost_request_info{};
  }
  Request(Request&& other) noexcept : id_(std::exchange(other.id_, 0)), info_(other.info_) {}
  Request& operator=(Request&& other) noexcept {
    if (this != &other) {
      Abort();
      id_ = std::exchange(other.id_, 0);
      info_ = other.info_;
    }
    return *this;
  }
  ~Request() { Abort(); }

  cohost_request id() const { return id_; }
  // False once it was ended here.
  bool open() const { return id_ != 0; }

  // Views are valid until the request is answered.
  std::string_view method() const { return ToView(info_.method); }
  std::string_view target() const { return ToView(info_.target); }
  std::string_view peer() const { return ToView(info_.peer); }
  const cohost_request_info& info() const { return info_; }
  // The first header of that name, in any case of letters; empty when there is none.
  std::string_view header(const char* name) const {
    const cohost_header* found = cohost_find_header(info_.headers, info_.header_count, name);
    return found == nullptr ? std::string_view() : ToView(found->value);
  }
  // The target's path, decoded; as it came when it cannot be decoded.
  std::string path() const {
    const std::string_view raw = TargetPath(target());
    std::optional<std::string> decoded = UrlDecode(raw);
    return decoded ? *std::move(decoded) : std::string(raw);
  }
  std::optional<std::string> query(std::string_view name) const {
    return QueryValue(TargetQuery(target()), name);
  }

  cohost_status ReadBody(char* buffer, size_t size, size_t* read) {
    return host->read_body(id_, buffer, size, read);
  }
  // The whole body, waiting for it (not in INLINE modules). Nothing when it is longer than `limit`
  // or the request ended.
  std::optional<std::string> ReadAll(size_t limit) {
    std::string body;
    char buffer[8192];
    for (;;) {
      size_t read = 0;
      const cohost_status status = ReadBody(buffer, sizeof(buffer), &read);
      if (status == COHOST_END) return body;
      if (status == COHOST_WOULD_BLOCK) {
        if (host->wait_readable(id_) != COHOST_OK) return std::nullopt;
      } else if (status != COHOST_OK || read > limit - body.size()) {
        return std::nullopt;
      } else {
        body.append(buffer, read);
      }
    }
  }

  // The whole answer. INVALID (a header that is not allowed) leaves the request open.
  cohost_status Respond(uint32_t status, std::string_view content_type, std::string_view body,
                        Headers headers = {}) {
    const std::vector<cohost_header> all = Collect(content_type, headers);
    return End(host->respond(id_, status, all.data(), all.size(), ToC(body)));
  }
  cohost_status Text(std::string_view body, uint32_t status = 200) {
    return Respond(status, "text/plain; charset=utf-8", body);
  }
  cohost_status Html(std::string_view body, uint32_t status = 200) {
    return Respond(status, "text/html; charset=utf-8", body);
  }
  cohost_status Json(std::string_view body, uint32_t status = 200) {
    return Respond(status, "application/json", body);
  }
  cohost_status NotFound() { return Text("not found\n", 404); }

  // The answer in parts.
  cohost_status SendHead(uint32_t status, std::string_view content_type, Headers headers = {},
                         uint64_t content_length = COHOST_UNKNOWN_LENGTH) {
    const std::vector<cohost_header> all = Collect(content_type, headers);
    return host->send_head(id_, status, all.data(), all.size(), content_length);
  }
  cohost_status TryWrite(std::string_view part) { return host->write_body(id_, ToC(part)); }
  // Waits for the client (not in INLINE modules).
  cohost_status Write(std::string_view part) {
    for (;;) {
      const cohost_status status = TryWrite(part);
      if (status != COHOST_WOULD_BLOCK) return status;
      const cohost_status waited = host->wait_writable(id_);
      if (waited != COHOST_OK) return waited;
    }
  }
  cohost_status Finish() { return End(host->finish(id_, nullptr, 0)); }
  void Abort() {
    if (id_ != 0) host->abort(std::exchange(id_, 0));
  }

 private:
  static std::vector<cohost_header> Collect(std::string_view content_type, Headers headers) {
    std::vector<cohost_header> all;
    all.reserve(headers.size() + 1);
    if (!content_type.empty()) all.push_back({ToC("Content-Type"), ToC(content_type)});
    for (const Header& header : headers) all.push_back({ToC(header.name), ToC(header.value)});
    return all;
  }
  cohost_status End(cohost_status status) {
    if (status == COHOST_OK || status == COHOST_GONE) id_ = 0;
    return status;
  }

  cohost_request id_;
  cohost_request_info info_{};
};

}  // namespace cohost
