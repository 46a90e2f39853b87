#include "harness/cli/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "harness/cli/command.h"
#include "harness/cli/command_line.h"
#include "harness/cli/help.h"
#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"
#include "reports/model/version.h"

namespace bertbench {
namespace {

const Command* find_command(std::string_view name) {
  const auto commands = all_commands();
  const auto at = std::find_if(commands.begin(), commands.end(),
                               [&](const Command* command) { return command->name == name; });
  return at == commands.end() ? nullptr : *at;
}

ExitCode unknown_command(Console& console, const std::string& name) {
  if (!name.empty() && name.front() == '-') {
    return console.error({name, "unknown option", "see `bertbench --help`"});
  }
  std::vector<std::string> names;
  for (const Command* command : all_commands()) names.emplace_back(command->name);
  return console.error({name, "unknown command", name_hint(name, names, "commands are ")});
}

ExitCode run_command(const Command& command, const std::vector<std::string>& args,
                     Console& console) {
  CommandLine line;
  const CommandRun run = command.declare(line);
  const auto parsed = line.parse(std::string(command.name), args);
  if (!parsed) return console.error(parsed.error());
  if (*parsed == CommandLine::Parsed::help) {
    console.print(command_help(command));
    return ExitCode::good;
  }
  return run(console);
}

ExitCode dispatch(const std::vector<std::string>& args, Console& console) {
  if (args.empty()) {
    console.print(short_help());
    return ExitCode::usage;
  }
  std::string first = args.front();
  std::vector<std::string> rest(args.begin() + 1, args.end());
  if (first == "help" && !rest.empty()) {  // `help extract` is `extract --help`
    first = rest.front();
    rest = {"--help"};
  }
  if (first == "-h" || first == "--help" || first == "help") {
    console.print(program_help());
    return ExitCode::good;
  }
  if (first == "-V" || first == "--version") {
    console.print(fmt::format("bertbench {} ({})\n", tool_version(), tool_commit()));
    return ExitCode::good;
  }
  const Command* command = find_command(first);
  return command == nullptr ? unknown_command(console, first)
                            : run_command(*command, rest, console);
}

}  // namespace

int run_cli(const std::vector<std::string>& args, std::ostream& out, std::ostream& err,
            Terminal terminal) {
  Console console(out, err, terminal);
  ExitCode status = ExitCode::good;
  try {
    status = dispatch(args, console);
  } catch (const std::exception& error) {  // a defect: libraries' exceptions are caught where used
    status = console.error({"internal error", error.what(), "please report this command line"});
  }
  if (const auto written = console.finish(); !written) status = console.error(written.error());
  return to_int(status);
}

}  // namespace bertbench
