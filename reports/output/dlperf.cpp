#include "reports/output/dlperf.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

#include "parsers/core/text.h"
#include "parsers/core/trainer_options.h"
#include "reports/output/value_text.h"
#include "reports/stats/summary.h"

namespace bertbench::dlperf {
namespace {

bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

// Patterns are of bytes: logs are in any encoding.

/// The first "1.5" that the pattern's group matches.
std::optional<double> decimal_in(std::string_view line, const RE2& pattern) {
  std::string digits;
  return RE2::PartialMatch(line, pattern, &digits) ? to_double(digits) : std::nullopt;
}

std::optional<std::int64_t> integer_in(std::string_view line, const RE2& pattern) {
  std::string digits;
  return RE2::PartialMatch(line, pattern, &digits) ? to_int(digits) : std::nullopt;
}

/// Hours, minutes, seconds and the digits of their fraction.
const std::string kTimeOfDay = "([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})\\.([0-9]{1,6})";

std::int64_t micros_of(std::int64_t hour, std::int64_t minute, std::int64_t second,
                       std::string fraction) {
  fraction.resize(6, '0');
  return ((hour * 60 + minute) * 60 + second) * 1'000'000 + *to_int(fraction);
}

/// The first "H:M:S.ffffff" of the line, in microseconds.
std::optional<std::int64_t> time_of_day(std::string_view line) {
  static const RE2 kTime("(?:^|[^0-9])" + kTimeOfDay, RE2::Latin1);
  std::int64_t hour = 0, minute = 0, second = 0;
  std::string fraction;
  if (!RE2::PartialMatch(line, kTime, &hour, &minute, &second, &fraction)) return std::nullopt;
  return micros_of(hour, minute, second, fraction);
}

/// The first "YYYY-M-D H:M:S.ffffff" of the line, in microseconds since some day.
std::optional<std::int64_t> date_and_time(std::string_view line) {
  static const RE2 kStamp("([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})[^0-9]" + kTimeOfDay, RE2::Latin1);
  int year = 0;
  unsigned month = 0, day = 0;
  std::int64_t hour = 0, minute = 0, second = 0;
  std::string fraction;
  if (!RE2::PartialMatch(line, kStamp, &year, &month, &day, &hour, &minute, &second, &fraction)) {
    return std::nullopt;
  }
  const std::chrono::sys_days date = std::chrono::year(year) / month / day;
  return std::chrono::microseconds(date.time_since_epoch()).count() +
         micros_of(hour, minute, second, fraction);
}

double pairwise_sum(const double* values, std::size_t n) {
  if (n < 8) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += values[i];
    return sum;
  }
  constexpr std::size_t kBlock = 128;
  if (n > kBlock) {
    const std::size_t half = n / 2 - n / 2 % 8;
    return pairwise_sum(values, half) + pairwise_sum(values + half, n - half);
  }
  double lane[8];
  std::copy_n(values, 8, lane);
  std::size_t i = 8;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) lane[k] += values[i + k];
  }
  double sum =
      ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  for (; i < n; ++i) sum += values[i];
  return sum;
}

}  // namespace

double numpy_mean(const std::vector<double>& values) {
  return pairwise_sum(values.data(), values.size()) / static_cast<double>(values.size());
}

double python_round(double value, int digits) {
  return to_double(fmt::format("{:.{}f}", value, digits)).value_or(value);
}

}  // namespace bertbench::dlperf

namespace bertbench {
namespace {

using namespace dlperf;

std::vector<double> slice(const std::vector<double>& values, std::int64_t from, std::int64_t to) {
  const auto n = static_cast<std::int64_t>(values.size());
  from = std::clamp<std::int64_t>(from, 0, n);
  to = std::clamp<std::int64_t>(to, from, n);
  return {values.begin() + from, values.begin() + to};
}

class Script : public DlperfScript {
 public:
  Script(std::string_view path, std::string_view estimator, const DlperfPlace& place,
         DlperfWindow window)
      : place_(place) {
    out_.script = path;
    out_.estimator = estimator;
    out_.window = window;
    if (place.nodes > 9) {
      note("the script reads the number of nodes from one digit and stops with a ValueError here");
    }
  }

 protected:
  void note(std::string text, std::int64_t line = 0) {
    out_.notices.push_back(
        make_notice(NoticeCode::dlperf_script, line, out_.script, std::move(text)));
  }
  [[nodiscard]] double world() const {
    return static_cast<double>(place_.nodes * place_.gpus_per_node);
  }
  [[nodiscard]] double batch() const { return static_cast<double>(place_.batch_size_per_device); }
  [[nodiscard]] std::int64_t warmup() const { return out_.window.warmup; }
  [[nodiscard]] std::int64_t train() const { return out_.window.train; }
  [[nodiscard]] double iterations() const { return static_cast<double>(train() - warmup()); }

  /// The mean of the lines `from` to `to`, which becomes the speed.
  std::optional<double> take_mean(const std::vector<double>& rates, std::int64_t from,
                                  std::int64_t to) {
    const auto used = slice(rates, from, to);
    if (used.empty()) {
      note("no line falls into its window: the mean is nan");
      return std::nullopt;
    }
    const double mean = numpy_mean(used);
    out_.speed = round_dlperf(mean);
    if (const auto want = static_cast<std::size_t>(to - from); used.size() < want) {
      note(fmt::format("the log ends early: the mean is over {} lines instead of {}", used.size(),
                       want));
    }
    report_work_over_time(mean, used);
    return mean;
  }

  /// A mean of rates is never below work over time.
  void report_work_over_time(double mean, std::span<const double> rates) {
    double seconds = 0;
    for (const double rate : rates) seconds += 1 / rate;
    const double right = static_cast<double>(rates.size()) / seconds;
    if (!(mean / right - 1 > 5e-4)) return;
    note(fmt::format("the mean of rates, {:.2f}, is {:.2f} % above work over time, {:.2f}", mean,
                     100 * (mean / right - 1), right));
  }
  void too_short(std::string_view what, std::int64_t seen) {
    note(
        fmt::format("the log holds {} of {} {}: the script enters 0 into mean and median; left "
                    "out here",
                    seen, train(), what));
  }

  DlperfPlace place_;
  DlperfSpeed out_;
};

class Mxnet final : public Script {
 public:
  using Script::Script;
  void read_line(std::string_view line, std::int64_t) override {
    if (!has(line, "throughput=")) return;
    static const RE2 kLatency("latency=([0-9]+\\.[0-9]+) ms/batch", RE2::Latin1);
    const auto latency = decimal_in(line, kLatency);
    if (!latency) {
      failed_ = true;
      return;
    }
    const double rounded = std::nearbyint(*latency * 10) / 10;
    speeds_.push_back(1000 / rounded * batch() * world());
  }
  DlperfSpeed finish() override {
    const auto ranks = static_cast<std::size_t>(world());
    const auto want = static_cast<std::size_t>(train()) * ranks;
    if (failed_ || speeds_.size() != want) {
      note(fmt::format("it needs exactly {} lines with a latency and stops with an error at {}",
                       want, speeds_.size()));
      return out_;
    }
    std::vector<double> steps;
    for (std::size_t i = 0; i < speeds_.size(); i += ranks) {
      steps.push_back(median(std::span(speeds_).subspan(i, ranks)));
    }
    const std::int64_t from = warmup() <= 100 ? 100 : warmup() - 100;
    if (take_mean(steps, from, train()) && from != warmup()) {
      const auto asked = slice(steps, warmup(), train());
      note(
          fmt::format("it begins at line {} where --warmup_batches asks for {}: that would be "
                      "{:.2f}",
                      from, warmup(), asked.empty() ? 0.0 : numpy_mean(asked)));
    }
    return out_;
  }

 private:
  std::vector<double> speeds_;
  bool failed_ = false;
};

/// Scripts that take two time stamps: the lines of numbers `from` and `train`.
class Timed : public Script {
 public:
  using Script::Script;
  DlperfSpeed finish() override {
    if (!begin_ || !end_) {
      too_short("iterations", lines_);
      return out_;
    }
    const double cost = static_cast<double>(*end_ - *begin_) / 1e6;
    out_.speed = python_round(batch() * world() / (cost / iterations()), 2);
    correct(cost);
    return out_;
  }

 protected:
  virtual void correct(double) {}
  void count(std::optional<std::int64_t> time, std::int64_t from) {
    ++lines_;
    if (lines_ == from) begin_ = time;
    if (lines_ == train()) end_ = time;
  }
  std::int64_t lines_ = 0;
  std::optional<std::int64_t> begin_, end_;
};

class NgcPytorch final : public Timed {
 public:
  using Timed::Timed;
  void read_line(std::string_view line, std::int64_t) override {
    if (!has(line, "Training Epoch: ")) return;
    static const RE2 kIteration("Training Iteration: ([0-9]+).*  average_loss", RE2::Latin1);
    const auto iteration = integer_in(line, kIteration);
    if (iteration && *iteration > 5) count(date_and_time(line), warmup());
  }
};

class Tensorflow final : public Timed {
 public:
  using Timed::Timed;
  void read_line(std::string_view line, std::int64_t) override {
    if (!has(line, "Train Step:")) return;
    count(time_of_day(line), from());
  }

 private:
  [[nodiscard]] std::int64_t from() const { return std::max<std::int64_t>(20, warmup()); }
  void correct(double cost) override {
    const double taken = static_cast<double>(train() - from());
    const bool midnight = cost < 0;
    if (!midnight && taken == iterations()) return;
    const double right = batch() * world() * taken / (midnight ? cost + 86400 : cost);
    if (midnight) {
      note(
          fmt::format("the log passes midnight and the stamps hold no date: the right value is "
                      "{:.2f}",
                      right));
    } else {
      note(
          fmt::format("below 20 warm-up iterations it divides by the wrong count: the right value "
                      "is {:.2f}",
                      right));
    }
  }
};

class NgcTensorflow final : public Script {
 public:
  using Script::Script;
  void read_line(std::string_view line, std::int64_t) override {
    static const RE2 kTenth("Iteration: [0-9]+0 ", RE2::Latin1);
    static const RE2 kSpeed("throughput_train : ([0-9]+\\.[0-9]+) seq/s", RE2::Latin1);
    if (!has(line, " throughput_train ") || !RE2::PartialMatch(line, kTenth)) return;
    if (const auto speed = decimal_in(line, kSpeed)) {
      speeds_.push_back(*speed);
    } else {
      ++unread_;
    }
  }
  DlperfSpeed finish() override {
    if (unread_ > 0) {
      note(
          fmt::format("{} lines have no seq/s (newer releases print sequences/s): the script "
                      "stops with an error",
                      unread_));
      return out_;
    }
    take_mean(speeds_, warmup() / 10, train() / 10);
    return out_;
  }

 private:
  std::vector<double> speeds_;
  std::int64_t unread_ = 0;
};

class Paddle final : public Script {
 public:
  using Script::Script;
  void read_line(std::string_view line, std::int64_t number) override {
    if (!has(line, "speed:")) return;
    static const RE2 kSpeed(" speed: ([0-9]+\\.[0-9]+) steps/s", RE2::Latin1);
    const auto speed = decimal_in(line, kSpeed);
    if (!speed) {
      failed_line_ = number;
      return;
    }
    const auto cards = static_cast<double>(place_.gpus_per_node * place_.batch_size_per_device);
    speeds_.push_back(python_round(*speed * cards, 4));
  }
  DlperfSpeed finish() override {
    if (failed_line_ > 0) {
      note("a line with 'speed:' has no steps/s: the script stops with an error", failed_line_);
      return out_;
    }
    const auto mean = take_mean(speeds_, warmup(), train());
    if (mean && place_.nodes > 1) {
      note(
          fmt::format("steps/s are multiplied by the GPUs of one node only; that is right if this "
                      "trainer's steps/s are those of all {} nodes together, else the rate is "
                      "{:.2f}",
                      place_.nodes, *mean * static_cast<double>(place_.nodes)));
    }
    return out_;
  }

 private:
  std::vector<double> speeds_;
  std::int64_t failed_line_ = 0;
};

class Mindspore final : public Script {
 public:
  using Script::Script;
  void read_line(std::string_view line, std::int64_t) override {
    if (done_) return;
    static const RE2 kStep("step: ([0-9]+)", RE2::Latin1);
    static const RE2 kEpochTime("epoch time: ([0-9]+\\.[0-9]+)", RE2::Latin1);
    static const RE2 kStepTime("per step time: ([0-9]+\\.[0-9]+)", RE2::Latin1);
    if (has(line, "epoch:")) step_ = integer_in(line, kStep).value_or(step_);
    if (!has(line, "epoch time:")) return;
    if (step_ > warmup()) {
      const auto time = decimal_in(line, kEpochTime);
      if (time) {
        milliseconds_ += *time;
        const auto each = decimal_in(line, kStepTime);
        steps_ += each && *each > 0 ? std::round(*time / *each) : 1;
      }
    }
    done_ = step_ > train();
  }
  DlperfSpeed finish() override {
    const double cost = milliseconds_ / 1000;
    if (cost <= 1e-5) {
      note("no time falls into its window: the script leaves the log out");
      return out_;
    }
    out_.speed = python_round(batch() * world() / (cost / (iterations() * world())), 2);
    if (steps_ != iterations() * world()) {
      note(
          fmt::format("it sums the times of {:.0f} steps of all ranks and divides by {:.0f}: the "
                      "right value is {:.2f}",
                      steps_, iterations() * world(), batch() * world() * steps_ / cost));
    }
    return out_;
  }

 private:
  std::int64_t step_ = 0;
  double milliseconds_ = 0, steps_ = 0;
  bool done_ = false;
};

class Oneflow final : public Script {
 public:
  using Script::Script;
  void read_line(std::string_view line, std::int64_t) override {
    static const RE2 kBatch("^batch_size_per_device = ([0-9]+)", RE2::Latin1);
    static const RE2 kGpus("^gpu_num_per_node = ([0-9]+)", RE2::Latin1);
    static const RE2 kNodes("^num_nodes = ([0-9]+)", RE2::Latin1);
    static const RE2 kStep("^step: ([0-9]+)", RE2::Latin1);
    const auto header = [&](const RE2& pattern, std::int64_t& into) {
      into = integer_in(line, pattern).value_or(into);
    };
    header(kBatch, place_.batch_size_per_device);
    header(kGpus, place_.gpus_per_node);
    header(kNodes, place_.nodes);
    const auto step = integer_in(line, kStep);
    const auto word = trim(line.substr(line.rfind(' ') + 1));
    if (step == warmup()) begin_ = to_double(word);
    if (step == train()) end_ = to_double(word);
  }
  DlperfSpeed finish() override {
    constexpr double kEpoch2001 = 1e9;  // without the added clock the last word is the rate
    if (!begin_ || !end_ || *begin_ < kEpoch2001 || *end_ < kEpoch2001) {
      note(fmt::format("the log lacks step {} or {} with its time: the script stops", warmup(),
                       train()));
      return out_;
    }
    out_.speed = batch() * world() * iterations() / (*end_ - *begin_);
    return out_;
  }

 private:
  std::optional<double> begin_, end_;
};

struct ScriptRow {
  std::string_view format, path, estimator;
  DlperfWindow published;
  std::unique_ptr<DlperfScript> (*make)(const ScriptRow& row, const DlperfPlace& place,
                                        DlperfWindow window);
};

template <class T>
std::unique_ptr<DlperfScript> make(const ScriptRow& row, const DlperfPlace& place,
                                   DlperfWindow window) {
  return std::make_unique<T>(row.path, row.estimator, place, window);
}

constexpr ScriptRow kScripts[] = {
    {"gluonnlp", "MxNet/BERT/extract_mxnet_logs.py", "step_time", {100, 200}, make<Mxnet>},
    {"dllogger",
     "PyTorch/BERT/extract_pytorch_logs_time.py",
     "counter_clock",
     {20, 120},
     make<NgcPytorch>},
    {"tf",
     "LanguageModeling/BERT/extract_tensorflow_logs.py",
     "printed_mean",
     {20, 120},
     make<NgcTensorflow>},
    {"timehistory",
     "TensorFlow/bert/extract_tensorflow_logs_time.py",
     "counter_clock",
     {20, 120},
     make<Tensorflow>},
    {"paddle", "PaddlePaddle/bert/extract_paddle_logs.py", "printed_mean", {20, 120}, make<Paddle>},
    {"mindspore",
     "MindSpore/bert/extract_mindspore_logs_time.py",
     "step_time",
     {20, 120},
     make<Mindspore>},
    {"oneflow",
     "OneFlow/LanguageModeling/BERT/extract_bert_result.py",
     "counter_clock",
     {19, 119},
     make<Oneflow>},
};

}  // namespace

std::unique_ptr<DlperfScript> dlperf_script(std::string_view format, const DlperfPlace& place,
                                            std::optional<DlperfWindow> window) {
  const auto* const row = std::ranges::find(kScripts, format, &ScriptRow::format);
  if (row == std::end(kScripts)) return nullptr;
  return row->make(*row, place, window.value_or(row->published));
}

namespace {

/// What distinguishes the cells of one model and topology, in a form that may join its name;
/// `all`: not batch and precision alone.
std::string variant(const Identity& id, bool all) {
  std::string text;
  const auto add = [&](const char* letter, const auto& value) {
    if (value) text += fmt::format("_{}{}", letter, *value);
  };
  if (all) add("", id.framework);
  add("b", id.micro_batch_size);
  add("", id.precision);
  if (!all) return text;
  add("s", id.sequence_length);
  add("a", id.gradient_accumulation_steps);
  for (const auto& [axis, value] : id.axes) {
    if (axis != kSimulatedAxis) text += "_" + axis + "=" + value;  // in the model's name
  }
  return text;
}

std::string model_of(const Cell& cell) {
  return cell.identity.model.value_or("?") + (cell.identity.simulated() ? "_simulated" : "");
}

bool usable(const Cell& cell) {
  const Identity& id = cell.identity;
  return cell.kind == WorkKind::training && id.nodes && id.gpus_per_node &&
         std::any_of(cell.trials.begin(), cell.trials.end(),
                     [](const Trial& trial) { return trial.counts(); });
}

}  // namespace

std::string python_number(double value) {
  std::string text = shortest(value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

DlperfResult dlperf_result(const ResultSet& set) {
  // The shortest name that keeps all configurations of a model apart.
  std::map<std::string, std::map<std::string, std::string>> variants;
  for (const Cell& cell : set.cells)
    if (usable(cell))
      variants[model_of(cell)][variant(cell.identity, true)] = variant(cell.identity, false);
  const auto name_of = [&](const Cell& cell) {
    const auto& known = variants[model_of(cell)];
    if (known.size() == 1) return model_of(cell);
    std::map<std::string, int> shared;
    for (const auto& entry : known) ++shared[entry.second];
    const bool enough = std::all_of(shared.begin(), shared.end(),
                                    [](const auto& entry) { return entry.second == 1; });
    return model_of(cell) + variant(cell.identity, !enough);
  };

  DlperfResult result;
  std::map<std::pair<std::string, std::string>, std::vector<double>> speeds;
  for (const Cell& cell : set.cells) {
    if (!usable(cell)) continue;
    const std::string model = name_of(cell), topology = topology_text(cell.identity);
    result.models[model][topology].batch_size_per_device = cell.identity.micro_batch_size;
    for (const Trial& trial : cell.trials) {
      if (!trial.counts()) continue;
      const double speed = round_dlperf(*trial.sequences_per_second);
      result.logs.push_back({model, topology, trial.log, trial.trial, speed});
      speeds[{model, topology}].push_back(speed);
    }
  }
  for (const auto& [where, values] : speeds) {
    DlperfCell& cell = result.models[where.first][where.second];
    // Left to right in file order, as sum() does: the order shows in the last digit.
    double sum = 0;
    for (const double value : values) sum += value;
    cell.average_speed = round_dlperf(sum / static_cast<double>(values.size()));
    cell.median_speed = round_dlperf(median(values));
  }
  for (auto& [model, cells] : result.models) {
    const auto base = cells.find("1n1g");
    if (base == cells.end() || !(base->second.median_speed > 0)) continue;
    const double base_median = base->second.median_speed;
    for (auto& [topology, cell] : cells)
      cell.speedup = round_dlperf(cell.median_speed / base_median);
  }
  return result;
}

}  // namespace bertbench
