// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/file_validation.h"

#include <cstdint>

#include "supervisor/config/deployment_loader.h"

namespace cohost::supervisor {

admin::v1::ValidateResponse ValidateFile(const std::string& path) {
  const LoadResult result = LoadDeployment(path);
  admin::v1::ValidateResponse response;
  for (const ConfigError& error : result.errors) {
    admin::v1::ConfigProblem& problem = *response.add_problems();
    problem.set_file(error.file);
    problem.set_line(static_cast<uint32_t>(error.line));
    problem.set_column(static_cast<uint32_t>(error.column));
    problem.set_key_path(error.key_path);
    problem.set_message(error.message);
  }
  if (result.deployment) {
    response.set_services(static_cast<uint32_t>(result.deployment->services.size()));
  }
  return response;
}

}  // namespace cohost::supervisor
