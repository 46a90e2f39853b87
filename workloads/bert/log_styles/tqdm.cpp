// tqdm: the log of NVIDIA's DeepLearningExamples PyTorch/LanguageModeling/BERT, run_pretraining.py
// and its run script. The bar counts micro-steps; a step's line follows the bar without a line
// break, because the original prints to the same terminal. Bar and lines share standard output.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <ostream>

#include "workloads/bert/log_styles/interval.h"
#include "workloads/bert/log_styles/log_style.h"
#include "workloads/bert/log_styles/text.h"
#include "workloads/bert/log_styles/tqdm_bar.h"

namespace bert {
namespace {

class TqdmStyle : public LogStyle {
 public:
  explicit TqdmStyle(std::ostream& out) : out_(out) {}

  void begin(const RunFacts& f, Stamp now) override {
    facts_ = f;
    started_ = now;
    // The run script runs under `set -x`: the command is the log's source of facts.
    out_ << "+ " << fmt::format("{}", fmt::join(f.command, " ")) << '\n';
    out_ << fmt::format("device: {} n_gpu: 1, distributed training: {}, 16-bits training: {}\n",
                        f.backend_name, f.world_size > 1 ? "True" : "False",
                        f.precision == "fp16" || f.precision == "bf16" ? "True" : "False");
    info(now, fmt::format("  World size = {}", f.world_size));
    info(now, fmt::format("  Model = {}, precision = {}", f.model, f.precision));
    info(now, fmt::format("  Train batch size per device = {}", f.micro_batch_size));
    info(now, fmt::format("  Gradient accumulation steps = {}", f.gradient_accumulation_steps));
    info(now, fmt::format("  Max sequence length = {}", f.sequence_length));
    if (!f.simulated_topology.empty()) {
      info(now, fmt::format("  Simulated cluster = {}", f.simulated_topology));
    }
    bar_.emplace("Iteration", (f.last_step - f.first_step + 1) * f.gradient_accumulation_steps);
    out_ << bar_->start(now.seconds) << std::flush;
  }

  void micro_step(std::int64_t, Stamp now) override {
    const std::string text = bar_->iterate(now.seconds);
    if (!text.empty()) {
      out_ << text << std::flush;
    }
  }

  void step(const StepFacts& f, Stamp) override {
    interval_.add(f);
    final_loss_ = f.last_micro_loss;
    if (f.step % facts_.log_every != 0) {
      return;
    }
    average_loss_ = interval_.mean_loss();
    out_ << fmt::format("Step:{} Average Loss = {} Step Loss = {} LR {}\n", f.step,
                        python_float(average_loss_), python_float(f.last_micro_loss),
                        python_float(f.learning_rate))
         << std::flush;
    interval_ = {};
  }

  void end(const RunEnd& e, Stamp now) override {
    out_ << bar_->close(now.seconds);
    const double rate = bar_->overall_rate(now.seconds);
    if (interval_.steps() > 0) {
      average_loss_ = interval_.mean_loss();
    }
    if (e.signal != 0) {
      info(now, fmt::format("Training interrupted by signal {} after step {}", e.signal, e.step));
    }
    info(now, fmt::format("Total Steps:{} Final Loss = {}",
                          python_float(static_cast<double>(e.step)), python_float(average_loss_)));
    if (!e.checkpoint.empty()) {
      info(now, "** ** * Saving fine - tuned model ** ** * ");
    }
    out_ << fmt::format("Total time taken {}\n", python_float(now.seconds - started_.seconds));
    if (e.signal == 0) {
      out_ << "finished pretraining, starting benchmarking\n";
    }
    // The run script takes the bar's last rate as printed, two decimals, times batch and GPUs.
    const double printed = rate >= 1 ? std::nearbyint(rate * 100) / 100 : rate;
    out_ << fmt::format(
        "training throughput phase1: {} sequences/second\n",
        percent_g(printed * static_cast<double>(facts_.micro_batch_size) * facts_.world_size));
    out_ << fmt::format("average loss: {} final loss: {}\n", python_float(average_loss_),
                        python_float(final_loss_))
         << std::flush;
  }

 private:
  // Python's logging with format "%(asctime)s - %(levelname)s - %(name)s -   %(message)s".
  void info(Stamp now, const std::string& message) {
    out_ << utc(now.unix_seconds, "%m/%d/%Y %H:%M:%S") << " - INFO - __main__ -   " << message
         << '\n';
  }

  std::ostream& out_;
  RunFacts facts_;
  Stamp started_;
  std::optional<TqdmBar> bar_;
  IntervalLosses interval_;
  double average_loss_ = 0, final_loss_ = 0;
};

}  // namespace

std::unique_ptr<LogStyle> make_tqdm_style(std::ostream& out) {
  return std::make_unique<TqdmStyle>(out);
}

}  // namespace bert
