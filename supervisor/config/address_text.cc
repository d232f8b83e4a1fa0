// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/address_text.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/config/yaml/scalar.h"

namespace cohost::supervisor {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttpUnix = "http+unix:";
constexpr std::string_view kUnix = "unix:";

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

absl::Status Invalid(std::string_view text, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), ": ", AsAbsl(reason)));
}

absl::StatusOr<uint16_t> ParsePort(std::string_view whole, std::string_view text) {
  uint32_t port = 0;
  const bool digits = !text.empty() && text.size() <= 9 &&
                      std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  if (!digits) return Invalid(whole, "the port is not a decimal number from 0 to 65535");
  std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.size() > 1 && text[0] == '0') {
    return Invalid(whole, "the port has a leading zero, which means octal to some readers");
  }
  if (port > 65535) return Invalid(whole, "the port is out of range, allowed: 0 to 65535");
  return static_cast<uint16_t>(port);
}

// The canonical form of a numeric host.
absl::StatusOr<std::string> CanonicalHost(std::string_view whole, const std::string& host,
                                          bool bracketed) {
  char text[INET6_ADDRSTRLEN] = {};
  if (bracketed) {
    in6_addr address{};
    if (inet_pton(AF_INET6, host.c_str(), &address) != 1) {
      return Invalid(whole, "not a numeric IPv6 address in the brackets");
    }
    if (IN6_IS_ADDR_V4MAPPED(&address)) return Invalid(whole, "write the IPv4 address itself");
    inet_ntop(AF_INET6, &address, text, sizeof(text));
    return std::string(text);
  }
  if (host == "localhost") return std::string("127.0.0.1");
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) == 1) return host;
  if (host.empty()) return Invalid(whole, "no host; write 0.0.0.0 or [::] to listen everywhere");
  return Invalid(whole,
                 "the host must be a numeric IPv4 address, an IPv6 address in brackets or "
                 "localhost (names are not looked up)");
}

absl::StatusOr<Address> ParseHostPort(std::string_view whole, std::string_view text) {
  const size_t slash = text.find_first_of("/?#@");
  if (slash != std::string_view::npos) {
    return Invalid(whole, "an address is a host and a port, without path or user");
  }
  const bool bracketed = StartsWith(text, "[");
  const size_t bracket = text.find(']');
  if (bracketed && bracket == std::string_view::npos) return Invalid(whole, "']' is missing");
  const size_t colon = text.find(':', bracketed ? bracket : 0);
  if (colon == std::string_view::npos) return Invalid(whole, "the port is missing");
  if (!bracketed && text.find(':', colon + 1) != std::string_view::npos) {
    return Invalid(whole, "an IPv6 address stands in brackets: http://[::1]:80");
  }
  if (bracketed && colon != bracket + 1) return Invalid(whole, "the port must follow ']'");
  const std::string host(bracketed ? text.substr(1, bracket - 1) : text.substr(0, colon));
  Address address;
  COHOST_ASSIGN_OR_RETURN(address.host, CanonicalHost(whole, host, bracketed));
  COHOST_ASSIGN_OR_RETURN(const uint16_t port, ParsePort(whole, text.substr(colon + 1)));
  SetPort(address, port);
  return address;
}

absl::StatusOr<Address> ParsePath(std::string_view scheme, std::string_view text) {
  Address address;
  address.kind = Address::Kind::kUnix;
  address.path = text.substr(scheme.size());
  if (StartsWith(address.path, "//")) address.path.erase(0, 2);
  if (!StartsWith(address.path, "/")) {
    return Invalid(text, absl::StrCat("the path must be absolute: ", AsAbsl(scheme), "/path"));
  }
  if (address.path.back() == '/') return Invalid(text, "the path must name a socket, not a folder");
  COHOST_RETURN_IF_ERROR(CheckSocketPath(address.path));
  address.text = absl::StrCat(AsAbsl(scheme), address.path);
  return address;
}

}  // namespace

absl::StatusOr<Address> ParseAddress(std::string_view text) {
  if (StartsWith(text, kHttp)) return ParseHostPort(text, text.substr(kHttp.size()));
  if (StartsWith(text, kHttpUnix)) return ParsePath(kHttpUnix, text);
  if (StartsWith(text, "https")) {
    return Invalid(text,
                   "https is not in this version; end TLS in front of Cohost (deploy/nginx) and "
                   "listen on http");
  }
  return Invalid(text, "expected http://HOST:PORT or http+unix:/path");
}

absl::StatusOr<Address> ParseEndpoint(std::string_view text) {
  if (StartsWith(text, kHttp)) return ParseHostPort(text, text.substr(kHttp.size()));
  if (text.find("//") != std::string_view::npos) return Invalid(text, "expected HOST:PORT");
  return ParseHostPort(text, text);
}

absl::StatusOr<Address> ParseSocket(std::string_view text) {
  if (StartsWith(text, kUnix)) return ParsePath(kUnix, text);
  return Invalid(text, "expected unix:/path");
}

absl::Status CheckSocketPath(std::string_view path) {
  if (path.size() <= kMaxSocketPath) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("the path of a unix socket has at most ",
                                            kMaxSocketPath, " bytes, this one has ", path.size(),
                                            ": ", Quoted(path)));
}

void SetPort(Address& address, uint16_t port) {
  address.port = port;
  const bool v6 = address.host.find(':') != std::string::npos;
  address.text = v6 ? absl::StrCat("http://[", address.host, "]:", port)
                    : absl::StrCat("http://", address.host, ":", port);
}

void SetPath(Address& address, const std::string& path) {
  const size_t scheme = address.text.find(':') + 1;
  address.path = path;
  address.text = absl::StrCat(address.text.substr(0, scheme), path);
}

}  // namespace cohost::supervisor
