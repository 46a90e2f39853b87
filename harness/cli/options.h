// Option helpers shared by the commands: typed values whose errors name the option and the rule.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "parsers/core/error.h"
#include "parsers/core/facts.h"
#include "parsers/core/window_rule.h"

namespace bertbench {

/// Carries an Error out through CLI11, which reports by exception. Caught in cli.cpp only.
class UsageError : public std::exception {
 public:
  explicit UsageError(Error error) : error_(std::move(error)), text_(error_.message()) {}
  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  Error error_;
  std::string text_;
};

/// A whole number of at least `minimum`.
CLI::Option* add_count(CLI::App& app, const std::string& names, std::optional<std::int64_t>& value,
                       std::int64_t minimum, const std::string& description);

/// A share: "2%", "2 %" or "0.02"; in [0, 1).
CLI::Option* add_share(CLI::App& app, const std::string& names, double& value,
                       const std::string& description);

CLI::Option* add_text(CLI::App& app, const std::string& names, std::string& value,
                      const std::string& type, const std::string& description);

/// May be given several times, one value each.
CLI::Option* add_list(CLI::App& app, const std::string& names, std::vector<std::string>& values,
                      const std::string& type, const std::string& description);

CLI::Option* add_flag(CLI::App& app, const std::string& names, bool& value,
                      const std::string& description);

/// A positional argument that must be there.
CLI::Option* add_argument(CLI::App& app, const std::string& name, std::string& value,
                          const std::string& description);
CLI::Option* add_arguments(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                           const std::string& description);

CLI::Option* add_window(CLI::App& app, std::optional<WindowRule>& rule,
                        const std::string& default_text);

/// --flops-formula: a key of flops_formulas().
CLI::Option* add_flops_formula(CLI::App& app, std::string& formula,
                               const std::string& default_text);

/// --nodes, --micro-batch-size and so on: facts the user states, trusted before the log's own.
void add_facts(CLI::App& app, Facts& facts);

}  // namespace bertbench
