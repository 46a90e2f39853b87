// TqdmBar: the progress bar of Python's tqdm 4.x, its arithmetic and its redraw rule, as in
// tqdm/std.py with the defaults that `for x in tqdm(iterable, desc=...)` has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace bert {

/// Exponential moving average with bias correction (class EMA of tqdm).
class TqdmAverage {
 public:
  void add(double x);
  [[nodiscard]] double value() const;

 private:
  double last_ = 0;
  double weight_left_ = 1;  ///< (1 - smoothing)^calls
  int calls_ = 0;
};

/// tqdm.format_meter with a known total, no ncols: a bar of 10 characters.
/// `rate` in iterations/s; nothing: n / elapsed; unknown while elapsed is 0.
[[nodiscard]] std::string tqdm_meter(const std::string& description, std::int64_t n,
                                     std::int64_t total, double elapsed,
                                     std::optional<double> rate);
/// [H:]MM:SS, truncated to whole seconds.
[[nodiscard]] std::string tqdm_interval(double seconds);

/// Every function returns what tqdm would write to its stream, often nothing.
class TqdmBar {
 public:
  TqdmBar(std::string description, std::int64_t total);
  [[nodiscard]] std::string start(double now);
  /// The loop body of iteration n has ended, n = 1, 2, ...
  [[nodiscard]] std::string iterate(double now);
  /// End of the loop: the bar once more with the overall average rate, and a line break.
  [[nodiscard]] std::string close(double now);
  [[nodiscard]] std::int64_t count() const { return n_; }
  /// Overall rate, iterations/s, that close() printed.
  [[nodiscard]] double overall_rate(double now) const;

 private:
  [[nodiscard]] std::string draw(double now, std::optional<double> rate);

  static constexpr double kMinInterval = 0.1, kMaxInterval = 10;
  std::string description_;
  std::int64_t total_;
  std::int64_t n_ = 0, last_print_n_ = 0;
  double start_ = 0, last_print_ = 0;
  double min_iterations_ = 0;  ///< tqdm's miniters, adapted after every redraw
  TqdmAverage dn_, dt_, miniters_;
  std::size_t last_length_ = 0;  ///< in characters
};

}  // namespace bert
