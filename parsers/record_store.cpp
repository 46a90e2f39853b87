#include "parsers/record_store.h"

#include <algorithm>
#include <cmath>

namespace bertbench {
namespace {

double mean_of(double a, std::int64_t count_a, double b, std::int64_t count_b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  const auto x = static_cast<double>(count_a);
  const auto y = static_cast<double>(count_b);
  return (a * x + b * y) / (x + y);
}

Record joined(const Record& a, const Record& b) {
  Record out = b;
  out.iterations = a.iterations + b.iterations;
  out.seconds = a.seconds + b.seconds;  // unknown if one is
  out.printed_rate = mean_of(a.printed_rate, a.merged, b.printed_rate, b.merged);
  out.printed_first = mean_of(a.printed_first, a.merged, b.printed_first, b.merged);
  out.first_time_s = std::isnan(a.first_time_s) ? b.first_time_s : a.first_time_s;
  out.rank_spread = std::fmax(a.rank_spread, b.rank_spread);
  if (std::isnan(b.loss) && !std::isnan(a.loss)) out.loss = a.loss;
  out.merged = a.merged + b.merged;
  return out;
}

}  // namespace

RecordStore::RecordStore(WindowRule window, std::size_t capacity)
    : window_(window), capacity_(std::max<std::size_t>(capacity, 4)) {
  const std::int64_t length =
      window_.kind == WindowRule::Kind::last ? window_.begin : window_.end - window_.begin;
  if (length > kMaxWindow) {
    window_.kind = WindowRule::Kind::all;
    window_merged_ = true;
  }
}

void RecordStore::push(const Record& record) {
  if (records_.size() >= capacity_) merge_neighbours();
  records_.push_back(record);
  ++seen_;
}

void RecordStore::join_after(std::int64_t step) {
  std::size_t first = records_.size();
  while (first > 0 && records_[first - 1].step > step) --first;
  if (first + 1 >= records_.size()) return;
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
}

// `index` counts records of the log, merged ones too, from 0. The record in front of a window is
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

void RecordStore::merge_neighbours() {
  for (int round = 0; round < 2; ++round) {
    if (round == 1) stride_ *= 2;
    std::vector<Record> out;
    out.reserve(records_.size());
    std::int64_t index = 0;  // of the record looked at
    bool open = false;       // out.back() may still take a neighbour
    for (const Record& record : records_) {
      const bool keep =
          is_protected(record, index) || is_protected(record, index + record.merged - 1);
      index += record.merged;
      if (!keep && open && out.back().merged + record.merged <= stride_) {
        out.back() = joined(out.back(), record);
      } else {
        out.push_back(record);
      }
      open = !keep;
    }
    records_ = std::move(out);
    // Room for a quarter more, or nothing is left to merge at this stride.
    if (records_.size() <= capacity_ - capacity_ / 4) return;
  }
}

}  // namespace bertbench
