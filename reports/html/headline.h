// The first screen of the HTML report: how fast, how well does it scale, can I trust it.
#pragma once

#include <string>

#include "reports/model/result_set.h"

namespace bertbench::html {

/// Three cards. Says what is missing where an answer cannot be given.
[[nodiscard]] std::string headline(const ResultSet& set);

}  // namespace bertbench::html
