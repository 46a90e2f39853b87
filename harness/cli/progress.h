// Progress: one line on stderr for work that takes longer than two seconds.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace bertbench {

/// On a terminal one line is redrawn in place, at most ten times a second; elsewhere (a CI log) a
/// plain line is written every ten seconds. Silent during the first two seconds.
class Progress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;  ///< replaced by tests

  Progress(std::ostream& err, bool is_terminal, int width,
           Clock now = std::chrono::steady_clock::now);

  /// Begins a task. `fraction` of later updates is of this task, from which the ETA follows.
  void start();

  /// What is going on now; must not hold text from a log that was not escaped. `fraction` in
  /// [0, 1] when known; `eta` when the caller knows better than a straight line.
  void update(std::string_view text, std::optional<double> fraction = std::nullopt,
              std::optional<std::chrono::seconds> eta = std::nullopt);

  /// Takes the line off the terminal, so that something else can be written.
  void clear();

  /// Ends the task: the line goes away.
  void stop();

 private:
  std::ostream& err_;
  bool is_terminal_;
  int width_;
  Clock now_;
  bool running_ = false;
  bool shown_ = false;
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point last_;
  bool any_ = false;
};

/// "42 s", "3 min 05 s", "2 h 07 min".
[[nodiscard]] std::string format_duration(double seconds);

/// `text` cut to `columns` terminal columns (one per code point), "..." marking the cut.
[[nodiscard]] std::string fit_columns(std::string_view text, int columns);

}  // namespace bertbench
