// Console: the only writer to a terminal.
//
// The answer asked for goes to stdout, everything else (notices, errors, progress) to stderr.
// Colour and redrawn lines are used only where the stream is a terminal and NO_COLOR is unset.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

#include "harness/cli/exit_status.h"
#include "parsers/core/error.h"
#include "parsers/core/notice.h"
#include "reports/output/table.h"

namespace bertbench {

class Progress;

enum class Style { plain, bold, red, green, yellow };

struct Terminal {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool colour = false;  ///< allowed at all (NO_COLOR unset, TERM is not "dumb")
  int width = 80;       ///< columns, for the progress line

  /// What descriptors 1 and 2 of this process are.
  [[nodiscard]] static Terminal detect();
};

class Console {
 public:
  Console(std::ostream& out, std::ostream& err, Terminal terminal = {});
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// Part of the answer, to stdout as it is. The caller escapes what comes from logs.
  void print(std::string_view text);

  /// `bertbench: note: <where>:<line>: <text>` to stderr, escaped; broken between words at 100
  /// columns or the terminal's edge, further lines indented.
  void note(std::string_view where, const Notice& notice);
  void note(std::string_view text);

  /// A line about how work goes on, to stderr, escaped, without a prefix.
  void status(std::string_view text, Style style = Style::plain);

  /// To a stderr that is a terminal, as it is: cursor movements and text that was escaped.
  void redraw(std::string_view text);

  /// `bertbench: <where>: <what>; <hint>` to stderr on one line, escaped. Returns `status`, so
  /// that a command can `return console.error(error, ...)`.
  ExitCode error(const Error& error, ExitCode status = ExitCode::usage);

  /// Flushes stdout. A reader that went away is not an error; a full disk is.
  [[nodiscard]] Result<void> finish();

  /// `text` in a style when stdout (or stderr) shows it, else as it is.
  [[nodiscard]] std::string styled(Style style, std::string_view text) const;
  [[nodiscard]] std::string styled_err(Style style, std::string_view text) const;

  /// Columns that a table on stdout may have; 0 where that is no terminal.
  [[nodiscard]] std::size_t most_columns() const {
    return terminal_.out_is_terminal ? static_cast<std::size_t>(terminal_.width) : 0;
  }

  /// text_table() for stdout, the cells of a column in a style each.
  [[nodiscard]] std::string painted(const Table& table, TextTableOptions look, std::size_t column,
                                    const std::function<Style(std::size_t row)>& style) const;

  [[nodiscard]] Progress& progress() { return *progress_; }
  [[nodiscard]] const Terminal& terminal() const { return terminal_; }

 private:
  void to_err(std::string_view line, std::size_t most_columns = std::string_view::npos);

  std::ostream& out_;
  std::ostream& err_;
  Terminal terminal_;
  std::unique_ptr<Progress> progress_;
};

}  // namespace bertbench
