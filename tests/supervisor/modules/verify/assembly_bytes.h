// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/modules/verify/cli_metadata.h"
#include "supervisor/modules/verify/pe_file.h"

namespace cohost::supervisor {

// Lays out the smallest .NET assembly that says what its fields say: PE headers, one section with
// CLI header, metadata (tables Module, Assembly and AssemblyRef) and, when asked for, the header of
// precompiled code. It has no types, unless it uses others.
struct AssemblyBytes {
  // A type of another assembly, and what is used of it: a member, or the type as a base of one of
  // its own (an empty member).
  struct Use {
    std::string space;
    std::string type;
    std::string member;
  };

#if defined(__x86_64__)
  static constexpr uint16_t kNative = kPeX64;
#else
  static constexpr uint16_t kNative = kPeArm64;
#endif
  static constexpr size_t kPeHeader = 64;
  static constexpr size_t kOptionalHeader = kPeHeader + 24;
  static constexpr size_t kSectionOffset = 0x200;
  static constexpr uint32_t kSectionAddress = 0x2000;
  static constexpr size_t kCliHeader = kSectionOffset;

  bool is_64_bit = false;
  uint16_t machine = kPeI386;
  uint32_t cli_flags = 1;
  bool has_cli_header = true;
  bool has_assembly = true;
  AssemblyName name = {"Sample", {1, 2, 3, 4}};
  std::vector<AssemblyName> references = {{"System.Runtime", {8, 0, 0, 0}}};
  std::vector<Use> uses = {};
  // Precompiled code: sections of {type, address}; all are 4 bytes long.
  bool is_ready_to_run = false;
  uint16_t ready_to_run_major = 16;
  uint32_t ready_to_run_flags = 0x4b;
  std::vector<std::pair<uint32_t, uint32_t>> ready_to_run_sections = {{100, kSectionAddress}};

  // As the compiler of this machine makes them.
  static AssemblyBytes ReadyToRun() {
    AssemblyBytes bytes;
    bytes.is_64_bit = true;
    bytes.machine = kNative ^ kPeLinux;
    bytes.cli_flags = 0xc;
    bytes.is_ready_to_run = true;
    return bytes;
  }

  std::string Metadata() const {
    std::string strings(1, '\0');
    const auto text = [&](const std::string& value) {
      const auto at = static_cast<uint16_t>(strings.size());
      strings += value + '\0';
      return at;
    };
    std::string tables;
    Add<uint32_t>(tables, 0);
    Add<uint32_t>(tables, 2);  // versions; indexes of 2 bytes
    Add<uint64_t>(tables, 1 | (uses.empty() ? 0 : 1ull << 0x01 | 1ull << 0x02 | 1ull << 0x0a) |
                              (has_assembly ? 1ull << 0x20 : 0) | 1ull << 0x23);
    Add<uint64_t>(tables, 0);
    Add<uint32_t>(tables, 1);
    for (int table = 0; table < 3 && !uses.empty(); ++table) {
      Add<uint32_t>(tables, static_cast<uint32_t>(uses.size()));
    }
    if (has_assembly) Add<uint32_t>(tables, 1);
    Add<uint32_t>(tables, static_cast<uint32_t>(references.size()));
    tables.append(10, '\0');
    AddUses(tables, text);
    if (has_assembly) {
      Add<uint32_t>(tables, 0x8004);
      AddVersion(tables, name.version);
      tables.append(6, '\0');
      Add<uint16_t>(tables, text(name.name));
      Add<uint16_t>(tables, 0);
    }
    for (const AssemblyName& reference : references) {
      AddVersion(tables, reference.version);
      tables.append(6, '\0');
      Add<uint16_t>(tables, text(reference.name));
      tables.append(4, '\0');
    }
    tables.resize((tables.size() + 3) & ~size_t{3});
    std::string root;
    Add<uint32_t>(root, 0x424a5342);
    Add<uint32_t>(root, 0x00010001);
    Add<uint32_t>(root, 0);
    Add<uint32_t>(root, 12);
    root += std::string("v4.0.30319\0\0", 12);
    Add<uint32_t>(root, 0x00020000);
    const size_t streams_at = root.size() + 12 + 20;
    Add<uint32_t>(root, static_cast<uint32_t>(streams_at));
    Add<uint32_t>(root, static_cast<uint32_t>(tables.size()));
    root += std::string("#~\0\0", 4);
    Add<uint32_t>(root, static_cast<uint32_t>(streams_at + tables.size()));
    Add<uint32_t>(root, static_cast<uint32_t>(strings.size()));
    root += std::string("#Strings\0\0\0\0", 12);
    return root + tables + strings;
  }

  std::string Build() const {
    const std::string metadata = Metadata();
    std::string native;
    if (is_ready_to_run) {
      Add<uint32_t>(native, 0x00525452);
      Add<uint16_t>(native, ready_to_run_major);
      Add<uint16_t>(native, 0);
      Add<uint32_t>(native, ready_to_run_flags);
      Add<uint32_t>(native, static_cast<uint32_t>(ready_to_run_sections.size()));
      for (const auto& [type, address] : ready_to_run_sections) {
        Add<uint32_t>(native, type);
        Add<uint32_t>(native, address);
        Add<uint32_t>(native, 4);
      }
    }
    const auto native_at = static_cast<uint32_t>(kSectionAddress + 72 + metadata.size());
    std::string section;
    Add<uint32_t>(section, 72);
    Add<uint32_t>(section, 0x00050002);
    Add<uint32_t>(section, kSectionAddress + 72);
    Add<uint32_t>(section, static_cast<uint32_t>(metadata.size()));
    Add<uint32_t>(section, cli_flags);
    section.resize(64, '\0');
    Add<uint32_t>(section, is_ready_to_run ? native_at : 0);
    Add<uint32_t>(section, static_cast<uint32_t>(native.size()));
    section += metadata + native;
    return Headers(static_cast<uint32_t>(section.size())) + section;
  }

 private:
  // One row of TypeRef, TypeDef and MemberRef for each use.
  template <typename Text>
  void AddUses(std::string& tables, const Text& text) const {
    for (const Use& use : uses) {
      Add<uint16_t>(tables, 1 << 2 | 2);  // the first AssemblyRef
      Add<uint16_t>(tables, text(use.type));
      Add<uint16_t>(tables, use.space.empty() ? 0 : text(use.space));
    }
    for (size_t i = 0; i < uses.size(); ++i) {
      tables.append(8, '\0');
      Add<uint16_t>(tables, uses[i].member.empty() ? static_cast<uint16_t>((i + 1) << 2 | 1) : 0);
      tables.append(4, '\0');
    }
    for (size_t i = 0; i < uses.size(); ++i) {
      Add<uint16_t>(tables, static_cast<uint16_t>((i + 1) << 3 | 1));
      Add<uint16_t>(tables, text(uses[i].member.empty() ? ".ctor" : uses[i].member));
      Add<uint16_t>(tables, 0);
    }
  }

  template <typename T>
  static void Add(std::string& bytes, T number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  static void AddVersion(std::string& bytes, const AssemblyVersion& version) {
    for (const uint16_t part : {version.major, version.minor, version.build, version.revision}) {
      Add<uint16_t>(bytes, part);
    }
  }

  std::string Headers(uint32_t section_size) const {
    std::string file = "MZ";
    file.resize(60, '\0');
    Add<uint32_t>(file, kPeHeader);
    file += std::string("PE\0\0", 4);
    Add<uint16_t>(file, machine);
    Add<uint16_t>(file, 1);
    file.append(12, '\0');
    const size_t directories = is_64_bit ? 112 : 96;
    Add<uint16_t>(file, static_cast<uint16_t>(directories + 16 * 8));
    Add<uint16_t>(file, 0x2022);
    Add<uint16_t>(file, is_64_bit ? 0x20b : 0x10b);
    file.resize(kOptionalHeader + directories - 4, '\0');
    Add<uint32_t>(file, 16);
    file.resize(file.size() + 14 * 8, '\0');
    Add<uint32_t>(file, has_cli_header ? kSectionAddress : 0);
    Add<uint32_t>(file, has_cli_header ? 72 : 0);
    file.append(8, '\0');
    file += std::string(".text\0\0\0", 8);
    Add<uint32_t>(file, section_size);
    Add<uint32_t>(file, kSectionAddress);
    Add<uint32_t>(file, section_size);
    Add<uint32_t>(file, kSectionOffset);
    file.resize(kSectionOffset, '\0');
    return file;
  }
};

}  // namespace cohost::supervisor
