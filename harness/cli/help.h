// Help texts, derived from the list of commands and from the options they declare.
#pragma once

#include <string>
#include <string_view>

#include "harness/cli/command.h"

namespace bertbench {

[[nodiscard]] std::string short_help();                  ///< of `bertbench` alone
[[nodiscard]] std::string program_help();                ///< of `bertbench --help`
[[nodiscard]] std::string command_help(const Command&);  ///< of `bertbench <command> --help`

/// Every help text as one Markdown page: docs/cli.md.
[[nodiscard]] std::string markdown_help();

/// `text` wrapped at `width` columns, each line after `indent` blanks; '\n' stays a line break.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t indent, std::size_t width = 80);

}  // namespace bertbench
