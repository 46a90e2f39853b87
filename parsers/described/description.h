// Description: what a format file (bertbench.format/1) holds, in the terms of the parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/core/error.h"
#include "parsers/core/facts.h"
#include "parsers/core/outcome.h"
#include "parsers/core/run_log.h"
#include "parsers/described/field.h"
#include "parsers/described/line_pattern.h"

namespace bertbench {

struct DescribedRate {
  RateUnit unit = RateUnit::unknown;
  bool of_one_gpu = false;
};

/// Where a counter begins. Records count from 1.
enum class CountsFrom { one, zero, first };  ///< first: from 0 where the first line of a run is 0

struct DescribedNote {
  enum class When {
    used,        ///< a line was taken
    gaps,        ///< steps lie between two lines of own_step
    no_gaps,     ///< a line was taken, and the counter goes on by one from line to line
    too_coarse,  ///< a value was below "least"
  } when = When::used;
  std::string text;
};

/// Of DescribedRule::step_iterations: more sequences than an epoch has.
inline constexpr std::int64_t kMostStepIterations = 1'000'000'000;

/// What of one kind of line is taken.
struct DescribedRule {
  std::string literal;
  std::size_t literal_index = 0;  ///< among those of the description
  /// At least one of the three gives values.
  std::shared_ptr<const LinePattern> pattern;  ///< one for all rules of a list of literals
  struct Key {
    std::vector<std::string> path;  ///< of a JSON member; one text for `after`
    Field field = Field::step;
    double factor = 1;  ///< of this member alone
  };
  std::vector<Key> json, after;

  struct Factor {
    Field field = Field::step;
    double factor = 1;
    std::vector<std::pair<std::string, double>> by_unit;
  };
  std::vector<Factor> scale;
  std::vector<std::pair<Field, double>> least;

  WorkKind kind = WorkKind::training;
  std::optional<IterationUnit> iteration;
  std::optional<DescribedRate> rate;
  Facts facts;
  CountsFrom counts_from = CountsFrom::one;
  std::int64_t step_iterations = 1;  ///< that one step of the counter stands for
  bool wraps = false;                ///< the counter begins again with each epoch
  bool mean_through_epochs = false;  ///< a mean of all so far goes on with the next epoch
  bool own_step = false;   ///< its time is that of its own step, not of those since the line before
  bool own_epoch = false;  ///< its elapsed time begins again with each epoch
  bool begins_run = false;  ///< what follows is another run's
  bool within_run = false;  ///< means nothing where no run is open
  bool continues = false;   ///< adds to the record of the line before
  bool rows = false;        ///< its literal is on the head of a table whose rows it reads
  bool fallback = false;    ///< counts where no other rule gives records
  bool interrupts = false;  ///< is of an evaluation: its time is no training
  bool parts_runs = false;  ///< where the counter begins again after it, another run does
  bool whole = false;       ///< its pattern reads Line::whole, where the line has that
  std::optional<Status> outcome;
  std::optional<DescribedNote> note;

  /// What follows from the above: its lines give a step, any field, or facts.
  bool gives_step = false, gives_field = false, states_facts = false;
  /// Whether a line of the rule can give the field.
  [[nodiscard]] bool gives(Field field) const;
};

struct Description {
  std::string name, title, reference;
  IterationUnit iteration = IterationUnit::unknown;
  DescribedRate rate;
  Facts facts;                        ///< of every run of this trainer
  bool own_facts = false;             ///< RunDraft::own_facts
  bool day_first = false;             ///< in dates with slashes
  Commas commas = Commas::thousands;  ///< of numbers that do not count
  bool yields = false;                ///< Format::yields
  std::vector<std::string> notes;
  std::vector<std::string> literals;  ///< each once
  std::vector<DescribedRule> rules;
};

enum class Checks {
  all,   ///< of a user's file: patterns and examples too
  none,  ///< of a built-in one, whose checks were made at build: patterns compile when they are
         ///< used
};
/// Errors name "<source>:<line>", the JSON path, the rule that was broken and the nearest name.
[[nodiscard]] Result<std::unique_ptr<const Description>> read_description(
    const std::string& text, const std::string& source, Checks checks = Checks::all);

}  // namespace bertbench
