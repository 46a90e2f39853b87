#include "parsers/core/rank_times.h"

namespace bertbench {
namespace {

void join_pairs(std::vector<RankTimes::Mean>& columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i % 2 == 0) columns[i / 2] = columns[i];
    if (i % 2 == 1) columns[i / 2].add(columns[i]);
  }
  columns.resize((columns.size() + 1) / 2);
}

}  // namespace

void RankTimes::add(std::int64_t rank, std::string_view node, std::int64_t first, std::int64_t last,
                    double seconds) {
  if (rows_.empty()) {
    origin_ = first;
    width_ = last - first + 1;
  }
  if (first < origin_ || (rows_.size() >= kMostRanks && !rows_.contains(rank))) return;
  while ((last - origin_) / width_ >= static_cast<std::int64_t>(kMostColumns)) {
    width_ *= 2;
    for (auto& [other, row] : rows_) join_pairs(row.columns);
  }
  Row& row = rows_[rank];
  if (last <= row.last_step && !row.columns.empty()) return;
  if (row.node.empty()) row.node = node;
  row.last_step = last;
  const auto column = static_cast<std::size_t>((last - origin_) / width_);
  if (row.columns.size() <= column) row.columns.resize(column + 1);
  const auto steps = static_cast<double>(last - first + 1);
  row.columns[column].add({seconds * steps, steps});
}

}  // namespace bertbench
