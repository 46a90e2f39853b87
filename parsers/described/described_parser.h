// DescribedParser: the lines of a description's rules become records, facts and statements.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "parsers/assemble/run_builder.h"
#include "parsers/described/counters.h"
#include "parsers/described/description.h"
#include "parsers/described/line_values.h"
#include "parsers/formats/format.h"

namespace bertbench {

/// A rate as printed, and what its last digit stands for.
struct PrintedRate {
  double value = kUnknown, digit = kUnknown;
};

class DescribedParser final : public LineParser {
 public:
  explicit DescribedParser(const Description& description);

  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;
  [[nodiscard]] bool wants_every_line() const override { return table_ != nullptr; }

 private:
  /// What is known of the open run of a kind.
  struct Track {
    StepCounter counter;
    CounterFacts facts;
    PausedClock clock;
    /// The samples of the first step wait for the second: how many iterations they cover is their
    /// distance, where the line does not say.
    std::vector<Sample> first;
    double first_mean_s = kUnknown;
    bool first_is_own = false;    ///< its time is that of one step
    double elapsed_s = kUnknown;  ///< newest, as printed
    double earlier_s = 0;         ///< of the epochs before, where elapsed begins again with each
    double steps_of_mean = 0;     ///< of the newest line, for Field::mean_so_far
    std::int64_t last_step = -1;
    PrintedRate rate;                        ///< of the newest record
    RateUnit rate_unit = RateUnit::unknown;  ///< of the rates taken
    bool covers_gap =
        false;  ///< the newest record is of more steps than the one that it has the time of
    std::int64_t settings = 0;  ///< those that its facts hold already
    bool fallback = false;      ///< its records are those of a fallback
  };
  [[nodiscard]] Track& track(WorkKind kind) { return tracks_[static_cast<std::size_t>(kind)]; }

  bool read_line(const DescribedRule& rule, const Line& line);
  bool take(const DescribedRule& rule, const Line& line, RunBuilder& out);
  void take_settings(const DescribedRule& rule);
  void add_settings(Track& of, RunDraft& draft);
  bool add_record(const DescribedRule& rule, const Line& line, RunBuilder& out);
  bool continue_record(const DescribedRule& rule, const Line& line, RunBuilder& out);
  bool take_statement(const DescribedRule& rule, const Line& line, RunBuilder& out);
  void take_outcome(const DescribedRule& rule, const Line& line, RunDraft& draft, RunBuilder& out);
  void take_average(const DescribedRule& rule, const Line& line, RunDraft& draft,
                    const RunBuilder& out);
  void take_counters(Track& of, RunDraft& draft);

  [[nodiscard]] Sample sample_of(const Line& line) const;
  void take_time(Track& of, Sample& sample, RunDraft& draft);
  void take_rate(const DescribedRule& rule, Track& of, Sample& sample, RunDraft& draft,
                 const RunBuilder& out);
  void take_own_step(const DescribedRule& rule, Track& of, Sample& sample, const RunDraft& draft);
  [[nodiscard]] std::optional<std::int64_t> world(const RunBuilder& out) const;
  [[nodiscard]] const DescribedRate& rate_of(const DescribedRule& rule) const;
  RunDraft& run(WorkKind kind, std::int64_t line, RunBuilder& out);
  void begin_again(WorkKind kind, RunBuilder& out);
  void put_first(WorkKind kind, std::optional<std::int64_t> next_step, RunBuilder& out);
  void note(const DescribedRule& rule, DescribedNote::When when);

  const Description& description_;
  LineValues values_;
  const DescribedRule* table_ = nullptr;  ///< whose head was met last
  /// Epoch and step of its newest row; below them a line of numbers is none.
  std::pair<std::int64_t, std::int64_t> row_ = {-1, -1};
  Track tracks_[3];
  YearClock year_;
  struct Plan {
    std::optional<std::int64_t> steps, epochs;
  };
  /// For the runs to come.
  Plan plans_[3];
  Facts stated_;
  std::int64_t settings_ = 0;  ///< counts the changes of stated_
  std::optional<IterationUnit> iteration_;
  double began_s_ = kUnknown;

  bool rate_left_out_ = false;  ///< of one GPU, of a number that is unknown
  bool paused_ = false;         ///< an evaluation was taken off a clock
  std::vector<std::string> noted_;
};

}  // namespace bertbench
