// tqdm: the log of NVIDIA's DeepLearningExamples PyTorch/LanguageModeling/BERT, run_pretraining.py
// and its run script. The bar counts micro-steps; a step's line follows the bar without a line
// break, because the original prints to the same terminal. Bar and lines share standard output.
#include "workloads/bert/log/tqdm.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "workloads/bert/log/interval_style.h"
#include "workloads/bert/log/text.h"

namespace bert {
namespace {

constexpr double kSmoothing = 0.3;
constexpr int kBarWidth = 10;
// U+258F (one eighth) to U+2588 (full block); index = eighths.
constexpr const char* kBlocks[] = {" ",
                                   "\xE2\x96\x8F",
                                   "\xE2\x96\x8E",
                                   "\xE2\x96\x8D",
                                   "\xE2\x96\x8C",
                                   "\xE2\x96\x8B",
                                   "\xE2\x96\x8A",
                                   "\xE2\x96\x89",
                                   "\xE2\x96\x88"};

std::size_t characters(const std::string& utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

void TqdmAverage::add(double x) {
  last_ = kSmoothing * x + (1 - kSmoothing) * last_;
  ++calls_;
  weight_left_ = std::pow(1 - kSmoothing, calls_);
}

double TqdmAverage::value() const { return calls_ == 0 ? last_ : last_ / (1 - weight_left_); }

std::string tqdm_interval(double seconds) {
  const auto whole = static_cast<long long>(std::abs(seconds));
  const char* const sign = seconds <= -1 ? "-" : "";
  const long long hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) {
    return fmt::format("{}{}:{:02d}:{:02d}", sign, hours, minutes, whole % 60);
  }
  return fmt::format("{}{:02d}:{:02d}", sign, minutes, whole % 60);
}

std::string tqdm_meter(const std::string& description, std::int64_t n, std::int64_t total,
                       double elapsed, std::optional<double> rate) {
  const auto done = static_cast<double>(n);
  const auto all = static_cast<double>(total);
  if (!rate && elapsed != 0) {
    rate = done / elapsed;
  }
  const bool known = rate && *rate != 0;
  std::string speed = "?it/s";
  std::string remaining = "?";
  if (known) {
    const double inverse = 1 / *rate;
    speed = inverse > 1 ? fmt::format("{:5.2f}s/it", inverse) : fmt::format("{:5.2f}it/s", *rate);
    remaining = tqdm_interval((all - done) / *rate);
  }
  const double fraction = done / all;
  const auto eighths = static_cast<int>(fraction * kBarWidth * 8);
  std::string bar;
  for (int cell = 0; cell < kBarWidth; ++cell) {
    bar += kBlocks[std::clamp(eighths - 8 * cell, 0, 8)];
  }
  return fmt::format("{}: {:3.0f}%|{}| {}/{} [{}<{}, {}]", description, fraction * 100, bar, n,
                     total, tqdm_interval(elapsed), remaining, speed);
}

TqdmBar::TqdmBar(std::string description, std::int64_t total)
    : description_(std::move(description)), total_(total) {}

std::string TqdmBar::draw(double now, std::optional<double> rate) {
  const std::string meter = tqdm_meter(description_, n_, total_, now - start_, rate);
  const std::size_t length = characters(meter);
  const std::size_t blanks = last_length_ > length ? last_length_ - length : 0;
  last_length_ = length;
  return "\r" + meter + std::string(blanks, ' ');
}

std::string TqdmBar::start(double now) {
  start_ = last_print_ = now;
  return draw(now, std::nullopt);
}

std::string TqdmBar::iterate(double now) {
  ++n_;
  const auto dn = static_cast<double>(n_ - last_print_n_);
  const double dt = now - last_print_;
  if (dn < min_iterations_ || dt < kMinInterval) {
    return "";
  }
  dn_.add(dn);
  dt_.add(dt);
  std::string text = draw(now, dn_.value() / dt_.value());
  if (dt >= kMaxInterval) {
    min_iterations_ = dn * kMinInterval / dt;
  } else {
    miniters_.add(dn * kMinInterval / dt);
    min_iterations_ = miniters_.value();
  }
  last_print_n_ = n_;
  last_print_ = now;
  return text;
}

std::string TqdmBar::close(double now) { return draw(now, std::nullopt) + "\n"; }

double TqdmBar::overall_rate(double now) const {
  return now > start_ ? static_cast<double>(n_) / (now - start_) : 0;
}

namespace {

class TqdmStyle : public IntervalStyle {
 public:
  using IntervalStyle::IntervalStyle;

 private:
  void header(Stamp now) override {
    const RunFacts& f = facts_;
    // The run script runs under `set -x`: the command is the log's source of facts.
    print("+ {}\n", fmt::join(f.command, " "));
    print("device: {} n_gpu: 1, distributed training: {}, 16-bits training: {}\n", f.backend,
          python_bool(f.world_size > 1),
          python_bool(f.precision == "fp16" || f.precision == "bf16"));
    info(now, "  World size = {}", f.world_size);
    info(now, "  Model = {}, precision = {}", f.model, f.precision);
    info(now, "  Train batch size per device = {}", f.micro_batch_size);
    info(now, "  Gradient accumulation steps = {}", f.gradient_accumulation_steps);
    info(now, "  Max sequence length = {}", f.sequence_length);
    if (!f.simulated_topology.empty()) info(now, "  Simulated cluster = {}", f.simulated_topology);
    bar_.emplace("Iteration", (f.steps - f.first_step + 1) * f.gradient_accumulation_steps);
    out_ << bar_->start(now.seconds);
  }

  void micro_step(std::int64_t, Stamp now) override {
    const std::string text = bar_->iterate(now.seconds);
    if (!text.empty()) out_ << text << std::flush;
  }

  void every_step(const StepFacts& f, Stamp) override {
    final_loss_ = f.last_micro_loss;
    if (f.skipped) {  // by apex
      print("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {}\n",
            python_float(f.next_loss_scale));
    }
  }

  void line(const StepFacts& f, Stamp) override {
    average_loss_ = interval_.loss();
    print("Step:{} Average Loss = {} Step Loss = {} LR {}\n", f.step, python_float(average_loss_),
          python_float(f.last_micro_loss), python_float(f.learning_rate));
  }

  void footer(const RunEnd& e, Stamp now) override {
    out_ << bar_->close(now.seconds);
    const double rate = bar_->overall_rate(now.seconds);
    if (interval_.steps > 0) average_loss_ = interval_.loss();
    if (e.signal != 0) info(now, "{}", interrupted(e));
    info(now, "Total Steps:{} Final Loss = {}", python_float(static_cast<double>(e.step)),
         python_float(average_loss_));
    if (!e.checkpoint.empty()) info(now, "** ** * Saving fine - tuned model ** ** * ");
    print("Total time taken {}\n", python_float(now.seconds - started_.seconds));
    if (e.signal == 0) out_ << "finished pretraining, starting benchmarking\n";
    // The run script takes the bar's last rate as printed, two decimals, times batch and GPUs.
    const double printed = rate >= 1 ? std::nearbyint(rate * 100) / 100 : rate;
    print("training throughput phase1: {} sequences/second\n",
          percent_g(printed * static_cast<double>(facts_.micro_batch_size) * facts_.world_size));
    print("average loss: {} final loss: {}\n", python_float(average_loss_),
          python_float(final_loss_));
  }

  // Python's logging with format "%(asctime)s - %(levelname)s - %(name)s -   %(message)s".
  template <typename... Values>
  void info(Stamp now, fmt::format_string<Values...> format, Values&&... values) {
    print("{} - INFO - __main__ -   {}\n", utc(now.unix_seconds, "%m/%d/%Y %H:%M:%S"),
          fmt::format(format, std::forward<Values>(values)...));
  }

  std::optional<TqdmBar> bar_;
  double average_loss_ = 0, final_loss_ = 0;
};

}  // namespace

extern const LogStyleEntry tqdm_style{"tqdm", make_style<TqdmStyle>};

}  // namespace bert
