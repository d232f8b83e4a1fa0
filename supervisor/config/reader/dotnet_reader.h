// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "supervisor/config/deployment.h"
#include "supervisor/config/reader/map_reader.h"

namespace cohost::supervisor {

// The keys of a service that only the runtime dotnet has.
void ReadDotnet(MapReader& reader, DotnetService& service);

}  // namespace cohost::supervisor
