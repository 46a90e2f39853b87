// Command: one subcommand. harness/cli/commands/<name>.cpp defines
// `extern const Command entry;` in namespace command_<name>, and harness/cli/CMakeLists.txt lists
// its name; dispatch, help, docs/cli.md and tests are derived from that list.
#pragma once

#include <functional>
#include <memory>
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

/// Command::declare of a command whose options are a struct: `declare` binds them to the line's,
/// and `run` gets what was parsed.
template <class Options, void (*declare)(CommandLine&, Options&),
          ExitCode (*run)(const Options&, Console&)>
CommandRun declared(CommandLine& line) {
  auto options = std::make_shared<Options>();
  declare(line, *options);
  return [options](Console& console) { return run(*options, console); };
}

struct Command {
  std::string_view name;
  std::string_view purpose;    ///< a short clause for `bertbench --help`
  std::string_view arguments;  ///< after "[options]" in the usage line: "PATH..."
  std::string_view details;    ///< paragraphs of the command's own --help, wrapped when printed
  std::span<const Example> examples;
  std::span<const ExitCodeRow> statuses;  ///< those it can end with; empty meaning: the usual
  /// Declares the options on `line` and returns what runs once they are parsed: see declared.
  CommandRun (*declare)(CommandLine& line);
};

/// All commands, in list order. Generated from harness/cli/CMakeLists.txt.
std::span<const Command* const> all_commands();

}  // namespace bertbench
