#include "parsers/assemble/closing_lines.h"

#include <algorithm>
#include <cmath>

#include "parsers/assemble/run_builder.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

// bash's `time`: "real\t25m29.228s"
std::optional<double> shell_time(const Line& line) {
  std::int64_t minutes = 0;
  double seconds = 0;
  if (!Cursor(line).read("real\t", minutes, "m", seconds, "s")) return std::nullopt;
  return static_cast<double>(minutes) * 60 + seconds;
}

// "  train_runtime            =     0:14:31.66" of the Trainer's table (corpus
// huggingface/bigscience_hf_ds_base_n16.log), also of days
// (quoted/huggingface.reads_the_runtime_of_a_table_that_took_days).
std::optional<double> runtime_of_table(const Line& line) {
  Cursor cursor(line);
  if (!cursor.read(Past{"train_runtime "}, kBlanks, "=", kBlanks)) {
    return std::nullopt;
  }
  return cursor.duration();
}

}  // namespace

// {'train_runtime': 273.0148, 'train_samples_per_second': 3.663, 'train_steps_per_second': 0.007}
// and, in a table, "train_runtime            = 0:14:31.66".
bool ClosingLines::read_trainer(const Line& line) {
  if (has(line, "'train_runtime':")) {
    const auto runtime = number_after(line, "'train_runtime':");
    const auto samples = number_after(line, "'train_samples_per_second':");
    if (!runtime) return false;
    trainer_ = ended_ = true;
    if (training_s_ && summary_) {
      // Another process prints the same, or this one what train() returned
      // (quoted/huggingface.the_printed_return_of_train_is_no_other_process).
      if (!has(line, "TrainOutput(")) ++alike_;
      return true;
    }
    training_s_ = *runtime;
    checks_.end_session(true);
    const auto steps = number_after(line, "'train_steps_per_second':");
    if (samples && steps) batch_ = TrainerChecks::sequences_per_step(*samples, *steps);
    // transformers from 5.0 on, which quotes its values, counts samples wherever it prints them
    // (quoted/huggingface.counts_samples_in_releases_that_quote_their_values).
    if (samples &&
        (has(line, "'train_steps_per_second':") || has(line, "'train_samples_per_second': '"))) {
      summary_ = Stated{*samples, RateUnit::sequences_per_second, line.number};
    } else if (samples) {
      // Releases before train_steps_per_second (before about May 2021) divided the steps by the
      // runtime (corpus huggingface/tunbert_train_results.json).
      summary_ = Stated{*samples, RateUnit::unknown, line.number};
      call_steps(line.number);
    }
    return true;
  }
  if (const auto runtime = runtime_of_table(line)) {
    trainer_ = ended_ = true;
    if (!training_s_) training_s_ = *runtime;
    return true;
  }
  double samples = 0;
  if (Cursor(line).read(Past{"train_samples_per_second "}, kBlanks, "=", kBlanks, samples)) {
    if (!summary_) {
      summary_ = Stated{samples, RateUnit::sequences_per_second, line.number};
      table_ = true;
    }
    return true;
  }
  if (!Cursor(line).read(Past{"train_steps_per_second "}, kBlanks, "=")) return false;
  table_ = false;  // a release that has both rates: the one before is of samples
  return true;
}

void ClosingLines::call_steps(std::int64_t line) {
  summary_->unit = RateUnit::iterations_per_second;
  notices_.push_back(make_notice(NoticeCode::old_release_counts_steps, line));
}

// "num_samples: 24, ..., avg_duration: 12.5, avg_throughput: 15.363", then with fewer digits
// "Throughput: 15.36 samples/sec, TFLOPS per GPU by Megatron: 101.20, ..." of Colossal-AI's
// evaluator (quoted/colossalai.takes_the_evaluators_throughput_with_all_its_digits).
bool ClosingLines::read_evaluator(const Line& line) {
  const bool exact = has(line, "num_samples: ") && has(line, "avg_duration: ");
  if (!exact && !has(line, " samples/sec, TFLOPS per GPU")) return false;
  const auto rate = number_after(line, exact ? "avg_throughput: " : "Throughput: ");
  if (!rate || !(*rate > 0)) return false;
  ended_ = true;
  if (summary_) return true;
  summary_ = Stated{*rate, RateUnit::sequences_per_second, line.number};
  notices_.push_back(make_notice(NoticeCode::warmup_left_out_by_evaluator, line.number));
  return true;
}

bool ClosingLines::unlike(const Line& line) const {
  if (!training_s_ || !summary_) return false;
  const auto runtime = has(line, "'train_runtime':") ? number_after(line, "'train_runtime':")
                                                     : runtime_of_table(line);
  // Processes of one run end within a second or 2 % of each other: 12.51 and 12.53 s, not 12.5
  // and 9.2 s (quoted/huggingface.tells_trainings_that_state_their_runtimes_one_after_the_other).
  constexpr double kClosingTimeGap = 0.02;
  return runtime &&
         std::abs(*runtime - *training_s_) > std::max(1.0, kClosingTimeGap * *training_s_);
}

bool ClosingLines::see(const Line& line) {
  if (!training_s_ && checks_.read_dict(line)) return false;
  double rate = 0;
  // " phase1: 2723.84 sequences/second" of NVIDIA's pretraining or ": 28" of its SQuAD script
  // (corpus nvidia-dle-pytorch/lambda_1080ti_squad_base_fp32.log); a crash leaves the number out.
  if (Cursor(line).read(Past{"training throughput"}, Past{":"}, kBlanks, rate) ||
      Cursor(line).read(Past{"training_sequences_per_second :"}, kBlanks, rate)) {
    summary_ = Stated{rate, RateUnit::sequences_per_second, line.number};
    ended_ = true;
    if (const auto raw = number_after(line, "raw_train_time :")) training_s_ = *raw;
    if (const auto whole = number_after(line, "e2e_train_time :")) wall_s_ = *whole;
  } else if (const auto whole = number_after(line, "Total time taken")) {
    wall_s_ = *whole;
    ended_ = true;
  } else if (!read_trainer(line) && !read_evaluator(line)) {
    if (const auto command = shell_time(line)) {  // any command may be timed
      shell_s_ = *command;
      line_ = line.number;
    }
    return false;
  }
  line_ = line.number;
  return true;
}

bool ClosingLines::said_for(const RunDraft& run) const {
  return ended_ && run.last() != nullptr && line_ > run.last()->line;
}

void ClosingLines::give_to(RunDraft& run) {
  if (table_ && summary_) call_steps(summary_->line);
  if (summary_) run.log.summary = summary_;
  auto& batch = run.log.facts.global_batch_size;
  if (batch_ && !batch.known()) batch.set(*batch_, FactSource::log);
  if (training_s_) {
    run.log.totals.training_s = training_s_;
    checks_.judge(*training_s_, run);
  }
  if (alike_ > 0) {
    notices_.push_back(make_notice(NoticeCode::summaries_of_other_processes, line_, alike_ + 1));
  }
  if (wall_s_) run.log.totals.wall_s = wall_s_;
  if (!run.log.totals.wall_s && shell_s_) run.log.totals.wall_s = shell_s_;
  run.ended_well = run.ended_well || ended_;
  run.last_line = std::max(run.last_line, line_);
  for (Notice& notice : notices_) run.log.notices.push_back(std::move(notice));
  *this = ClosingLines{};
}

namespace {

// {"learning_rate": 4.8e-05, "loss": NaN, "step": 100}, as the Hugging Face scripts and Trainer of
// 2019 and 2020 print it (quoted/tqdm.finds_the_losses_that_the_first_trainers_print_as_json).
std::optional<double> loss_of_json(const Line& line) {
  constexpr std::string_view kLoss = "\"loss\": ";
  if (!has(line, "\"learning_rate\": ") || has(line, "\"log_history\"")) return std::nullopt;
  const auto at = line.text.find(kLoss);
  if (at == std::string_view::npos || line.text.find("\"step\": ", at) == line.text.npos) {
    return std::nullopt;
  }
  if (line.text.substr(at + kLoss.size()).starts_with("NaN")) return kUnknown;
  return number_after(line, kLoss);
}

}  // namespace

std::optional<double> loss_of_line(const Line& line) {
  if (const auto loss = loss_of_json(line)) return loss;
  if (has(line, "{'loss':")) return number_after(line, "{'loss':");
  if (has(line, "Step ") && has(line, ": Loss ")) {
    return number_after(line, ": Loss ");
  }
  if (has(line, "step_loss : ")) {
    return number_after(line, "step_loss : ");
  }
  return std::nullopt;
}

}  // namespace bertbench
