// Convergence study: model quality (SQuAD exact match and F1) at the checkpoints of a pre-training
// in phases, against steps, hours and fine-tuning epochs; spread over seeds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"
#include "parsers/core/notice.h"

namespace bertbench {

/// One evaluation of one checkpoint. Absent = unknown.
struct Checkpoint {
  std::string source;                           ///< file, with its line: where a reader finds it
  std::optional<std::int64_t> step;             ///< optimizer steps of pre-training, all phases
  std::optional<std::int64_t> sequence_length;  ///< of the phase that wrote it
  std::optional<std::int64_t> phase;            ///< 1, 2 ...
  std::optional<std::int64_t> from_step;        ///< the phase-1 checkpoint that it went on from
  std::optional<double> hours;                  ///< of pre-training, all phases
  bool hours_calculated = false;                ///< from steps and seconds a step
  std::optional<double> epochs;                 ///< of fine-tuning
  std::optional<std::string> seed;              ///< of fine-tuning
  std::optional<double> exact_match, f1;        ///< percent
  std::optional<double> seconds_per_step;       ///< that hours and steps imply for its last phase
};

/// Mean and standard deviation (n - 1) of runs that differ in their seed only. Rows of one seed
/// count once, by their mean.
struct Stability {
  Checkpoint of;  ///< what the runs share
  int n = 0;      ///< seeds
  std::optional<double> exact_match_mean, exact_match_stddev, f1_mean, f1_stddev;
};

struct Study {
  std::vector<Checkpoint> checkpoints;  ///< in the order given
  std::vector<Stability> stability;     ///< groups of at least two seeds
  std::vector<Notice> notices;
};

/// The last exact match and F1 that a text prints, as SQuAD's evaluation, run_squad.py, the
/// Hugging Face examples and gluon-nlp write them: {"exact_match": 84.47, "f1": 90.97}, with either
/// quotes, `exact_match : 84.5`, `eval_f1 = 90.9`. Fractions up to 1 are not percent: both values
/// of a text, or of a row of a table, at most 1 are multiplied by 100.
struct SquadScore {
  std::optional<double> exact_match, f1;
};
[[nodiscard]] SquadScore squad_score(std::string_view text);

/// Adds what a file holds: tables (CSV, Markdown, HTML, or pasted in a text) with columns out of
/// step, phase, sequence_length, from_step, hours, epochs, seed, exact_match, f1, log (a file in
/// the folder of the table that holds the score); a file without such a table is a SQuAD log or
/// JSON whose path holds step, phase, seed and epochs (ckpt_8574, phase2, seed42, epochs2).
[[nodiscard]] Result<void> read_study(const std::string& path, Study& study);
/// Rows of every table of `text` that has such columns; false when none has.
[[nodiscard]] Result<bool> read_study_tables(std::string_view text, const std::string& path,
                                             Study& study);

/// Fills phases, parents, hours, implied seconds a step and stability. A table without a phase gets
/// it from the sequence lengths, shortest first; a phase-2 row without from_step belongs to the
/// phase-1 row above it. `seconds_per_step`: of a sequence length, for rows without hours.
void derive(Study& study, const std::map<std::int64_t, double>& seconds_per_step);

}  // namespace bertbench
