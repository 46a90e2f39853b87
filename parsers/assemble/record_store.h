// RecordStore: records of one run in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parsers/core/record.h"
#include "parsers/core/window_rule.h"

namespace bertbench {

class RecordStore;

/// Bounds the records of all runs of one log together, over all formats that read it: a log of
/// 10,000 short runs, or one that four formats understand, must fit as well as one long run.
class RecordBudget {
 public:
  static constexpr std::size_t kRecords = std::size_t{1} << 18;  ///< 27 MB

  explicit RecordBudget(std::size_t records = kRecords) : limit_(records) {}
  void join(RecordStore* store) { stores_.push_back(store); }
  void leave(RecordStore* store) { std::erase(stores_, store); }
  /// `n` records more (or less) are held.
  void count(std::ptrdiff_t n) { used_ = static_cast<std::size_t>(std::ptrdiff_t(used_) + n); }
  [[nodiscard]] bool spent() const { return used_ > limit_; }
  /// Shrinks the larger stores; what fixed windows protect gives way last.
  void shrink();

 private:
  std::size_t limit_;
  std::size_t used_ = 0;
  std::vector<RecordStore*> stores_;
};

/// Beyond `capacity` records neighbours are merged pairwise, all to the same number, so that the
/// series stays even; what a fixed window covers (A:B, steps:A:B, last:N) is never merged. A fixed
/// window itself may hold kMaxWindow records; a longer one is merged too, and `window_merged` is
/// set. The newest, an eighth but 128 at most, are not merged, as late lines of their steps may
/// still come.
class RecordStore {
 public:
  static constexpr std::size_t kCapacity = std::size_t{1} << 18;
  static constexpr std::int64_t kMaxWindow = std::int64_t{1} << 17;

  explicit RecordStore(WindowRule window = {}, std::size_t capacity = kCapacity,
                       RecordBudget* budget = nullptr);
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;
  ~RecordStore();

  /// A new record, to be filled before the next call.
  Record& push();
  void push(const Record& record) { push() = record; }
  /// Makes one record of the newest ones with a counter above `step`.
  void join_after(std::int64_t step);
  /// Merges further; `windows` gives up fixed windows as well.
  void shrink(bool windows);
  [[nodiscard]] bool empty() const { return records_.empty(); }
  [[nodiscard]] Record& back() { return records_.back(); }
  [[nodiscard]] const std::vector<Record>& records() const { return records_; }
  [[nodiscard]] std::vector<Record>& records() { return records_; }
  /// The records for good: the store is empty afterwards.
  [[nodiscard]] std::vector<Record> take();
  [[nodiscard]] std::int64_t seen() const { return seen_; }
  [[nodiscard]] bool window_merged() const { return window_merged_; }

 private:
  [[nodiscard]] bool is_protected(const Record& record, std::int64_t index) const;
  [[nodiscard]] bool has_fixed_window() const;
  void merge();
  void resized(std::size_t before);

  WindowRule window_;
  std::size_t capacity_;
  RecordBudget* budget_;
  std::vector<Record> records_;
  std::int64_t seen_ = 0;
  std::int64_t stride_ = 1;
  bool window_merged_ = false;
};

}  // namespace bertbench
