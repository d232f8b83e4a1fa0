// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "supervisor/config/deployment.h"

namespace cohost::supervisor {

// A deployment as one deployment file, the opposite of LoadDeployment: for every deployment d that
// LoadDeployment returned, reading FormatDeployment(d) with LoadOptions{.formatted = true} gives d
// again, and the same deployment always gives the same text.
//
// The text says everything: each value is written, also one that is today's default, so that it
// means the same to a later version whose defaults are others. Only what a file cannot say is left
// out, which is what has no value: an unset group, owner, user, peak or metrics address, an empty
// description, and maps without entries. There is no include, paths are absolute, and what
// LoadOptions changes (folders, port offset) has been changed already: the options must not be
// applied again. Settings are written under their flat names ("db:password"), which the reader
// takes as they are. Secrets stay the references that they are; none is ever resolved into the
// text.
std::string FormatDeployment(const Deployment& deployment);

}  // namespace cohost::supervisor
