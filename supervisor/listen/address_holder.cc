// SPDX-License-Identifier: Apache-2.0
#include "supervisor/listen/address_holder.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "base/units.h"

namespace cohost::supervisor {
namespace {

// Tables of a host with 100,000 sockets fit; a message is not worth reading more.
constexpr Bytes kMaxTable = MiB(16);
constexpr size_t kMaxLinks = 10'000;

constexpr char kUnknown[] = "another process";

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

std::string ReadTable(const std::string& path) {
  absl::StatusOr<std::string> table = ReadRegularFile(path, kMaxTable);
  // Ignoring the error: without the table the holder stays unknown.
  return table.ok() ? *std::move(table) : "";
}

// The local address as /proc/net/tcp writes it: words of the address in host order, then the port.
std::string ProcAddress(const std::string& host, uint16_t port) {
  std::array<uint32_t, 4> words{};
  const bool v6 = host.find(':') != std::string::npos;
  if (inet_pton(v6 ? AF_INET6 : AF_INET, host.c_str(), words.data()) != 1) return "";
  std::string text;
  for (size_t i = 0; i < (v6 ? 4 : 1); ++i) absl::StrAppendFormat(&text, "%08X", words[i]);
  absl::StrAppendFormat(&text, ":%04X", port);
  return text;
}

// The socket inode of what listens on the address, or on the wildcard with the same port, or for a
// wildcard on any address with the port.
std::string TcpInode(const Address& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  const std::string any = v6 ? "::" : "0.0.0.0";
  const std::string exact = ProcAddress(address.host, address.port);
  if (exact.empty()) return "";
  const std::string wildcard = ProcAddress(any, address.port);
  const std::string port = exact.substr(exact.find(':'));
  const std::string table = ReadTable(v6 ? "/proc/net/tcp6" : "/proc/net/tcp");
  for (const absl::string_view line : absl::StrSplit(table, '\n')) {
    const std::vector<absl::string_view> columns =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    // sl, local, remote, state (0A: listening), queues, timer, retransmits, uid, timeout, inode
    if (columns.size() < 10 || columns[3] != "0A") continue;
    const std::string_view local = AsStd(columns[1]);
    const bool same_port =
        local.size() > port.size() && local.substr(local.size() - port.size()) == port;
    if (local == exact || local == wildcard || (address.host == any && same_port)) {
      return std::string(columns[9]);
    }
  }
  return "";
}

std::string UnixInode(const std::string& path) {
  const std::string table = ReadTable("/proc/net/unix");
  for (const absl::string_view line : absl::StrSplit(table, '\n')) {
    // number, references, protocol, flags, type, state, inode, path
    const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (parts.size() >= 8 && AsStd(parts[7]) == path && parts[3] == "00010000") {
      return std::string(parts[6]);
    }
  }
  return "";
}

bool HoldsLink(const std::string& descriptors, const std::string& link, size_t& budget) {
  const Folder folder(opendir(descriptors.c_str()));
  if (folder == nullptr) return false;
  while (const dirent* entry = readdir(folder.get())) {
    if (budget == 0) return false;
    --budget;
    char target[64];
    const ssize_t length = readlinkat(dirfd(folder.get()), entry->d_name, target, sizeof(target));
    if (length > 0 && std::string_view(target, static_cast<size_t>(length)) == link) return true;
  }
  return false;
}

// The process that has a descriptor of the socket; several may, the first is named.
std::optional<pid_t> ProcessOfSocket(const std::string& inode) {
  const std::string link = absl::StrCat("socket:[", inode, "]");
  const Folder folder(opendir("/proc"));
  if (folder == nullptr) return std::nullopt;
  size_t budget = kMaxLinks;
  while (const dirent* entry = readdir(folder.get())) {
    if (!absl::ascii_isdigit(entry->d_name[0])) continue;
    if (!HoldsLink(absl::StrCat("/proc/", entry->d_name, "/fd"), link, budget)) continue;
    pid_t pid = 0;
    std::from_chars(entry->d_name, entry->d_name + std::strlen(entry->d_name), pid);
    return pid;
  }
  return std::nullopt;
}

}  // namespace

std::string DescribeProcess(pid_t pid) {
  if (pid <= 0) return kUnknown;
  if (pid == getpid()) return "this process";
  std::string name = ReadTable(absl::StrCat("/proc/", pid, "/comm"));
  while (!name.empty() && name.back() == '\n') name.pop_back();
  // A process chooses its name: nothing of it may break a line of the log.
  for (char& c : name) {
    if (!absl::ascii_isprint(c)) c = '?';
  }
  return name.empty() ? absl::StrCat("process ", pid)
                      : absl::StrCat("process ", pid, " (", name, ")");
}

std::string DescribeHolder(const Address& address) {
  const std::string inode =
      address.kind == Address::Kind::kTcp ? TcpInode(address) : UnixInode(address.path);
  if (inode.empty() || inode == "0") return kUnknown;
  const std::optional<pid_t> pid = ProcessOfSocket(inode);
  return pid.has_value() ? DescribeProcess(*pid) : kUnknown;
}

}  // namespace cohost::supervisor
