// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "supervisor/config/deployment.h"
#include "supervisor/config/reader/map_reader.h"

namespace cohost::supervisor {

// Finds two listeners on one address: the same socket, or one port of a host and of the wildcard of
// its family (IPV6_V6ONLY is always set, so IPv4 and IPv6 never meet). Port 0 collides with
// nothing.
class AddressBook {
 public:
  struct Entry {
    std::string text;
    Place place;
    std::string user;  // "service 'catalog'"
  };

  // Adds an address, or returns the earlier one that it collides with (valid until the next call).
  const Entry* Add(const Address& address, const Place& place, const std::string& user);

 private:
  std::map<std::string, Entry> unix_;
  // By port and family, then by host.
  std::map<std::pair<uint16_t, bool>, std::map<std::string, Entry>> tcp_;
};

}  // namespace cohost::supervisor
