// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "supervisor/config/deployment.h"
#include "supervisor/modules/tree/data_folder.h"

namespace cohost::supervisor {

// What a service takes from the group where placement puts it.
struct ServicePlace {
  DataOwner owner;  // of its data folder: whom its workers run as
  DotnetPolicy dotnet;
};

}  // namespace cohost::supervisor
