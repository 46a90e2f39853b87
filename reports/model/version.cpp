#include "reports/model/version.h"

#include "generated/git_commit.h"

namespace bertbench {

std::string_view tool_version() { return BB_VERSION; }
std::string_view tool_commit() { return BB_GIT_COMMIT; }

}  // namespace bertbench
