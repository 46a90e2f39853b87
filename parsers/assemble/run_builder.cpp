#include "parsers/assemble/run_builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "parsers/core/median.h"

namespace bertbench {
namespace {

constexpr std::size_t kRankGroups = 16;  ///< steps that a labelled rank may lag
constexpr double kLongest_s = 1e15;      ///< a time beyond it is a damaged number; sums stay finite
/// Records that a line without a rank may be late: ranks draw their bars into one terminal (corpus
/// nvidia-dle-pytorch/lambda_8x2080ti_squad_base_fp16.log,
/// quoted/tqdm.takes_the_bars_of_several_unlabelled_ranks_as_one_run).
constexpr std::int64_t kStragglerRecords = 2;

}  // namespace

RunDraft::RunDraft(std::string path, std::string_view format, WorkKind kind, WindowRule window,
                   std::int64_t first_line, RecordBudget* budget)
    : last_line(first_line), store_(window, RecordStore::kCapacity, budget) {
  log.path = std::move(path);
  log.format = format;
  log.kind = kind;
  log.first_line = first_line;
}

bool RunDraft::goes_back(const Sample& sample) const {
  const auto& records = store_.records();
  if (records.empty() || sample.distinct || sample.step >= records.back().step) return false;
  const auto allowed =
      sample.rank >= 0 ? static_cast<std::int64_t>(kRankGroups) : kStragglerRecords;
  const auto n = static_cast<std::int64_t>(records.size());
  const bool clock_says_new = !std::isnan(sample.time_s) && !std::isnan(records.back().time_s) &&
                              sample.time_s - origin_ < 0;
  for (std::int64_t k = 2; k <= std::min(n, allowed + 1); ++k) {
    const std::int64_t step = records[static_cast<std::size_t>(n - k)].step;
    // A short run that starts over looks like a rank that lags
    // (quoted/tqdm.lets_a_rank_that_lags_behind_not_start_a_run): the clock or the first step
    // decides.
    if (step == sample.step) return clock_says_new || (sample.rank < 0 && n - k == 0);
    // The rank before it lacks this step: its line was glued to another one
    // (quoted/generic.ranks_that_run_apart).
    if (step < sample.step && sample.rank >= 0) return clock_says_new;
  }
  return true;
}

void RunDraft::note_loss(Record& record, double loss) {
  record.loss = loss;
  if (std::isfinite(loss)) {
    // A loop that prints its mean loss has none before its first update.
    if (!learns_) log.first_nan_step.reset();
    learns_ = true;
  } else if (!log.first_nan_step) {
    log.first_nan_step = record.step;
  }
}

void RunDraft::add_rank_seconds(Record& record, const Sample& sample) {
  constexpr std::size_t kMostSeconds = std::size_t{1} << 16;  // 1 MB: lines come late in blocks
  if (sample.rank < 0 || std::isnan(sample.seconds)) return;
  // Of a step before all that are kept the other ranks are no longer known.
  if (sample.step <= ranks_dropped_to_) return;
  auto& group = ranks_[sample.step];
  const auto same = std::ranges::find(group, sample.rank, &std::pair<int, double>::first);
  if (same != group.end()) return;  // a doubled line
  group.emplace_back(sample.rank, sample.seconds);
  std::vector<double> values;
  for (const auto& [rank, seconds] : group) values.push_back(seconds);
  const auto [low, high] = std::ranges::minmax(values);
  record.seconds = median(std::move(values));
  if (group.size() > 1 && record.seconds > 0) {
    record.rank_spread = (high - low) / record.seconds;
  }
  if (++rank_seconds_ > kMostSeconds && ranks_.size() > kRankGroups) {
    rank_seconds_ -= ranks_.begin()->second.size();
    ranks_dropped_to_ = ranks_.begin()->first;
    ranks_.erase(ranks_.begin());
  }
}

const Record* RunDraft::record_of(const Sample& sample) const {
  const auto& records = store_.records();
  const auto found = std::ranges::upper_bound(records, sample.step, {}, &Record::step);
  const auto newer = static_cast<std::size_t>(records.end() - found);
  if (found == records.begin() || std::prev(found)->step != sample.step) return nullptr;
  return sample.rank >= 0 || newer <= kRankGroups ? &*std::prev(found) : nullptr;
}

void RunDraft::add(const Sample& sample) {
  const bool no_time = sample.seconds < 0 || sample.seconds > kLongest_s;
  const bool no_clock = std::abs(sample.time_s) > kLongest_s;
  if (no_time || no_clock) {  // a damaged line (found by fuzzing)
    Sample known = sample;
    if (no_time) known.seconds = kUnknown;
    if (no_clock) known.time_s = kUnknown;
    return add(known);
  }
  if (std::isnan(origin_)) origin_ = sample.time_s;
  const double time_s = sample.time_s - origin_;
  last_line = std::max(last_line, sample.line);
  auto& records = store_.records();
  if (!sample.distinct) {
    if (const Record* known = record_of(sample)) {
      Record& record = records[static_cast<std::size_t>(known - records.data())];
      if (!std::isnan(sample.rate)) {
        record.printed_rate = sample.rate;
        if (std::isnan(record.printed_first)) record.printed_first = sample.rate;
      }
      if (std::isnan(record.bar_s[two_means])) record.bar_s = sample.bar_s;
      if (!std::isnan(time_s)) {
        // The clock of a step is that of its first line from each of the ranks taken together.
        if (!(record.time_s > time_s)) record.time_s = time_s;
        if (std::isnan(record.first_time_s)) record.first_time_s = time_s;
      }
      if (sample.loss && std::isnan(record.loss)) note_loss(record, *sample.loss);
      if (sample.rank >= 0) {
        add_rank_seconds(record, sample);
      } else if (std::isnan(record.seconds)) {
        record.seconds = sample.seconds;
      }
      return;
    }
    if (!records.empty() && sample.step < records.back().step) return;  // late, and never seen
  }
  if (std::exchange(launched_, false)) {
    Sample start = sample;
    start.seconds = start.rate = kUnknown;
    origin_ = kUnknown;
    return add(start);
  }
  const std::int64_t difference = records.empty() ? sample.step : sample.step - records.back().step;
  Record& record = store_.push();
  record.step = sample.step;
  record.iterations =
      sample.iterations > 0 ? sample.iterations : std::max<std::int64_t>(1, difference);
  record.seconds = sample.seconds;
  record.time_s = time_s;
  record.first_time_s = time_s;
  record.printed_rate = sample.rate;
  record.printed_first = sample.rate;
  record.bar_s = sample.bar_s;
  record.line = sample.line;
  record.end_byte = sample.end_byte;
  if (sample.loss) note_loss(record, *sample.loss);
  if (sample.rank >= 0) add_rank_seconds(record, sample);
}

void RunDraft::set_first_iterations(std::int64_t iterations) {
  if (!store_.empty()) store_.records().front().iterations = iterations;
}

// The first line of a log without its head stands for no more iterations than the next one, where
// its rate is of the newest ones (quoted/fairseq.takes_no_rate_from_lines_that_count_one_update,
// quoted/gluonnlp.reads_squad_without_epochs).
void RunDraft::weigh_headless() {
  constexpr std::int64_t kFirstIntervalFactor = 4;  // times: a log may begin with a longer interval
  if (log.records.size() < 2) return;
  Record& first = log.records[0];
  const Record& second = log.records[1];
  const std::int64_t stride = second.step - first.step;
  // A bar's elapsed time is of all that it has counted.
  const bool counts_time = !std::isnan(first.time_s) && !log.clock_is_wall;
  if (stride < 1 || first.iterations < kFirstIntervalFactor * stride ||
      second.iterations != stride || std::isnan(first.printed_rate) || counts_time) {
    return;
  }
  first.seconds *= static_cast<double>(stride) / static_cast<double>(first.iterations);
  first.iterations = stride;
}

void RunDraft::leave_out_seconds() {
  for (Record& record : store_.records()) record.seconds = kUnknown;
}

void RunDraft::join_records_after(std::int64_t step) { store_.join_after(step); }

void RunDraft::set_loss(double loss, std::int64_t line) {
  last_line = std::max(last_line, line);
  if (store_.empty()) return;
  note_loss(store_.back(), loss);
}

RunLog RunDraft::take() {
  log.records_seen = store_.seen();
  if (store_.window_merged()) log.note(NoticeCode::window_of_records_merged, 0);
  log.records = store_.take();
  // A long run is merged for its own length, which its many records do not show.
  const auto merged = std::ranges::max_element(log.records, {}, &Record::merged);
  if (log.records_seen < static_cast<std::int64_t>(RecordStore::kCapacity) &&
      merged != log.records.end() && merged->merged > 1) {
    log.note(NoticeCode::records_merged, 0, log.records_seen, log.records.size());
  }
  weigh_headless();
  if (begins_at_ > 0) {
    const auto begin = std::ranges::find_if(
        log.records, [&](const Record& record) { return record.step >= begins_at_; });
    if (begin != log.records.end()) {
      begin->iterations = std::clamp<std::int64_t>(begin->step - begins_at_, 1, begin->iterations);
    }
    log.records_seen -= begin - log.records.begin();
    log.records.erase(log.records.begin(), begin);
  }
  return std::move(log);
}

RunBuilder::RunBuilder(std::string_view format, std::string path, WindowRule window,
                       RecordBudget* budget)
    : format_(format), path_(std::move(path)), window_(window), budget_(budget) {}

RunDraft& RunBuilder::extra(WorkKind kind, std::int64_t line) {
  if (drafts_.size() >= kMaxRuns) {
    // Hostile input may begin runs without end: the rest goes to one run that is not handed on.
    if (!overflow_) {
      overflow_ = std::make_unique<RunDraft>(path_, format_, kind, window_, line, budget_);
      overflow_->discard = true;
      drafts_.back()->log.note(NoticeCode::too_many_runs, line, kMaxRuns + 1);
    }
    return *overflow_;
  }
  drafts_.push_back(std::make_unique<RunDraft>(path_, format_, kind, window_, line, budget_));
  return *drafts_.back();
}

RunDraft& RunBuilder::run(WorkKind kind, std::int64_t line) {
  RunDraft*& slot = open_[static_cast<std::size_t>(kind)];
  if (slot == nullptr) slot = &extra(kind, line);
  return *slot;
}

RunDraft* RunBuilder::open(WorkKind kind) const { return open_[static_cast<std::size_t>(kind)]; }

void RunBuilder::close(WorkKind kind) { open_[static_cast<std::size_t>(kind)] = nullptr; }

const RunDraft* RunBuilder::current() const {
  const RunDraft* any = nullptr;
  for (auto it = drafts_.rbegin(); it != drafts_.rend(); ++it) {
    if ((*it)->discard || (*it)->count() == 0) continue;
    if ((*it)->log.kind == WorkKind::training) return it->get();
    if (any == nullptr) any = it->get();
  }
  return any;
}

}  // namespace bertbench
