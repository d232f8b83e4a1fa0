// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohost {

// Of this build, as --version and the admin API say it (semver).
inline constexpr char kVersion[] = "0.1.0";

}  // namespace cohost
