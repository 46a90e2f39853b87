// Command: one subcommand. harness/cli/commands/<name>.cpp defines
// `extern const Command entry;` in namespace command_<name>, and harness/cli/CMakeLists.txt lists
// its name; dispatch, help, docs/cli.md and tests are derived from that list.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "harness/cli/exit_status.h"

namespace bertbench {

class CommandLine;
class Console;

/// A command line that can be pasted, and what it does.
struct Example {
  std::string_view line;
  std::string_view what;
};

using CommandRun = std::function<ExitCode(Console&)>;

struct Command {
  std::string_view name;
  std::string_view purpose;    ///< a short clause for `bertbench --help`
  std::string_view arguments;  ///< after "[options]" in the usage line: "PATH..."
  std::string_view details;    ///< paragraphs of the command's own --help, wrapped when printed
  std::span<const Example> examples;
  std::span<const ExitCodeRow> statuses;  ///< those it can end with; empty meaning: the usual
  /// Declares the options on `line` and returns what runs once they are parsed.
  CommandRun (*declare)(CommandLine& line);
};

/// All commands, in list order. Generated from harness/cli/CMakeLists.txt.
std::span<const Command* const> all_commands();

}  // namespace bertbench
