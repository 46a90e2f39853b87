// RecordStore: records of one run in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parsers/core/record.h"
#include "parsers/core/window_rule.h"

namespace bertbench {

/// Beyond `capacity` records neighbours are merged pairwise, all to the same number, so that the
/// series stays even; what a fixed window covers (A:B, steps:A:B, last:N) is never merged. A fixed
/// window itself may hold kMaxWindow records; a longer one is merged too, and `window_merged` says
/// so.
class RecordStore {
 public:
  static constexpr std::size_t kCapacity = std::size_t{1} << 20;
  static constexpr std::int64_t kMaxWindow = std::int64_t{1} << 21;

  explicit RecordStore(WindowRule window = {}, std::size_t capacity = kCapacity);

  void push(const Record& record);
  /// Makes one record of the newest ones with a counter above `step`.
  void join_after(std::int64_t step);
  [[nodiscard]] bool empty() const { return records_.empty(); }
  [[nodiscard]] Record& back() { return records_.back(); }
  [[nodiscard]] const std::vector<Record>& records() const { return records_; }
  [[nodiscard]] std::vector<Record>& records() { return records_; }
  [[nodiscard]] std::int64_t seen() const { return seen_; }
  [[nodiscard]] bool window_merged() const { return window_merged_; }

 private:
  [[nodiscard]] bool is_protected(const Record& record, std::int64_t index) const;
  void merge_neighbours();

  WindowRule window_;
  std::size_t capacity_;
  std::vector<Record> records_;
  std::int64_t seen_ = 0;
  std::int64_t stride_ = 1;
  bool window_merged_ = false;
};

}  // namespace bertbench
