// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "supervisor/config/reader/deployment_draft.h"
#include "supervisor/config/reader/read_context.h"
#include "supervisor/config/yaml/yaml_tree.h"

namespace cohost::supervisor {

// Takes the values of a parsed deployment file into the draft; mistakes go to the context.
void ReadDeploymentFile(const YamlNode& root, const SourceFile& file, ReadContext& context,
                        DeploymentDraft& draft);

// The same for an included file, which has only services and groups. Comes after the deployment
// file, whose group_defaults hold for it too.
void ReadIncludedFile(const YamlNode& root, const SourceFile& file, ReadContext& context,
                      DeploymentDraft& draft);

}  // namespace cohost::supervisor
