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
#include <optional>
#include <string>

#include "parsers/formats/format.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_gnmt {
namespace {

constexpr RateUnit kTokens = RateUnit::tokens_per_second;
constexpr Begin kRuns[] = {
    {.unit = IterationUnit::optimizer_step, .after_end = AfterEnd::reopens}};  // "Performance"

enum class Script { none, gnmt, transformer, transformer_xl };

struct Gnmt {
  // "TRAIN [0][100/3880]\tTime 0.330 (0.340)...": a batch, its time and the epoch's mean, which
  // leaves out the epoch's first iteration, whose own time is its value.
  bool batch_time(const Line& line, Emit emit) {
    Step at{.loss = number_after(line, "Loss/tok"), .unit = IterationUnit::micro_step};
    std::int64_t of_epoch = 0, batch = 0, total = 0;
    double value_s = 0, mean_s = 0, value = 0;
    if (!Cursor::after(line).read(of_epoch, "][", batch, "/", total, "]\tTime ", value_s, " (",
                                  mean_s) ||
        of_epoch > 1'000'000 || batch >= total || total > 1'000'000'000) {
      return false;
    }
    top_rank = std::max(top_rank, line.rank);
    if (of_epoch != epoch) begin_epoch(of_epoch, emit);
    epoch_batches = total;
    last_batch = std::max(last_batch, batch);
    at.step = of_epoch * total + batch + 1;
    Cursor rate(line);
    tokens = 0;
    if (rate.skip_past("Tok/s ")) rate.read(value, " (", tokens);  // the mean
    if (batch == 0) {
      if (script != Script::none && first != at.step) base_s += value_s;
      first = at.step;
      at.time_s = base_s;
    } else {
      const double so_far_s = mean_s * static_cast<double>(batch);
      epoch_s = std::max(epoch_s, so_far_s);
      at.time_s = base_s + so_far_s;
    }
    if (unclocked) at.time_s = kUnknown;
    at.clock = Clock{mean_s > 0 ? 0.0005 / mean_s * at.time_s : kUnknown, true};
    script = Script::gnmt;
    pairs = true;
    emit(at);
    return true;
  }

  // The batches after the last epoch's last line are taken at its mean: the counter holds them too.
  void begin_epoch(std::int64_t next, Emit emit) {
    if (next < epoch || (epoch >= 0 && next > epoch + 1)) {  // launched again, or a gap
      emit(kRuns[0]);
      script = Script::none;
      base_s = epoch_s = 0;
      last_batch = 0;
      unclocked = false;
      epoch = -1;
    }
    // Where only the first iteration of an epoch was printed, the time of the others is unknown.
    if (epoch >= 0 && next > epoch && last_batch == 0 && epoch_batches > 1) unclocked = true;
    base_s += epoch_s;
    if (last_batch > 0 && epoch_batches > last_batch + 1) {
      base_s += epoch_s / static_cast<double>(last_batch) *
                static_cast<double>(epoch_batches - 1 - last_batch);
    }
    epoch_s = 0;
    last_batch = 0;
    epoch = next;
  }

  bool performance(const Line& line, Emit emit) {
    const auto training = number_after(line, "Training:");
    if (!Cursor::after(line).integer() || !training || !has(line, "Tok/s") ||
        script == Script::none) {
      return false;
    }
    // More than the ranks that were shown: a part of the job's lines.
    if (tokens > 0 && *training / tokens > top_rank + 1.5) all_print = false;
    rates += *training;
    emit(Statement{.summary = Stated{rates / ++performances, kTokens}});
    emit(End{});
    return true;
  }

  // DLLogger of the first revision writes its own line format. "step ()" closes the run.
  bool transformer(const Line& line, Emit emit) {
    Cursor cursor = Cursor::after(line);
    if (!cursor.integer() || !cursor.literal(" | step ")) return false;
    if (cursor.literal("()")) return script == Script::transformer;
    const auto wall = number_after(line, "|walltime");
    Step at{.rate = number_after(line, "|tokens/s").value_or(kUnknown),
            .loss = number_after(line, "|avg loss"),
            .rate_unit = kTokens,
            .clock = Clock{1e-3, true}};
    if (!cursor.read(at.step) || !wall || at.step < 1) return false;
    at.time_s = *wall;
    script = Script::transformer;
    emit(at);
    return true;
  }

  // Word language models print batches of an epoch.
  bool transformer_xl(const Line& line, Emit emit) {
    Step at{.rate = number_after(line, "| tok/s").value_or(kUnknown),
            .loss = number_after(line, "| loss"),
            .rate_unit = kTokens};
    std::int64_t of_epoch = 0;
    if (!Cursor(line).read(Past{"| epoch "}, kBlanks, of_epoch, kBlanks, "step ", kBlanks,
                           at.step) ||
        at.step < 1 || !Cursor::after(line).read(kBlanks, at.each_s) || !(at.each_s > 0)) {
      return false;
    }
    at.each_s /= 1000;
    script = Script::transformer_xl;
    emit(at);
    return true;
  }

  bool end(const Line& line, Emit emit) {
    double value = 0;
    if (script == Script::none || !Cursor::after(line).read(kBlanks, value)) return false;
    if (has(line, "throughput")) {
      emit(Statement{.summary = Stated{value, kTokens}});
    } else {
      emit(Statement{.totals = {.wall_s = value}});
    }
    emit(End{});
    return true;
  }

  bool begins_xl(const Line& line) {
    lm_tfm |= line.at == 0;
    return line.at == 0;
  }

  // "    - batch_size : 64", "    - tgt_len : 256": with --local_batch_size, too, the script prints
  // the batch of all GPUs.
  template <std::optional<std::int64_t> Gnmt::*value>
  void setting(const Line& line) {
    if (!lm_tfm || script != Script::none || line.at != 0) return;
    if (const auto size = size_here(line)) this->*value = size;
  }

  // "Namespace(..., batch_chunk=1, batch_size=64, ...)", all that a run shows which fails early.
  void arguments(const Line& line) {
    if (!lm_tfm || script != Script::none) return;
    const auto take = [&](std::string_view key, std::optional<std::int64_t>& value) {
      if (const auto printed = count_of(line.text, {key})) value = printed;
    };
    take("batch_size", global_batch);
    take("batch_chunk", accumulation);
    take("tgt_len", length);
  }

  // GNMT's arguments; "math='manual_fp16'" is without a scaler of Apex's.
  void gnmt_arguments(const Line& line, Emit emit) {
    if (script != Script::none || accumulation) return;
    accumulation = size_here(line);
    all_print = accumulation && has(line, "log_all_ranks=True");
    Cursor cursor(line);
    if (!accumulation || !cursor.skip_past("math='")) return;
    cursor.literal("manual_");
    const auto name = cursor.until("'");
    if (name == "fp16" || name == "fp32" || name == "tf32") {
      emit.log_fact(&Facts::precision, std::string(*name));
    }
  }

  void facts(Facts& facts) const {
    facts.global_batch_size.set(global_batch, FactSource::log);
    facts.gradient_accumulation_steps.set(accumulation, FactSource::log);
    facts.sequence_length.set(length, FactSource::log);
  }

  void finish(Emit emit) {
    if (unclocked) {
      emit.note(NoticeCode::no_rate_in_log, "the time of each epoch's first iteration alone");
    }
    if (pairs && (top_rank > 0 || (top_rank == 0 && all_print))) {
      emit.log_fact(&Facts::world_size, std::int64_t{top_rank} + 1);
    }
    if (pairs) {
      emit.note(NoticeCode::counts_tokens, "Tok/s", "the tokens of both languages",
                "a sequence is a pair of sentences");
    } else if (script == Script::transformer_xl && global_batch) {
      emit.note(NoticeCode::counts_tokens, "Tok/s", "tokens", "a sequence has tgt_len of them");
    } else {
      emit.note(NoticeCode::counts_tokens, "Tok/s", "tokens",
                "a batch has no fixed number of sequences, so tokens/s and iterations/s are all "
                "that the log gives");
    }
  }

  Script script = Script::none;  ///< of the open run
  std::int64_t epoch = -1;
  double base_s = 0, epoch_s = 0;  ///< GNMT: seconds of the epochs before and of this one
  std::int64_t last_batch = 0, epoch_batches = 0;  ///< newest of the epoch; batches of an epoch
  std::int64_t first = -1;                         ///< counter of the epoch's first iteration
  double rates = 0, performances = 0;
  int top_rank = -1;                         ///< GNMT: every rank prints, or rank 0 alone
  bool all_print = false;                    ///< the arguments state the former
  double tokens = 0;                         ///< tokens/s of a rank, since the epoch began
  std::optional<std::int64_t> accumulation;  ///< GNMT, Transformer-XL
  bool unclocked = false;                    ///< GNMT: epochs too short for a second line
  bool pairs = false;                        ///< of sentences: GNMT's batch has a fixed number
  bool lm_tfm = false;                       ///< Transformer-XL's arguments follow
  std::optional<std::int64_t> global_batch, length;  ///< Transformer-XL: of all GPUs; tokens
};

constexpr Row kRows[] = {
    on<&Gnmt::begins_xl>("Experiment dir : LM-TFM"),
    on<&Gnmt::gnmt_arguments>("train_iter_size="),
    on<&Gnmt::setting<&Gnmt::global_batch>>("    - batch_size : "),
    on<&Gnmt::setting<&Gnmt::accumulation>>("    - batch_chunk : "),
    on<&Gnmt::setting<&Gnmt::length>>("    - tgt_len : "),
    on<&Gnmt::arguments>("batch_chunk="),
    on<[](Gnmt& s, const Line&) { return s.script == Script::gnmt; }>("VALIDATION ["),
    on<&Gnmt::batch_time>("TRAIN ["),
    on<&Gnmt::performance>("Performance: Epoch: "),
    on<&Gnmt::transformer>("Transformer | epoch "),
    on<&Gnmt::transformer_xl>("| ms/batch "),
    on<&Gnmt::end>("done training in "),
    on<&Gnmt::end>("Total training time"),
    on<&Gnmt::end>("Training throughput: "),
};

}  // namespace

extern const Format entry{.name = "gnmt",
                          .title = "NVIDIA GNMT, Transformer and Transformer-XL for PyTorch",
                          .reference =
                              "https://github.com/NVIDIA/DeepLearningExamples PyTorch/Translation; "
                              "PyTorch/LanguageModeling/Transformer-XL",
                          .framework = "pytorch",
                          .table = table_of<Gnmt>(kRows, kRuns)};

}  // namespace bertbench::format_gnmt
