// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/dotnet/release_version.h"

namespace cohost::supervisor {

// What a process runs with, by the name of the framework. A process has one of each for ever, so
// that applications with different ones never share a worker.
using FrameworkVersions = std::map<std::string, ReleaseVersion>;

// For people, and the same only for equal ones: "10.0.12" when all are that,
// "Microsoft.AspNetCore.App 10.0.11, Microsoft.NETCore.App 10.0.12" otherwise.
std::string FrameworkText(const FrameworkVersions& versions);

}  // namespace cohost::supervisor
