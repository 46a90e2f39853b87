#include "parsers/assemble/closing_lines.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/whole_number.h"

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

std::optional<double> TrainerChecks::seconds_of_evaluation(const Line& line) {
  const std::string_view text = trim(line.text);
  if (!text.starts_with("{'") || text.starts_with("{'train_") || has_text(text, "'loss':")) {
    return std::nullopt;
  }
  const auto seconds = number_after(line, "_runtime':");
  if (!seconds) return std::nullopt;
  const auto epoch = number_after(line, "'epoch':");
  return epoch && *epoch > 0 ? std::max(*seconds, 0.0) : 0;
}

bool TrainerChecks::read_dict(const Line& line) {
  const auto seconds = seconds_of_evaluation(line);
  if (!seconds) return false;
  const std::string_view text = trim(line.text);
  if (text != last_) {
    last_ = std::string(text);
    evaluating_s_ += *seconds;
  }
  return true;
}

bool TrainerChecks::read_member(const Line& line) {
  if (line.text.starts_with("\"epoch\": ")) {
    epochs_ = number_after(line, "\"epoch\":");
    // transformers before 5 rounds it to two digits after the point.
    const auto point = line.text.find('.');
    const auto end = line.text.find_last_of("0123456789");
    const bool fine =
        point != std::string_view::npos && end != std::string_view::npos && end > point + 2;
    epoch_error_ = fine ? 0 : 0.005;
    return true;
  }
  if (line.text.starts_with("\"train_samples\": ")) {
    samples_ = number_after(line, "\"train_samples\":");
    return true;
  }
  const auto colon = line.text.find("_runtime\": ");
  if (colon == std::string_view::npos || line.text.starts_with("\"train_")) return false;
  const auto seconds = number_after(line, "_runtime\":");
  if (seconds && *seconds > 0) evaluating_s_ += *seconds;
  return true;
}

void TrainerChecks::end_session(bool timely) {
  evaluated_s_ = timely ? evaluating_s_ : 0;
  evaluating_s_ = 0;
}

bool TrainerChecks::outlast(double runtime) const {
  constexpr double kRuntimeExcess = 1.01;  // times the runtime; less may be rounding
  return runtime > 0 && evaluated_s_ > kRuntimeExcess * runtime;
}

void TrainerChecks::judge(double runtime, const std::optional<Stated>& rate,
                          std::vector<Notice>& notices) const {
  if (!rate || !(runtime > 0)) return;
  const Stated& stated = *rate;
  // Share: evaluations that took less, and last batches that were less full, get no notice
  // (quoted/trainer_evaluations.tells_what_evaluations_took_of_the_runtime and
  // quoted/huggingface.tells_where_batches_that_were_not_full_are_counted_as_full).
  constexpr double kLeastNoticeShare = 0.02;
  const double share = evaluated_s_ / runtime;
  if (share >= kLeastNoticeShare && share < 1) {
    notices.push_back(make_notice(NoticeCode::closing_rate_holds_evaluations, stated.line,
                                  evaluated_s_, runtime, 100 * share, stated.value / (1 - share)));
  }
  if (!(epochs_ > 0 && samples_ > 0)) return;
  const double done = *samples_ * *epochs_ / runtime;
  const double rounding = epoch_error_ / *epochs_ + 5e-4 / stated.value;
  const double above = stated.value / done - 1;
  if (!(above > kLeastNoticeShare + rounding)) return;
  notices.push_back(make_notice(NoticeCode::closing_rate_above_samples, stated.line,
                                shortest(stated.value), 100 * above, done));
}

std::optional<std::int64_t> TrainerChecks::sequences_per_step(double samples, double steps) {
  constexpr double kMostError = 0.1;  // of a sequence: within it lies one whole number
  if (!(samples > 0) || !(steps > 0) || !(samples < 1e12)) return std::nullopt;
  // Three decimals, and since transformers 5.0 four digits.
  const auto rounding = [](double rate) {
    return std::max(5e-4, 5e-4 * std::pow(10, std::floor(std::log10(rate)))) / rate;
  };
  const double ratio = samples / steps;
  const double error = ratio * (rounding(samples) + rounding(steps));
  return error > kMostError ? std::nullopt : whole_near(ratio, error);
}

std::optional<double> ClosingLines::runtime_of_dict(const Line& line) {
  if (has(line, "'loss':") || has(line, "{'eval_")) return std::nullopt;
  return number_after(line, "'train_runtime':");
}

// {'train_runtime': 273.0148, 'train_samples_per_second': 3.663, 'train_steps_per_second': 0.007}
// and, in a table, "train_runtime            = 0:14:31.66".
bool ClosingLines::read_trainer(const Line& line) {
  if (const auto runtime = runtime_of_dict(line)) {
    const auto samples = number_after(line, "'train_samples_per_second':");
    trainer_ = stated_.ended = true;
    if (stated_.totals.training_s && stated_.summary) {
      // Another process prints the same, or this one what train() returned
      // (quoted/huggingface.the_printed_return_of_train_is_no_other_process).
      if (!has(line, "TrainOutput(")) ++alike_;
      return true;
    }
    stated_.totals.training_s = *runtime;
    checks_.end_session(true);
    const auto steps = number_after(line, "'train_steps_per_second':");
    if (samples && steps) stated_.batch = TrainerChecks::sequences_per_step(*samples, *steps);
    // transformers from 5.0 on, which quotes its values, counts samples wherever it prints them
    // (quoted/huggingface.counts_samples_in_releases_that_quote_their_values). "0.002" of three
    // decimals may be a quarter more or less: the steps and the runtime are finer.
    constexpr double kHalfDigit = 5e-4, kCoarse = 0.05;  // of a rate; a share of it
    if (samples && kHalfDigit > kCoarse * *samples && !has(line, "_per_second': '")) {
      return true;
    }
    if (samples &&
        (has(line, "'train_steps_per_second':") || has(line, "'train_samples_per_second': '"))) {
      stated_.summary = Stated{*samples, RateUnit::sequences_per_second, line.number};
    } else if (samples) {
      // Releases before train_steps_per_second (before about May 2021) divided the steps by the
      // runtime (corpus huggingface/tunbert_train_results.json).
      stated_.summary = Stated{*samples, RateUnit::unknown, line.number};
      call_steps(line.number);
    }
    return true;
  }
  if (const auto runtime = runtime_of_table(line)) {
    trainer_ = stated_.ended = true;
    if (!stated_.totals.training_s) stated_.totals.training_s = *runtime;
    return true;
  }
  double samples = 0;
  if (Cursor(line).read(Past{"train_samples_per_second "}, kBlanks, "=", kBlanks, samples)) {
    if (!stated_.summary) {
      stated_.summary = Stated{samples, RateUnit::sequences_per_second, line.number};
      table_ = true;
    }
    return true;
  }
  if (!Cursor(line).read(Past{"train_steps_per_second "}, kBlanks, "=")) return false;
  table_ = false;  // a release that has both rates: the one before is of samples
  return true;
}

void ClosingLines::call_steps(std::int64_t line) {
  stated_.summary->unit = RateUnit::iterations_per_second;
  stated_.notices.push_back(make_notice(NoticeCode::old_release_counts_steps, line));
}

// "num_samples: 24, ..., avg_duration: 12.5, avg_throughput: 15.363", then with fewer digits
// "Throughput: 15.36 samples/sec, TFLOPS per GPU by Megatron: 101.20, ..." of Colossal-AI's
// evaluator (quoted/colossalai.takes_the_evaluators_throughput_with_all_its_digits).
bool ClosingLines::read_evaluator(const Line& line) {
  const bool exact = has(line, "num_samples: ") && has(line, "avg_duration: ");
  if (!exact && !has(line, " samples/sec, TFLOPS per GPU")) return false;
  const auto rate = number_after(line, exact ? "avg_throughput: " : "Throughput: ");
  if (!rate || !(*rate > 0)) return false;
  stated_.ended = true;
  if (stated_.summary) return true;
  stated_.summary = Stated{*rate, RateUnit::sequences_per_second, line.number};
  stated_.notices.push_back(make_notice(NoticeCode::warmup_left_out_by_evaluator, line.number));
  return true;
}

bool ClosingLines::unlike(const Line& line) const {
  if (!stated_.totals.training_s || !stated_.summary) return false;
  auto runtime = runtime_of_dict(line);
  if (!runtime) runtime = runtime_of_table(line);
  // Processes of one run end within a second or 2 % of each other: 12.51 and 12.53 s, not 12.5
  // and 9.2 s (quoted/huggingface.tells_trainings_that_state_their_runtimes_one_after_the_other).
  constexpr double kClosingTimeGap = 0.02;
  return runtime && std::abs(*runtime - *stated_.totals.training_s) >
                        std::max(1.0, kClosingTimeGap * *stated_.totals.training_s);
}

bool ClosingLines::see(const Line& line) {
  if (!stated_.totals.training_s && checks_.read_dict(line)) return false;
  double rate = 0;
  // " phase1: 2723.84 sequences/second" of NVIDIA's pretraining or ": 28" of its SQuAD script
  // (corpus nvidia-dle-pytorch/lambda_1080ti_squad_base_fp32.log); a crash leaves the number out.
  if (Cursor(line).read(Past{"training throughput"}, Past{":"}, kBlanks, rate) ||
      Cursor(line).read(Past{"training_sequences_per_second :"}, kBlanks, rate)) {
    stated_.summary = Stated{rate, RateUnit::sequences_per_second, line.number};
    stated_.ended = true;
    if (const auto raw = number_after(line, "raw_train_time :")) stated_.totals.training_s = *raw;
    if (const auto whole = number_after(line, "e2e_train_time :")) stated_.totals.wall_s = *whole;
  } else if (const auto whole = number_after(line, "Total time taken")) {
    stated_.totals.wall_s = *whole;
    stated_.ended = true;
  } else if (!read_trainer(line) && !read_evaluator(line)) {
    if (const auto command = shell_time(line)) {  // any command may be timed
      shell_s_ = *command;
      stated_.line = line.number;
    }
    return false;
  }
  stated_.line = line.number;
  return true;
}

Closing ClosingLines::take() {
  if (table_ && stated_.summary) call_steps(stated_.summary->line);
  Closing out = std::move(stated_);
  std::vector<Notice> others = std::exchange(out.notices, {});
  Totals& totals = out.totals;
  if (totals.training_s) checks_.judge(*totals.training_s, out.summary, out.notices);
  std::ranges::move(others, std::back_inserter(out.notices));
  if (alike_ > 0) {
    out.notices.push_back(
        make_notice(NoticeCode::summaries_of_other_processes, out.line, alike_ + 1));
  }
  if (!totals.wall_s) totals.wall_s = shell_s_;
  *this = ClosingLines{};
  return out;
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
  return number_after(line, kLoss);
}

}  // namespace

std::optional<double> loss_of_line(const Line& line) {
  if (const auto loss = loss_of_json(line)) return loss;
  if (const auto loss = number_after(line, {"{'loss':", "step_loss : "})) return loss;
  return has(line, "Step ") ? number_after(line, ": Loss ") : std::nullopt;
}

}  // namespace bertbench
