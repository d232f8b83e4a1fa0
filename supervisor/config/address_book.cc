// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/address_book.h"

namespace cohost::supervisor {

const AddressBook::Entry* AddressBook::Add(const Address& address, const Place& place,
                                           const std::string& user) {
  const Entry entry{address.text, place, user};
  if (address.kind == Address::Kind::kUnix) {
    const auto [it, added] = unix_.emplace(address.path, entry);
    return added ? nullptr : &it->second;
  }
  if (address.port == 0) return nullptr;
  const bool v6 = address.host.find(':') != std::string::npos;
  const std::string wildcard = v6 ? "::" : "0.0.0.0";
  std::map<std::string, Entry>& hosts = tcp_[{address.port, v6}];
  const auto all = hosts.find(wildcard);
  if (all != hosts.end()) return &all->second;
  if (address.host == wildcard && !hosts.empty()) return &hosts.begin()->second;
  const auto [it, added] = hosts.emplace(address.host, entry);
  return added ? nullptr : &it->second;
}

}  // namespace cohost::supervisor
