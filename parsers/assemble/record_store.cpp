#include "parsers/assemble/record_store.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bertbench {
namespace {

constexpr std::size_t kRecordsOfALongRun = std::size_t{1} << 14;  ///< records; see push()

double mean_of(double a, std::int64_t count_a, double b, std::int64_t count_b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  const auto x = static_cast<double>(count_a);
  const auto y = static_cast<double>(count_b);
  return (a * x + b * y) / (x + y);
}

/// Of a rate and the next one: the work of both over the time that both imply, which estimates of
/// the merged records then give as those of the single ones do.
double rate_of_both(double a, std::int64_t iterations_a, double b, std::int64_t iterations_b) {
  if (!(a > 0 && b > 0)) return mean_of(a, iterations_a, b, iterations_b);
  const auto x = static_cast<double>(std::max<std::int64_t>(1, iterations_a));
  const auto y = static_cast<double>(std::max<std::int64_t>(1, iterations_b));
  return (x + y) / (x / a + y / b);
}

// `a` becomes both.
void join(Record& a, const Record& b) {
  a.printed_rate = rate_of_both(a.printed_rate, a.iterations, b.printed_rate, b.iterations);
  a.step = b.step;
  a.iterations += b.iterations;
  a.seconds += b.seconds;  // unknown if one is
  a.time_s = b.time_s;
  a.bar_s = b.bar_s;
  a.printed_first = mean_of(a.printed_first, a.merged, b.printed_first, b.merged);
  if (std::isnan(a.first_time_s)) a.first_time_s = b.first_time_s;
  a.rank_spread =
      std::isnan(a.rank_spread) || b.rank_spread > a.rank_spread ? b.rank_spread : a.rank_spread;
  if (!std::isnan(b.loss)) a.loss = b.loss;
  a.line = b.line;
  a.end_byte = b.end_byte;
  a.merged += b.merged;
}

}  // namespace

void RecordBudget::shrink() {
  for (const bool windows : {false, true}) {
    // Stores of at least half the mean hold half of all records or more.
    const std::size_t least = used_ / (2 * std::max<std::size_t>(stores_.size(), 1));
    for (RecordStore* store : stores_) {
      if (store->records().size() >= std::max<std::size_t>(least, 8)) store->shrink(windows);
    }
    if (used_ <= limit_ - limit_ / 16) return;
  }
}

RecordStore::RecordStore(WindowRule window, std::size_t capacity, RecordBudget* budget)
    : window_(window), capacity_(std::max<std::size_t>(capacity, 4)), budget_(budget) {
  const std::int64_t length =
      window_.kind == WindowRule::Kind::last ? window_.begin : window_.end - window_.begin;
  if (length > kMaxWindow) {
    window_.kind = WindowRule::Kind::all;
    window_merged_ = true;
  }
  if (budget_ != nullptr) budget_->join(this);
}

RecordStore::~RecordStore() {
  if (budget_ == nullptr) return;
  budget_->count(-std::ssize(records_));
  budget_->leave(this);
}

void RecordStore::resized(std::size_t before) {
  if (budget_ != nullptr)
    budget_->count(std::ssize(records_) - static_cast<std::ptrdiff_t>(before));
}

Record& RecordStore::push() {
  if (records_.size() >= capacity_) shrink(false);
  ++seen_;
  if (budget_ != nullptr) {
    budget_->count(1);
    if (budget_->spent()) budget_->shrink();
  }
  // The memory of a long run is reserved at once: pages that are never written cost nothing, copies
  // do.
  if (records_.size() == kRecordsOfALongRun)
    records_.reserve(std::max(capacity_, kRecordsOfALongRun + 1));
  // A copy: emplace_back() would clear the record first by rep stos, which is slower than copying a
  // constant.
  static constexpr Record kNothing;
  records_.push_back(kNothing);
  return records_.back();
}

std::vector<Record> RecordStore::take() {
  const std::size_t before = records_.size();
  std::vector<Record> out = std::exchange(records_, {});
  resized(before);
  return out;
}

void RecordStore::shrink(bool windows) {
  if (windows && has_fixed_window()) {
    window_.kind = WindowRule::Kind::all;
    window_merged_ = true;
  }
  // The records since the last time are brought to the stride of the others: where that makes no
  // room for a quarter more, all come to the next stride.
  const std::size_t most = records_.size() - records_.size() / 4;
  merge();
  if (records_.size() <= most) return;
  stride_ *= 2;
  merge();
}

void RecordStore::join_after(std::int64_t step) {
  std::size_t first = records_.size();
  while (first > 0 && records_[first - 1].step > step) --first;
  if (first + 1 >= records_.size()) return;
  const std::size_t before = records_.size();
  Record out = records_.back();
  const Record& begin = records_[first];
  out.first_time_s = begin.first_time_s;
  out.printed_first = begin.printed_first;
  out.iterations = 0;
  out.seconds = 0;
  std::int64_t merged = 0;
  for (std::size_t i = first; i < records_.size(); ++i) {
    out.iterations += records_[i].iterations;
    out.seconds += records_[i].seconds;
    merged += records_[i].merged;
  }
  out.merged = 1;
  records_.resize(first);
  records_.push_back(out);
  seen_ -= merged - 1;
  resized(before);
}

bool RecordStore::has_fixed_window() const {
  return window_.kind != WindowRule::Kind::all && window_.kind != WindowRule::Kind::automatic;
}

// `index` counts records of the log, merged ones too, from 0. The record before a window is
// kept as well: a counter's difference over a window starts at it.
bool RecordStore::is_protected(const Record& record, std::int64_t index) const {
  switch (window_.kind) {
    case WindowRule::Kind::records:
      return index + 1 >= window_.begin && index < window_.end;
    case WindowRule::Kind::steps:
      return record.step >= window_.begin && record.step <= window_.end;
    case WindowRule::Kind::last:
      return index + window_.begin + 1 >= seen_;
    default:
      return false;
  }
}

// Merges in place, all but the newest.
void RecordStore::merge() {
  constexpr std::size_t kMostNewest = 128;
  const std::size_t before = records_.size();
  const std::size_t to = before - std::min(before / 8, kMostNewest);
  const bool fixed = has_fixed_window();
  std::int64_t index = 0;  // of a record's first one in the log
  std::size_t end = 0;     // after the last record that stays
  bool open = false;       // that one may take more
  for (std::size_t i = 0; i < to; ++i) {
    const Record& record = records_[i];
    const bool keep =
        fixed && (is_protected(record, index) || is_protected(record, index + record.merged - 1));
    index += record.merged;
    if (!keep && open && records_[end - 1].merged + record.merged <= stride_) {
      join(records_[end - 1], record);
    } else {
      if (end != i) records_[end] = record;
      ++end;
    }
    open = !keep;
  }
  records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(end),
                 records_.begin() + static_cast<std::ptrdiff_t>(to));
  resized(before);
}

}  // namespace bertbench
