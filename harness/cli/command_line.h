// CommandLine: the options of one command, as it declares them, as they are parsed and as its help
// lists them. command_line.cpp alone includes CLI11, whose header takes 4.5 s to compile.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parsers/core/error.h"

namespace CLI {
class Option;
}

namespace bertbench {

/// Thrown by an option's handler for a value that breaks the option's rule; `CommandLine::parse`
/// returns its error.
class UsageError : public std::exception {
 public:
  explicit UsageError(Error error) : error_(std::move(error)), text_(error_.message()) {}
  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  Error error_;
  std::string text_;
};

/// An option that was declared; it lives as long as its CommandLine.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}
  Option required(bool required = true);
  /// What help prints as the default: text, never parsed.
  Option default_text(const std::string& text);

 private:
  CLI::Option* option_;
};

/// An option as its help lists it.
struct OptionHelp {
  std::string names;  ///< "-o, --output FILE", or the name of an argument
  std::string description;
  std::string default_text;
  bool argument = false;
  std::vector<std::string> values;  ///< those that CommandLine::complete named
};

class CommandLine {
 public:
  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// `names` as "-o,--output". `handle` gets the text and throws UsageError where it is wrong.
  Option add_value(const std::string& names, const std::string& type,
                   const std::string& description,
                   std::function<void(const std::string& text)> handle);
  /// The same, stored as it is.
  Option add_text(const std::string& names, std::string& value, const std::string& type,
                  const std::string& description);
  /// A file that the command writes; `parse` refuses what may not be overwritten.
  Option add_output_file(const std::string& names, std::string& value, const std::string& type,
                         const std::string& description);
  /// May be given several times, one value each.
  Option add_list(const std::string& names, std::vector<std::string>& values,
                  const std::string& type, const std::string& description);
  Option add_flag(const std::string& names, bool& value, const std::string& description);
  /// Positional arguments; `name` as usage lines write it: "RESULT".
  Option add_argument(const std::string& name, std::string& value, const std::string& description);
  Option add_arguments(const std::string& name, std::vector<std::string>& values,
                       const std::string& description);

  /// Values that shells complete after `name`, "--format" or an argument's name; others may be
  /// good.
  void complete(const std::string& name, std::vector<std::string> values);

  /// Words after a "--", as they are: the command line of another program.
  void add_command(std::vector<std::string>& words) { command_ = &words; }

  enum class Parsed { options, help };
  /// `where` is the name of the command, for errors. `help`: -h or --help was among `args`.
  [[nodiscard]] Result<Parsed> parse(const std::string& where,
                                     const std::vector<std::string>& args);

  /// All options in the order of their declaration, -h first.
  [[nodiscard]] std::vector<OptionHelp> help() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::vector<std::string>* command_ = nullptr;
};

}  // namespace bertbench
