// RunBuilder: what line parsers find becomes RunLogs. One per format and log.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/assemble/record_store.h"
#include "parsers/core/line.h"
#include "parsers/core/run_log.h"
#include "parsers/core/window_rule.h"

namespace bertbench {

/// One line's worth of progress, in RunLog units. NaN and 0 are unknown.
struct Sample {
  std::int64_t step = 0;        ///< the log's own counter
  std::int64_t iterations = 0;  ///< 0: the difference of the counter to the record before
  double seconds = kUnknown;
  double time_s = kUnknown;  ///< clock, any origin that stays the same within the run
  double rate = kUnknown;
  BarSeconds bar_s = kNoBarSeconds;
  std::optional<double> loss;  ///< NaN is a printed NaN
  std::int64_t line = 0;
  std::int64_t end_byte = -1;  ///< as Line's
  int rank = -1;
  bool distinct =
      false;  ///< a record of its own even if the counter stands still (skipped updates)
};
/// Of what this line prints.
[[nodiscard]] inline Sample sample_on(const Line& line) {
  Sample out;
  out.line = line.number;
  out.end_byte = line.end_byte;
  out.rank = line.rank;
  return out;
}

/// One run of one kind while it is read.
class RunDraft {
 public:
  RunDraft(std::string path, std::string_view format, WorkKind kind, WindowRule window,
           std::int64_t first_line, RecordBudget* budget = nullptr);

  /// A sample of the same counter value is merged: last and first rate and clock are kept, and the
  /// ranks' seconds become their median and spread. One that is at most a few records late (another
  /// rank's line) is merged where it belongs.
  void add(const Sample& sample);
  /// The counter lags what was seen by more than a straggling rank explains.
  [[nodiscard]] bool goes_back(const Sample& sample) const;
  /// Clock values count from `time_s` instead of the first sample's (a bar's elapsed starts at 0).
  void set_origin(double time_s) { origin_ = time_s; }
  /// The records with a counter above `step` become one: first redraw of the first, last redraw of
  /// the last, their iterations together.
  void join_records_after(std::int64_t step);
  /// Of the first record, as a later line shows.
  void set_first_iterations(std::int64_t iterations);
  /// A resumed run, which did none of the steps up to this one: take() leaves them out (bars of
  /// tqdm that leap).
  void begin_at(std::int64_t step) { begins_at_ = step; }
  /// Another launch goes on with the run: what the next record has of time is of the launch's start
  /// and left out, and the clock begins anew with it.
  void begin_launch() { launched_ = !store_.empty(); }
  /// No record keeps its seconds: they are too coarse.
  void leave_out_seconds();
  /// A loss printed on another line than the counter belongs to the newest record.
  void set_loss(double loss, std::int64_t line);

  [[nodiscard]] const Record* last() const {
    return store_.empty() ? nullptr : &store_.records().back();
  }
  /// The record that a sample of a step which was met before is merged into; null if there is none.
  [[nodiscard]] const Record* record_of(const Sample& sample) const;
  [[nodiscard]] std::int64_t count() const { return store_.seen(); }
  [[nodiscard]] const std::vector<Record>& records() const { return store_.records(); }

  RunLog log;  ///< everything but the records
  /// Counter that lines without a record of their own state as reached, after the last record's.
  std::optional<std::int64_t> reached;
  bool ended_well = false;                ///< a closing statement was seen
  std::optional<Outcome> stated_outcome;  ///< the log states itself how it ended
  bool official_end = false;   ///< what is stated of its end holds for the job, whatever reads it
  bool discard = false;        ///< not to be handed on
  bool unproven = false;       ///< taken where nothing else of the log is read as a training
  bool total_unsure = false;   ///< its counter began at 0 and may end at its total or one before it
  bool ends_silently = false;  ///< its program may print nothing after its last step
  bool ends_epoch = false;     ///< the newest record, as far as is known the last one
  bool rates_of_one_gpu = false;  ///< its printed rates are; of how many, facts may show at the end
  bool own_facts = false;      ///< batches and world are stated by the format: FactRules add none
  std::int64_t last_line = 0;  ///< of a record or a statement

  [[nodiscard]] RunLog take();

 private:
  void add_rank_seconds(Record& record, const Sample& sample);
  void note_loss(Record& record, double loss);
  void weigh_headless();

  RecordStore store_;
  std::int64_t begins_at_ = 0;
  /// Of a step the ranks and their seconds; newest steps only.
  std::map<std::int64_t, std::vector<std::pair<int, double>>> ranks_;
  std::size_t rank_seconds_ = 0;        ///< in all of them
  std::int64_t ranks_dropped_to_ = -1;  ///< a step
  double origin_ = kUnknown;            ///< first clock value
  bool learns_ = false;                 ///< a loss was finite
  bool launched_ = false;               ///< since the newest record
};

class RunBuilder {
 public:
  RunBuilder(std::string_view format, std::string path, WindowRule window,
             RecordBudget* budget = nullptr);

  /// The open run of this kind; begins one at `line` if none is open.
  RunDraft& run(WorkKind kind, std::int64_t line);
  /// The open run of this kind, null if there is none.
  [[nodiscard]] RunDraft* open(WorkKind kind) const;
  /// Ends the open run: the next record of the kind begins another.
  void close(WorkKind kind);
  /// A run next to the open ones, e.g. one bar among several; the caller decides in finish().
  RunDraft& extra(WorkKind kind, std::int64_t line);

  /// Facts of the whole log that this format knows (framework ...): under the runs' own.
  Facts facts;
  /// The number of GPUs that the user states, for formats that print rates of one.
  std::optional<std::int64_t> world;
  /// The user chose this format: it overrules doubt about what is training.
  bool asked_for = false;
  /// The log begins with the head of a file of this format.
  bool own_file = false;
  /// ReadOptions::of_training.
  bool of_training = false;

  [[nodiscard]] const std::vector<std::unique_ptr<RunDraft>>& drafts() const { return drafts_; }
  [[nodiscard]] std::vector<std::unique_ptr<RunDraft>>& drafts() { return drafts_; }
  /// The run that a status line should show: newest training run, else the newest of any kind.
  [[nodiscard]] const RunDraft* current() const;

 private:
  /// Of one file; at 6 to 11 KB each they keep the memory bound. What follows is left out and
  /// reported.
  static constexpr std::size_t kMaxRuns = 3'000;

  std::string_view format_;
  std::string path_;
  WindowRule window_;
  RecordBudget* budget_ = nullptr;
  std::vector<std::unique_ptr<RunDraft>> drafts_;
  std::unique_ptr<RunDraft> overflow_;
  RunDraft* open_[3] = {nullptr, nullptr, nullptr};
};

}  // namespace bertbench
