// huggingface: the console of the Hugging Face Trainer (transformers 4.4x, disable_tqdm): its
// announcement, a dict of the losses every --log-every steps (logging_steps), and the dict of speed
// metrics at the end. No line has a clock: the only rate is that of the whole run.
//
// The data set is exactly as long as the run: one epoch.
#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "workloads/bert/log_styles/interval.h"
#include "workloads/bert/log_styles/log_style.h"
#include "workloads/bert/log_styles/text.h"

namespace bert {
namespace {

// Python's round(value, digits).
double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::isfinite(value) ? std::nearbyint(value * scale) / scale : value;
}

// "4,433,468"
std::string with_commas(std::int64_t value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

class HuggingfaceStyle : public LogStyle {
 public:
  explicit HuggingfaceStyle(std::ostream& out) : out_(out) {}

  void begin(const RunFacts& f, Stamp now) override {
    facts_ = f;
    started_ = now;
    out_ << command_trace(f);
    out_ << "***** Running training *****\n";
    say("Num examples", with_commas(f.last_step * f.global_batch_size()));
    say("Num Epochs", "1");
    say("Instantaneous batch size per device", with_commas(f.micro_batch_size));
    say("Total train batch size (w. parallel, distributed & accumulation)",
        with_commas(f.global_batch_size()));
    say("Gradient Accumulation steps", std::to_string(f.gradient_accumulation_steps));
    say("Total optimization steps", with_commas(f.last_step));
    say("Number of trainable parameters", with_commas(f.parameters));
    out_ << std::flush;
  }

  void step(const StepFacts& f, Stamp) override {
    interval_.add(f);
    all_losses_ += f.loss;
    if (f.step % facts_.log_every != 0) return;
    out_ << fmt::format("{{'loss': {}, 'grad_norm': {}, 'learning_rate': {}, 'epoch': {}}}\n",
                        python_float(rounded(interval_.mean_loss(), 4)),
                        python_float(f.gradient_norm), python_float(f.learning_rate),
                        python_float(epoch(f.step)))
         << std::flush;
    interval_ = {};
  }

  void end(const RunEnd& e, Stamp now) override {
    if (!e.checkpoint.empty()) out_ << "Saving model checkpoint to " << e.checkpoint << '\n';
    if (e.signal != 0) {
      out_ << fmt::format("Training interrupted by signal {} after step {}\n", e.signal, e.step)
           << std::flush;
      return;  // the Trainer says its metrics when train() returns
    }
    out_ << "\n\nTraining completed. Do not forget to share your model on huggingface.co/models "
            "=)\n\n\n";
    const double seconds = now.seconds - started_.seconds;
    const auto steps = static_cast<double>(e.steps_done);
    const double sequences = steps * static_cast<double>(facts_.global_batch_size());
    out_ << fmt::format(
                "{{'train_runtime': {}, 'train_samples_per_second': {}, "
                "'train_steps_per_second': {}, 'train_loss': {}, 'epoch': {}}}\n",
                python_float(rounded(seconds, 4)), python_float(rounded(sequences / seconds, 3)),
                python_float(rounded(steps / seconds, 3)), python_float(all_losses_ / steps),
                python_float(epoch(e.step)))
         << std::flush;
  }

 private:
  void say(std::string_view name, const std::string& value) {
    out_ << fmt::format("  {} = {}\n", name, value);
  }
  [[nodiscard]] double epoch(std::int64_t step) const {
    return static_cast<double>(step) / static_cast<double>(facts_.last_step);
  }

  std::ostream& out_;
  RunFacts facts_;
  Stamp started_;
  IntervalLosses interval_;
  double all_losses_ = 0;
};

}  // namespace

std::unique_ptr<LogStyle> make_huggingface_style(std::ostream& out) {
  return std::make_unique<HuggingfaceStyle>(out);
}

}  // namespace bert
