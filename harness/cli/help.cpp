#include "harness/cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/command_line.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr std::size_t kColumn = 28;  // where descriptions begin

std::string row(std::string_view left, std::string_view right) {
  std::string text = fmt::format("  {}", left);
  std::string wrapped = wrap(right, kColumn);
  if (text.size() + 2 <= kColumn) {
    text.resize(kColumn, ' ');
    wrapped.erase(0, std::min(wrapped.size(), kColumn));
    return text + wrapped;
  }
  return text + "\n" + wrapped;
}

std::string options_text(const CommandLine& line, bool arguments) {
  std::string text;
  for (const OptionHelp& option : line.help()) {
    if (option.argument != arguments) continue;
    std::string description = option.description;
    if (!option.default_text.empty()) {
      description += fmt::format(" [default: {}]", option.default_text);
    }
    text += row(option.names, description);
  }
  return text;
}

std::string status_row(ExitCode status, std::string_view meaning) {
  return fmt::format("  {:<5}{}\n", to_int(status), meaning);
}

std::string statuses_text(std::span<const ExitCodeRow> shown) {
  std::string text = "exit status:\n";
  for (const ExitCodeRow& usual : exit_codes()) {
    if (shown.empty()) text += status_row(usual.status, usual.meaning);
    for (const ExitCodeRow& row : shown) {
      if (row.status != usual.status) continue;
      text += status_row(row.status, row.meaning.empty() ? usual.meaning : row.meaning);
    }
  }
  return text;
}

std::string examples_text(std::span<const Example> examples) {
  std::string text = "examples:\n";
  for (const Example& example : examples) {
    text += fmt::format("  {}\n{}", example.line, wrap(example.what, 6));
  }
  return text;
}

std::string commands_text() {
  std::string text = "commands:\n";
  for (const Command* command : all_commands()) {
    text += fmt::format("  {:<13}{}\n", command->name, command->purpose);
  }
  return text;
}

constexpr std::string_view kPurpose =
    "bertbench measures BERT training and reads other people's measurements of it.";

constexpr Example kExamples[] = {
    {"bertbench sweep configs/quickstart.json --out run", "Measure a grid of training runs."},
    {"bertbench extract logs/", "Throughput of every training log below a folder."},
    {"bertbench check run --baseline last.json",
     "Has anything become slower? The exit status answers."},
};

}  // namespace

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  for (const std::string_view paragraph : split(text, '\n')) {
    std::string line(indent, ' ');
    bool empty = true;
    for (const std::string_view word : split(paragraph, ' ')) {
      if (word.empty()) continue;
      if (!empty && line.size() + 1 + word.size() > width) {
        out += line + "\n";
        line.assign(indent, ' ');
        empty = true;
      }
      if (!empty) line += ' ';
      line += word;
      empty = false;
    }
    out += (empty ? std::string() : line) + "\n";
  }
  return out;
}

std::string short_help() {
  return fmt::format(
      "{}\n\nusage: bertbench COMMAND [options]\n\n{}\n"
      "`bertbench COMMAND --help` explains one, `bertbench --help` shows examples.\n",
      kPurpose, commands_text());
}

std::string program_help() {
  return fmt::format(
      "{}\n\nusage: bertbench COMMAND [options]\n\n{}\noptions:\n{}{}\n{}\n{}", kPurpose,
      commands_text(), row("-h, --help", "Print this help, or that of a command."),
      row("-V, --version", "Print the version and the git commit it was built from."),
      examples_text(kExamples), statuses_text({}));
}

std::string command_help(const Command& command) {
  CommandLine line;
  const CommandRun run = command.declare(line);
  std::string text =
      fmt::format("bertbench {}: {}\n\nusage: bertbench {} [options]{}{}\n\n{}\n", command.name,
                  command.purpose, command.name, command.arguments.empty() ? "" : " ",
                  command.arguments, wrap(command.details, 0));
  const std::string positionals = options_text(line, true);
  if (!positionals.empty()) text += "arguments:\n" + positionals + "\n";
  text += "options:\n" + options_text(line, false) + "\n";
  return text + examples_text(command.examples) + "\n" + statuses_text(command.statuses);
}

std::string markdown_help() {
  std::string text =
      "# Command line\n\nGenerated from `--help` by the test `HelpTest` under "
      "`BB_UPDATE_GOLDEN=1`; do not "
      "edit.\n\n";
  text += "```text\n" + program_help() + "```\n";
  for (const Command* command : all_commands()) {
    text +=
        fmt::format("\n## bertbench {}\n\n```text\n{}```\n", command->name, command_help(*command));
  }
  return text;
}

}  // namespace bertbench
