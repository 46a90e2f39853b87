// What `extract` was asked for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/output.h"
#include "parsers/core/error.h"
#include "parsers/core/facts.h"
#include "parsers/core/run_log.h"
#include "parsers/core/window_rule.h"
#include "parsers/described/described_format.h"

namespace bertbench {

struct ExtractOptions {
  std::vector<std::string> paths;
  std::string format = "auto", format_file;
  Facts facts;
  std::optional<WindowRule> window;
  std::string estimator, base, flops_formula, compat, iterations, shard_text;
  bool summary = false, strict = false, follow = false, no_join = false;
  std::optional<std::int64_t> stall_after;
  std::optional<std::int64_t> threads;
  std::vector<WorkKind> kinds;          ///< ViewOptions::kinds
  std::vector<std::string> windows_of;  ///< MeasureOptions::windows_of
  OutputOptions output;
};

/// Names that are not known, and options that exclude each other. `user_format` may be null.
[[nodiscard]] Result<void> check_options(const ExtractOptions& options,
                                         const DescribedFormat* user_format);

/// What decides a result besides its logs: shards merge only if these are equal.
[[nodiscard]] std::map<std::string, std::string> deciding(const ExtractOptions& options);

}  // namespace bertbench
