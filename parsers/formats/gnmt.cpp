// gnmt: NVIDIA's translation and language modelling examples for PyTorch.
//
//   0: TRAIN [0][10/112]\tTime 0.503 (0.881)\tData 2.35e-04 (2.70e-04)\tTok/s 34950 (34830)\t...
//   0: Performance: Epoch: 0\tTraining: 72059 Tok/s\tValidation: 132104 Tok/s           (GNMT)
//   Transformer | epoch 0 | step 10 |avg loss 16.122 |avg tokens 4746.000 |tokens/s 34029.263
//       |walltime 9.759 |                                                        (Transformer)
//   | epoch   1 step       10 | batches     10 / 2000 | lr 5.000e-05 | ms/batch 1016.5 | tok/s
//       22661 | loss 10.10 | ppl 24343.01                                      (Transformer-XL)
//
// Tokens depend on the batch and are no sequences: rates stay tokens/s, and iterations/s follow
// from the clocks; only Transformer-XL's batch has a fixed number of sequences. GNMT prints value
// (mean since the epoch's second iteration) of one rank; the line Performance is of all ranks.
// VALIDATION, TEST and Translated lines are no training.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"TRAIN [",
                                         "Performance: Epoch: ",
                                         "Transformer | ",
                                         "| ms/batch ",
                                         "done training in ",
                                         "Total training time",
                                         "Training throughput: ",
                                         "VALIDATION [",
                                         "train_iter_size=",
                                         "Experiment dir : LM-TFM",
                                         "    - batch_size : ",
                                         "    - tgt_len : ",
                                         "    - batch_chunk : ",
                                         "batch_chunk="};

/// "TRAIN [0][100/3880]\tTime 0.330 (0.340)...": a batch, its time and the epoch's mean.
struct TrainBatch {
  std::int64_t epoch = 0, batch = 0, total = 0;
  double value_s = 0, mean_s = 0;
};

std::optional<TrainBatch> read_batch(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("TRAIN [")) return std::nullopt;
  const auto epoch = cursor.integer();
  if (!epoch || !cursor.literal("][")) return std::nullopt;
  const auto batch = cursor.integer();
  if (!batch || !cursor.literal("/")) return std::nullopt;
  const auto total = cursor.integer();
  if (!total || !cursor.literal("]\tTime ")) return std::nullopt;
  const auto value = cursor.number();
  if (!value || !cursor.literal(" (")) return std::nullopt;
  const auto mean = cursor.number();
  if (!mean || *epoch < 0 || *epoch > 1'000'000 || *batch < 0 || *total < 1 || *batch >= *total ||
      *total > 1'000'000'000) {
    return std::nullopt;
  }
  return TrainBatch{*epoch, *batch, *total, *value, *mean};
}

/// "Tok/s 34950 (34830)": the mean.
double bracketed_tokens(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("Tok/s ") || !cursor.number() || !cursor.literal(" (")) return 0;
  return cursor.number().value_or(0);
}

class GnmtParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_gnmt(const Line& line, RunBuilder& out);
  void begin_epoch(std::int64_t epoch, RunBuilder& out);
  bool see_performance(const Line& line, RunBuilder& out);
  bool see_transformer(const Line& line, RunBuilder& out);
  bool see_transformer_xl(const Line& line, RunBuilder& out);
  bool see_end(const Line& line, RunBuilder& out);
  void see_argument(const Line& line);
  static void see_math(const Line& line, Facts& facts);
  void tell_arguments(Facts& facts) const;
  RunDraft& put(Sample sample, IterationUnit unit, RunBuilder& out);

  std::int64_t epoch_ = -1, step_ = -1;
  double base_s_ = 0, epoch_s_ = 0;          ///< GNMT: seconds of the epochs before and of this one
  std::int64_t last_batch_ = 0, total_ = 0;  ///< newest of the epoch; batches of an epoch
  std::int64_t first_ = -1;                  ///< counter of the epoch's first iteration
  double performance_ = 0, performances_ = 0;
  int top_rank_ = -1;                           ///< GNMT: every rank prints, or rank 0 alone
  bool all_print_ = false;                      ///< the arguments say the former
  double tokens_ = 0;                           ///< tokens/s of a rank, since the epoch began
  std::optional<std::int64_t> accumulation_;    ///< GNMT, Transformer-XL
  bool unclocked_ = false;                      ///< GNMT: epochs too short for a second line
  bool pairs_ = false;                          ///< of sentences: GNMT's batch has a fixed number
  bool lm_tfm_ = false;                         ///< Transformer-XL's arguments follow
  std::optional<std::int64_t> batch_, length_;  ///< Transformer-XL: of all GPUs; tokens
  enum class Script { none, gnmt, transformer, transformer_xl } script_ = Script::none;
};

RunDraft& GnmtParser::put(Sample sample, IterationUnit unit, RunBuilder& out) {
  RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && (open->goes_back(sample))) {
    out.close(WorkKind::training);
    step_ = -1;
  }
  if (sample.iterations == 0 && step_ >= 0 && sample.step > step_) {
    sample.iterations = sample.step - step_;
  }
  step_ = std::max(step_, sample.step);
  RunDraft& draft = out.run(WorkKind::training, sample.line);
  draft.log.iteration_unit = unit;
  draft.ended_well = false;  // "Performance" ended an epoch
  draft.add(sample);
  return draft;
}

bool GnmtParser::see_gnmt(const Line& line, RunBuilder& out) {
  if (line.text.find("VALIDATION [") != std::string_view::npos) return script_ == Script::gnmt;
  const auto at = read_batch(line);
  if (!at) return false;
  script_ = Script::gnmt;
  pairs_ = true;
  top_rank_ = std::max(top_rank_, line.rank);
  if (at->epoch != epoch_) begin_epoch(at->epoch, out);
  total_ = at->total;
  last_batch_ = std::max(last_batch_, at->batch);
  Sample sample;
  sample.step = at->epoch * at->total + at->batch + 1;
  sample.line = line.number;
  sample.rank = line.rank;
  sample.loss = number_after(line, "Loss/tok");
  tokens_ = bracketed_tokens(line);
  // The mean leaves out the epoch's first iteration, whose own time is its value.
  const bool first_of_run = out.open(WorkKind::training) == nullptr;
  if (at->batch == 0) {
    if (!first_of_run && first_ != sample.step) base_s_ += at->value_s;
    first_ = sample.step;
    sample.time_s = base_s_;
  } else {
    const double so_far_s = at->mean_s * static_cast<double>(at->batch);
    epoch_s_ = std::max(epoch_s_, so_far_s);
    sample.time_s = base_s_ + so_far_s;
  }
  if (unclocked_) sample.time_s = kUnknown;
  RunDraft& draft = put(sample, IterationUnit::micro_step, out);
  draft.log.clock_is_wall = true;
  if (at->mean_s > 0 && !unclocked_) {
    draft.log.clock_resolution_s = 0.0005 / at->mean_s * sample.time_s;
  }
  return true;
}

// The batches after the last epoch's last line are taken at its mean: the counter holds them too.
void GnmtParser::begin_epoch(std::int64_t epoch, RunBuilder& out) {
  if (epoch < epoch_ || (epoch_ >= 0 && epoch > epoch_ + 1)) {  // launched again, or a gap
    out.close(WorkKind::training);
    step_ = -1;
    base_s_ = epoch_s_ = 0;
    last_batch_ = 0;
    unclocked_ = false;
    epoch_ = -1;
  }
  // Where only the first iteration of an epoch was printed, the time of the others is unknown.
  if (epoch_ >= 0 && epoch > epoch_ && last_batch_ == 0 && total_ > 1) unclocked_ = true;
  base_s_ += epoch_s_;
  if (last_batch_ > 0 && total_ > last_batch_ + 1) {
    base_s_ +=
        epoch_s_ / static_cast<double>(last_batch_) * static_cast<double>(total_ - 1 - last_batch_);
  }
  epoch_s_ = 0;
  last_batch_ = 0;
  epoch_ = epoch;
}

bool GnmtParser::see_performance(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("Performance: Epoch: ") || !cursor.integer()) return false;
  const auto training = number_after(line, "Training:");
  if (!training || line.text.find("Tok/s") == std::string_view::npos) return false;
  RunDraft* run = out.open(WorkKind::training);
  if (run == nullptr) return false;
  run->ended_well = true;
  run->last_line = line.number;
  // More than the ranks that were shown: a part of the job's lines.
  if (tokens_ > 0 && *training / tokens_ > top_rank_ + 1.5) all_print_ = false;
  performance_ += *training;
  performances_ += 1;
  run->log.summary = Stated{performance_ / performances_, RateUnit::tokens_per_second, line.number};
  return true;
}

// DLLogger of the first revision writes its own line format. "step ()" closes the run.
bool GnmtParser::see_transformer(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("Transformer | epoch ") || !cursor.integer()) return false;
  if (!cursor.literal(" | step ")) return false;
  const auto loss = number_after(line, "|avg loss");
  const auto step = cursor.integer();
  if (!step) return cursor.literal("()") && script_ == Script::transformer;
  const auto wall = number_after(line, "|walltime");
  if (!wall || *step < 1 || *step > 1'000'000'000'000) return false;
  script_ = Script::transformer;
  Sample sample;
  sample.step = *step;
  sample.rate = number_after(line, "|tokens/s").value_or(kUnknown);
  sample.time_s = *wall;
  sample.loss = loss;
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = put(sample, IterationUnit::optimizer_step, out);
  draft.log.rate_unit = RateUnit::tokens_per_second;
  draft.log.clock_is_wall = true;
  draft.log.clock_resolution_s = 1e-3;
  return true;
}

bool GnmtParser::see_transformer_xl(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("| epoch ")) return false;
  cursor.blanks();
  if (!cursor.integer()) return false;
  cursor.blanks();
  if (!cursor.literal("step ")) return false;  // word language models print batches of an epoch
  cursor.blanks();
  const auto step = cursor.integer();
  const auto each = number_after(line, "| ms/batch");
  if (!step || !each || *step < 1 || *step > 1'000'000'000'000 || !(*each > 0)) return false;
  script_ = Script::transformer_xl;
  Sample sample;
  sample.step = *step;
  sample.iterations = step_ >= 0 && *step > step_ ? *step - step_ : 0;
  const std::int64_t steps = sample.iterations > 0 ? sample.iterations : *step;
  sample.seconds = *each / 1000 * static_cast<double>(steps);
  sample.rate = number_after(line, "| tok/s").value_or(kUnknown);
  sample.loss = number_after(line, "| loss");
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = put(sample, IterationUnit::optimizer_step, out);
  draft.log.rate_unit = RateUnit::tokens_per_second;
  return true;
}

bool GnmtParser::see_end(const Line& line, RunBuilder& out) {
  if (script_ == Script::none) return false;
  RunDraft* run = out.open(WorkKind::training);
  if (run == nullptr) return false;
  if (const auto seconds = number_after(line, "done training in ")) {
    run->log.totals.wall_s = *seconds;
  } else if (const auto whole = number_after(line, "Total training time")) {
    run->log.totals.wall_s = *whole;
  } else if (const auto tokens = number_after(line, "Training throughput: ")) {
    run->log.summary = Stated{*tokens, RateUnit::tokens_per_second, line.number};
  } else {
    return false;
  }
  run->ended_well = true;
  run->last_line = line.number;
  return true;
}

// "    - batch_size : 64", "    - tgt_len : 256": with --local_batch_size, too, the script prints
// the batch of all GPUs.
void GnmtParser::see_argument(const Line& line) {
  const auto keep = [&](std::string_view key, std::optional<std::int64_t>& value) {
    if (!line.text.starts_with(key)) return;
    if (const auto told = size_after(line, key)) value = told;
  };
  keep("    - batch_size :", batch_);
  keep("    - batch_chunk :", accumulation_);
  keep("    - tgt_len :", length_);
  if (!has(line, "batch_chunk=")) return;
  // "Namespace(..., batch_chunk=1, batch_size=64, ...)", all that a run shows which fails early.
  const auto take = [&](std::string_view key, std::optional<std::int64_t>& value) {
    const auto told = argument(line.text, key);
    if (told && count(*told)) value = count(*told);
  };
  take("batch_size", batch_);
  take("batch_chunk", accumulation_);
  take("tgt_len", length_);
}

// "math='fp16'", of GNMT's arguments; manual_fp16 is without a scaler of Apex's.
void GnmtParser::see_math(const Line& line, Facts& facts) {
  Cursor cursor(line);
  if (!cursor.skip_past("math='")) return;
  cursor.literal("manual_");
  const auto name = cursor.until("'");
  if (name == "fp16" || name == "fp32" || name == "tf32") {
    facts.precision.set(std::string(*name), FactSource::log);
  }
}

bool GnmtParser::parse(const Line& line, RunBuilder& out) {
  if (line.text.starts_with("Experiment dir : LM-TFM")) {  // Transformer-XL begins
    lm_tfm_ = true;
    return true;
  }
  if (script_ == Script::none && !accumulation_) {
    accumulation_ = size_after(line, "train_iter_size=");
    all_print_ = accumulation_ && has(line, "log_all_ranks=True");
    if (accumulation_) see_math(line, out.facts);
  }
  if (lm_tfm_ && script_ == Script::none) see_argument(line);
  return see_gnmt(line, out) || see_performance(line, out) || see_transformer(line, out) ||
         see_transformer_xl(line, out) || see_end(line, out);
}

void GnmtParser::tell_arguments(Facts& facts) const {
  if (batch_) facts.global_batch_size.set(*batch_, FactSource::log);
  if (accumulation_) facts.gradient_accumulation_steps.set(*accumulation_, FactSource::log);
  if (length_) facts.sequence_length.set(*length_, FactSource::log);
}

void GnmtParser::finish(RunBuilder& out) {
  out.facts.framework.set("pytorch", FactSource::log);
  if (out.drafts().empty()) tell_arguments(out.facts);  // failed before its first iteration
  for (const auto& draft : out.drafts()) {
    if (draft->count() == 0) continue;
    if (unclocked_) {
      draft->log.notices.push_back(make_notice(NoticeCode::no_rate_in_log, 0,
                                               "the time of each epoch's first iteration alone"));
    }
    if (script_ == Script::transformer_xl && batch_) {
      tell_arguments(draft->log.facts);
      draft->log.notices.push_back(make_notice(NoticeCode::counts_tokens, 0, "Tok/s", "tokens",
                                               "a sequence has tgt_len of them"));
      continue;
    }
    if (pairs_ && accumulation_) {
      draft->log.facts.gradient_accumulation_steps.set(*accumulation_, FactSource::log);
    }
    if (pairs_ && (top_rank_ > 0 || (top_rank_ == 0 && all_print_)))
      draft->log.facts.world_size.set(top_rank_ + 1, FactSource::log);
    draft->log.notices.push_back(
        pairs_ ? make_notice(NoticeCode::counts_tokens, 0, "Tok/s", "the tokens of both languages",
                             "a sequence is a pair of sentences")
               : make_notice(NoticeCode::counts_tokens, 0, "Tok/s", "tokens",
                             "a batch has no fixed number of sequences, so tokens/s and "
                             "iterations/s are all that the log gives"));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<GnmtParser>(); }

}  // namespace

extern const Format format_gnmt;
const Format format_gnmt = {"gnmt", "NVIDIA GNMT, Transformer and Transformer-XL for PyTorch",
                            "https://github.com/NVIDIA/DeepLearningExamples PyTorch/Translation; "
                            "PyTorch/LanguageModeling/Transformer-XL",
                            kAnchors, make};

}  // namespace bertbench
