// tqdm: the log of NVIDIA's DeepLearningExamples PyTorch/LanguageModeling/BERT, run_pretraining.py
// and its run script. The bar counts micro-steps; a step's line follows the bar without a line
// break, because the original prints to the same terminal. Bar and lines share standard output.
#include <cmath>
#include <optional>

#include "workloads/bert/log/interval_style.h"
#include "workloads/bert/log/text.h"
#include "workloads/bert/log/tqdm_bar.h"

namespace bert {
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
