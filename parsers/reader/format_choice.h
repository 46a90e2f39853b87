// Which format gives the runs of a log when several find something in it.
//
// Logs are mixtures: a Hugging Face run under DeepSpeed draws tqdm bars, prints the Trainer's dicts
// and DeepSpeed's timer lines; NVIDIA's BERT bars and DLLogger's lines (corpus
// nvidia-dle-pytorch/lambda_8xa4000_squad_large_fp32.log). Each format reads its own lines; one of
// them gives the runs that are shown, the others are named in a notice. The rule, first difference
// decides:
//   0. a record or a statement of the user's own format (--format-file), or of the one whose run
//      begins with the first line of the log (what a tracker logged); samples/s over the
//      official time of a benchmark before records of iterations only;
//   1. what the training runs hold: records with a clock or step times, records with printed rates,
//      records with losses only, no record but a closing statement, a run of which it has lines
//      only (or one record, which has a clock and nothing else), lines of none;
//   2. ten records or more with a clock that is fine enough for 1 % of the run before a clock that
//      is not (a bar's elapsed field shows whole seconds) or fewer records;
//   3. more lines of the format;
//   4. the order of the list in parsers/CMakeLists.txt.
#pragma once

#include <cstdint>

namespace bertbench {

class RunBuilder;
class RunDraft;

struct Evidence {
  enum Kind { nothing, lines, statement, losses, rates, times };
  Kind kind = nothing;
  bool given = false;     ///< the user's own format, or that of the file
  bool official = false;  ///< sequences/s by the job's official statement
  bool records = false;
  bool counts = false;  ///< sequences or tokens, not only iterations
  bool fine_clock = false;
  std::int64_t matched = 0;  ///< lines of the format

  /// Better than `other`, which stands earlier in the list.
  [[nodiscard]] bool beats(const Evidence& other) const;
};

/// It has records, none of them with a time or a rate, and it states no closing rate.
[[nodiscard]] bool has_losses_only(const RunDraft& run);

[[nodiscard]] Evidence evidence_of(const RunBuilder& found, std::int64_t matched);

/// Evaluations and predictions whose sequences/s a format states that does not give the log's runs
/// are shown all the same, where the one that does (`to`) states none of that kind: the bar of an
/// evaluation counts batches, the Hugging Face Trainer's dict samples
/// (quoted/trainer_evaluations.tells_the_rates_of_evaluations_next_to_the_bars_that_lead). Both
/// have finished.
void move_stated_evaluations(RunBuilder& from, RunBuilder& to);

/// How the job ended by its official statement (RunDraft::official_end; MLPerf's run_stop), for the
/// training runs before it that another format reads
/// (quoted/several_runs.end_as_the_jobs_official_statement_says).
void copy_official_end(const RunBuilder& from, RunBuilder& to);

}  // namespace bertbench
