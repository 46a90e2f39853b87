// Option helpers shared by the commands: typed values whose errors name the option and the rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/command_line.h"
#include "parsers/core/facts.h"
#include "parsers/core/run_log.h"
#include "parsers/core/window_rule.h"

namespace bertbench {

/// A whole number of at least `minimum`.
Option add_count(CommandLine& line, const std::string& names, std::optional<std::int64_t>& value,
                 std::int64_t minimum, const std::string& description);

/// A share: "2%", "2 %" or "0.02"; in [0, 1).
Option add_share(CommandLine& line, const std::string& names, double& value,
                 const std::string& description);

/// A number above 0, at most 1e18.
Option add_positive(CommandLine& line, const std::string& name, std::optional<double>& value,
                    const std::string& type, const std::string& description);

Option add_window(CommandLine& line, std::optional<WindowRule>& rule,
                  const std::string& default_text);

/// Completes the names of launchers after --launcher, which the command has declared.
void complete_launchers(CommandLine& line);

/// --kind: the kinds of work that a text shows in full; empty: not given. Throws UsageError for
/// another word.
void add_kinds(CommandLine& line, std::vector<WorkKind>& kinds);

/// --format and --format-file: a known format's name, and the file of the user's own.
void add_format(CommandLine& line, std::string& format, std::string& format_file);

/// --flops-formula: a key of flops_formulas().
void add_flops_formula(CommandLine& line, std::string& formula, const std::string& default_text);

/// --nodes, --micro-batch-size and so on: facts the user states, trusted before the log's own.
void add_facts(CommandLine& line, Facts& facts);

}  // namespace bertbench
