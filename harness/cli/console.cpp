#include "harness/cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ostream>

#include "harness/cli/fd_stream.h"
#include "harness/cli/progress.h"
#include "parsers/core/text.h"
#include "reports/output/value_text.h"

namespace bertbench {
namespace {

std::string paint(bool on, Style style, std::string_view text) {
  constexpr std::string_view kCodes[] = {"", "1", "31", "32", "33"};  // SGR, in the order of Style
  if (!on || style == Style::plain || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(style)], text);
}

constexpr std::size_t kColumnsOfANote = 100;  // also into a file: longer lines are hard to read

/// Breaks a line between words where it would pass the terminal's edge; what follows is indented.
std::string folded(std::string_view line, std::size_t width) {
  if (line.size() <= width) return std::string(line);
  constexpr std::string_view kIndent = "  ";
  std::string out;
  std::size_t used = 0;  // columns of the line so far
  for (const std::string_view word : split(line, ' ')) {
    std::size_t columns = 0;
    for (std::size_t at = 0; at < word.size(); ++at) {
      if (word[at] == '\x1b') {
        at = std::min(word.find('m', at), word.size() - 1);  // a colour code of ours
      } else if ((static_cast<unsigned char>(word[at]) & 0xC0U) != 0x80U) {
        ++columns;
      }
    }
    if (!out.empty() && used + 1 + columns > width) {
      out += "\n" + std::string(kIndent);
      used = kIndent.size();
    } else if (!out.empty()) {
      out += ' ';
      ++used;
    }
    out += word;
    used += columns;
  }
  return out;
}

}  // namespace

Terminal Terminal::detect() {
  Terminal terminal;
  terminal.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  terminal.err_is_terminal = isatty(STDERR_FILENO) == 1;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::strcmp(term, "dumb") == 0;
  // https://no-color.org: an empty value counts as unset. A dumb terminal cannot redraw either.
  terminal.colour = !dumb && (no_colour == nullptr || *no_colour == '\0');
  if (dumb) terminal.err_is_terminal = false;
  for (const int stream : {STDERR_FILENO, STDOUT_FILENO}) {
    winsize size{};
    if (ioctl(stream, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) continue;
    terminal.width = size.ws_col;
    break;
  }
  return terminal;
}

Console::Console(std::ostream& out, std::ostream& err, Terminal terminal)
    : out_(out),
      err_(err),
      terminal_(terminal),
      progress_(std::make_unique<Progress>(err, terminal.err_is_terminal, terminal.width)) {}

Console::~Console() { progress_->clear(); }

void Console::print(std::string_view text) {
  if (terminal_.out_is_terminal) progress_->clear();
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
}

void Console::to_err(std::string_view line, std::size_t most_columns) {
  progress_->clear();
  out_.flush();  // on one terminal the order of the two streams is the order of events
  if (terminal_.err_is_terminal && terminal_.width > 0) {
    most_columns = std::min(most_columns, static_cast<std::size_t>(terminal_.width));
  }
  err_ << folded(line, most_columns) << "\n" << std::flush;
}

void Console::note(std::string_view where, const Notice& notice) {
  std::string place = escape_for_terminal(place_name(where));
  if (notice.line > 0) place += fmt::format(":{}", notice.line);
  if (!place.empty()) place += ": ";
  to_err("bertbench: " + styled_err(Style::yellow, "note:") + " " + place +
             escape_for_terminal(text_of(notice)),
         kColumnsOfANote);
}

void Console::note(std::string_view text) { note("", foreign_notice(0, std::string(text))); }

void Console::status(std::string_view text, Style style) {
  to_err(styled_err(style, escape_for_terminal(text)));
}

void Console::redraw(std::string_view text) { err_ << text << std::flush; }

ExitCode Console::error(const Error& error, ExitCode status) {
  Error shown = error;
  shown.where = place_name(error.where);
  to_err(styled_err(Style::red, "bertbench:") + " " + escape_for_terminal(shown.message()));
  return status;
}

Result<void> Console::finish() {
  progress_->stop();
  out_.flush();
  if (out_) return {};
  const auto* buffer = dynamic_cast<const FdBuffer*>(out_.rdbuf());
  const int reason = buffer == nullptr ? EIO : buffer->error();
  if (reason == EPIPE) return {};
  return fail("standard output", std::strerror(reason),
              "free some space, or send the output elsewhere with -o FILE");
}

std::string Console::styled(Style style, std::string_view text) const {
  return paint(terminal_.colour && terminal_.out_is_terminal, style, text);
}

std::string Console::painted(const Table& table, TextTableOptions look, std::size_t column,
                             const std::function<Style(std::size_t row)>& style) const {
  look.paint = [&](std::size_t row, std::size_t at, const std::string& text) {
    return at == column ? styled(style(row), text) : text;
  };
  return text_table(table, look);
}

std::string Console::styled_err(Style style, std::string_view text) const {
  return paint(terminal_.colour && terminal_.err_is_terminal, style, text);
}

}  // namespace bertbench
