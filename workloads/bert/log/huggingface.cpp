// huggingface: the console of the Hugging Face Trainer (transformers 4.4x, disable_tqdm): its
// announcement, a dict of the losses every --log-every steps (logging_steps), and the dict of speed
// metrics at the end. No line has a clock: the only rate is that of the whole run.
//
// The data set is exactly as long as the run: one epoch.
#include <cmath>

#include "workloads/bert/log/interval_style.h"
#include "workloads/bert/log/text.h"

namespace bert {
namespace {

// Python's round(value, digits).
std::string rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return python_float(std::isfinite(value) ? std::nearbyint(value * scale) / scale : value);
}

// "4,433,468"
std::string with_commas(std::int64_t value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

class HuggingfaceStyle : public IntervalStyle {
 public:
  using IntervalStyle::IntervalStyle;

 private:
  void header(Stamp) override {
    const RunFacts& f = facts_;
    out_ << command_trace(f) << "***** Running training *****\n";
    const auto fact = [&](const char* name, std::int64_t value) {
      print("  {} = {}\n", name, with_commas(value));
    };
    fact("Num examples", f.steps * f.global_batch_size());
    fact("Num Epochs", 1);
    fact("Instantaneous batch size per device", f.micro_batch_size);
    fact("Total train batch size (w. parallel, distributed & accumulation)", f.global_batch_size());
    fact("Gradient Accumulation steps", f.gradient_accumulation_steps);
    fact("Total optimization steps", f.steps);
    fact("Number of trainable parameters", f.parameters);
  }

  void line(const StepFacts& f, Stamp) override {
    print("{{'loss': {}, 'grad_norm': {}, 'learning_rate': {}, 'epoch': {}}}\n",
          rounded(interval_.loss(), 4), python_float(f.gradient_norm),
          python_float(f.learning_rate), epoch(f.step));
  }

  void footer(const RunEnd& e, Stamp now) override {
    if (!e.checkpoint.empty()) print("Saving model checkpoint to {}\n", e.checkpoint);
    if (e.signal != 0) {  // the Trainer prints its metrics when train() returns
      out_ << interrupted(e) << '\n';
      return;
    }
    out_ << "\n\nTraining completed. Do not forget to share your model on huggingface.co/models "
            "=)\n\n\n";
    const double seconds = now.seconds - started_.seconds;
    const auto steps = static_cast<double>(e.steps_done);
    const double sequences = steps * static_cast<double>(facts_.global_batch_size());
    print(
        "{{'train_runtime': {}, 'train_samples_per_second': {}, 'train_steps_per_second': {}, "
        "'train_loss': {}, 'epoch': {}}}\n",
        rounded(seconds, 4), rounded(sequences / seconds, 3), rounded(steps / seconds, 3),
        python_float(run_.loss()), epoch(e.step));
  }

  [[nodiscard]] std::string epoch(std::int64_t step) const {
    return python_float(static_cast<double>(step) / static_cast<double>(facts_.steps));
  }
};

}  // namespace

extern const LogStyleEntry huggingface_style{"huggingface", make_style<HuggingfaceStyle>};

}  // namespace bert
