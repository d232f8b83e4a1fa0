// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/assembly_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/modules/verify/pe_file.h"
#include "supervisor/modules/verify/ready_to_run.h"

namespace cohost::supervisor {

namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = kPeX64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = kPeArm64;
#endif

// The CLI header (ECMA-335, II.25.3.3): size 4, runtime version 2 + 2, metadata 4 + 4, flags 4,
// entry point 4, resources 4 + 4, strong name 4 + 4, three tables of mixed code 8 each, native
// header 4 + 4.
constexpr uint32_t kCliHeaderSize = 72;
constexpr uint32_t kIlOnly = 0x1;
constexpr uint32_t kNeeds32Bits = 0x2;
constexpr uint32_t kPrefers32Bits = 0x20000;

absl::Status Wrong(std::string_view what) { return absl::InvalidArgumentError(AsAbsl(what)); }

struct CliHeader {
  PeRange metadata;
  uint32_t flags = 0;
  PeRange resources;
  PeRange strong_name;
  PeRange vtable_fixups;
  PeRange native;
};

uint32_t NumberAt(const char* at) {
  uint32_t number;
  std::memcpy(&number, at, sizeof number);
  return number;
}
PeRange RangeAt(const char* at) { return {NumberAt(at), NumberAt(at + 4)}; }

absl::StatusOr<CliHeader> ReadCliHeader(const PeFile& file) {
  const PeRange place = file.directory(PeFile::kCliDirectory);
  if (place.address == 0) {
    return Wrong("it is a native library for Windows, not a .NET assembly; leave it out");
  }
  std::array<char, kCliHeaderSize> bytes;
  if (place.size < bytes.size()) {
    return Wrong("its CLI header is too short; it is damaged: copy or build it again");
  }
  COHOST_RETURN_IF_ERROR(file.ReadRange({place.address, kCliHeaderSize}, bytes.data()));
  CliHeader header;
  header.metadata = RangeAt(&bytes[8]);
  header.flags = NumberAt(&bytes[16]);
  header.resources = RangeAt(&bytes[24]);
  header.strong_name = RangeAt(&bytes[32]);
  header.vtable_fixups = RangeAt(&bytes[48]);
  header.native = RangeAt(&bytes[64]);
  for (const PeRange& range : {header.metadata, header.resources, header.strong_name}) {
    if (range.size > 0 && !file.Has(range)) {
      return Wrong("it is cut: its metadata lies outside of its sections; copy or build it again");
    }
  }
  return header;
}

std::string MachineName(uint16_t machine) {
  for (const auto& [system, name] : {std::pair<uint16_t, const char*>{0, ""},
                                     {kPeLinux, " with Linux"},
                                     {0x4644, " with macOS"},
                                     {0xadc4, " with FreeBSD"}}) {
    switch (machine ^ system) {
      case kPeI386:
        return absl::StrCat("x86 with 32 bits", name);
      case kPeArm:
        return absl::StrCat("Arm with 32 bits", name);
      case kPeX64:
        return absl::StrCat("x86-64", name);
      case kPeArm64:
        return absl::StrCat("AArch64", name);
      default:
        break;
    }
  }
  return absl::StrCat("machine ", machine);
}

// IL runs on any machine when it says that of i386 without wanting 32 bits; of other machines only
// on its own, which needs a header of 64 bits.
absl::Status CheckIlMachine(const PeFile& file, const CliHeader& header) {
  if ((header.flags & kIlOnly) == 0 || header.vtable_fixups.size != 0) {
    return Wrong(
        "it mixes .NET with native code, which runs on Windows only; build it as pure .NET");
  }
  if (file.machine() == kPeI386 && file.format() == PeFile::Format::kPe32) {
    if ((header.flags & kNeeds32Bits) == 0 || (header.flags & kPrefers32Bits) != 0) {
      return absl::OkStatus();
    }
    return Wrong("it wants a process of 32 bits; build it for AnyCPU");
  }
  if (file.machine() == kMachine && file.format() == PeFile::Format::kPe32Plus) {
    return absl::OkStatus();
  }
  return Wrong(absl::StrCat("it is for another machine (", MachineName(file.machine()),
                            "); build it for AnyCPU"));
}

absl::Status CheckReadyToRun(const PeFile& file, const ReadyToRunHeader& header) {
  if (file.machine() != (kMachine ^ kPeLinux) || file.format() != PeFile::Format::kPe32Plus) {
    return Wrong(absl::StrCat("its code is precompiled for another machine (",
                              MachineName(file.machine()), "); publish it for ",
                              MachineName(kMachine ^ kPeLinux), " or without PublishReadyToRun"));
  }
  if (header.is_composite) {
    return Wrong(
        "it is part of a composite image, whose code only the first application of a process can "
        "use; publish it with PublishReadyToRunComposite=false");
  }
  return absl::OkStatus();
}

// The code of a method behind its header (II.25.4): one byte for a short method, else 12 with the
// length at 4. Empty when it lies outside of the file or is longer than any setter.
std::string ReadCode(const PeFile& file, uint32_t address) {
  constexpr uint32_t kLongest = 4096;
  std::array<char, 12> header;
  if (!file.ReadRange({address, 1}, header.data()).ok()) return "";
  PeRange code = {address + 1, uint32_t{static_cast<uint8_t>(header[0])} >> 2};
  if ((header[0] & 3) != 2) {
    if (!file.ReadRange({address, static_cast<uint32_t>(header.size())}, header.data()).ok()) {
      return "";
    }
    code = {address + static_cast<uint32_t>(header.size()), NumberAt(&header[4])};
  }
  if (code.size > kLongest) return "";
  absl::StatusOr<std::string> bytes = file.ReadRange(code);
  return bytes.ok() ? *std::move(bytes) : "";
}

}  // namespace

std::optional<AssemblyVersion> AssemblyInfo::Framework() const {
  std::optional<AssemblyVersion> newest;
  for (const AssemblyName& reference : references) {
    if (reference.name != "System.Runtime" && reference.name != "System.Private.CoreLib") continue;
    // Assemblies of .NET Standard before 2.0 and of .NET Core before 3.0 name System.Runtime 4.x,
    // which every version stands in for.
    if (reference.version.major < 5) continue;
    newest = std::max(newest.value_or(AssemblyVersion()), reference.version);
  }
  return newest;
}

absl::StatusOr<AssemblyInfo> ReadAssembly(int fd) {
  COHOST_ASSIGN_OR_RETURN(const PeFile file, PeFile::Read(fd));
  COHOST_ASSIGN_OR_RETURN(const CliHeader header, ReadCliHeader(file));
  AssemblyInfo info;
  if (header.native.size != 0 || header.native.address != 0) {
    COHOST_ASSIGN_OR_RETURN(const auto native, ReadyToRunHeader::Read(file, header.native));
    COHOST_RETURN_IF_ERROR(CheckReadyToRun(file, native));
    info.is_ready_to_run = true;
    info.ready_to_run_major = native.major;
    info.ready_to_run_minor = native.minor;
  } else {
    COHOST_RETURN_IF_ERROR(CheckIlMachine(file, header));
  }
  COHOST_ASSIGN_OR_RETURN(const std::string bytes, file.ReadRange(header.metadata));
  COHOST_ASSIGN_OR_RETURN(CliMetadata metadata, CliMetadata::Parse(bytes));
  if (!metadata.has_assembly) {
    return Wrong(
        "it is a module of another assembly, which .NET no longer loads; build it into it");
  }
  info.name = std::move(metadata.assembly);
  info.references = std::move(metadata.references);
  info.runtime_version = std::move(metadata.version);
  return info;
}

absl::StatusOr<CliUses> ReadUses(int fd, const CliUses& wanted) {
  COHOST_ASSIGN_OR_RETURN(const PeFile file, PeFile::Read(fd));
  COHOST_ASSIGN_OR_RETURN(const CliHeader header, ReadCliHeader(file));
  COHOST_ASSIGN_OR_RETURN(const std::string bytes, file.ReadRange(header.metadata));
  return CliUses::Parse(bytes, wanted);
}

absl::StatusOr<CliStatics> ReadStatics(int fd) {
  COHOST_ASSIGN_OR_RETURN(const PeFile file, PeFile::Read(fd));
  COHOST_ASSIGN_OR_RETURN(const CliHeader header, ReadCliHeader(file));
  COHOST_ASSIGN_OR_RETURN(const std::string bytes, file.ReadRange(header.metadata));
  return CliStatics::Parse(bytes, [&file](uint32_t address) { return ReadCode(file, address); });
}

absl::Status CheckFramework(const AssemblyInfo& assembly, const FrameworkVersion& framework) {
  const std::optional<AssemblyVersion> wanted = assembly.Framework();
  const AssemblyVersion present = {framework.major, framework.minor, 0xffff, 0xffff};
  if (!wanted.has_value() || *wanted <= present) return absl::OkStatus();
  return Wrong(absl::StrCat("it needs .NET ", wanted->major, ".", wanted->minor,
                            ", and this host runs .NET ", framework.major, ".", framework.minor,
                            "; build it for net", framework.major, ".", framework.minor,
                            " or update .NET here"));
}

std::vector<std::string> AssemblyWarnings(const AssemblyInfo& assembly,
                                          const FrameworkVersion& framework) {
  std::vector<std::string> warnings;
  if (assembly.is_ready_to_run && framework.ready_to_run_major.has_value() &&
      assembly.ready_to_run_major != *framework.ready_to_run_major) {
    warnings.push_back(absl::StrCat(
        "its precompiled code is of version ", assembly.ready_to_run_major, ", and .NET ",
        framework.major, ".", framework.minor, " reads version ", *framework.ready_to_run_major,
        ", so that it may be compiled again in every worker: publish it for net", framework.major,
        ".", framework.minor));
  }
  return warnings;
}

absl::StatusOr<AssemblyInfo> CheckAssembly(int fd, const FrameworkVersion& framework) {
  COHOST_ASSIGN_OR_RETURN(AssemblyInfo info, ReadAssembly(fd));
  COHOST_RETURN_IF_ERROR(CheckFramework(info, framework));
  return info;
}

}  // namespace cohost::supervisor
