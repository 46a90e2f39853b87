// Measured logs, kept in few bytes each until all are read and grouped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reports/cells/result_builder.h"
#include "reports/cells/spool.h"
#include "reports/cells/summarize.h"
#include "reports/model/result_set.h"

namespace bertbench {

// A trial as few bytes: what a result of very many logs keeps of each until it is written. Binary
// JSON (CBOR) would name every member in every trial.

/// Texts that many trials share (names of formats, rules, notices), by number. Bounded: beyond its
/// room a text is not taken in, and stands in the trial itself.
class Words {
 public:
  /// The number of a text, -1 when there is no room for it.
  [[nodiscard]] std::int64_t number_of(const std::string& text);
  /// Empty for a number that was never given.
  [[nodiscard]] const std::string& text_of(std::int64_t number) const;

 private:
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::vector<const std::string*> texts_;
  std::size_t bytes_ = 0;
};

/// Appends everything but the telemetry to `out`.
void pack_trial(const Trial& trial, Words& words, std::string& out);
/// What pack_trial wrote with the same words; false when the bytes are others.
[[nodiscard]] bool unpack_trial(std::string_view bytes, const Words& words, Trial& trial);

/// What logs state about their cell; logs that state the same share one.
struct CellFacts {
  CellFacts() = default;
  CellFacts(Identity identity, WorkKind kind);

  Identity identity;
  WorkKind kind = WorkKind::training;
  std::string key;   ///< of the identity
  std::string name;  ///< equal for equal identities of a kind: the key leaves the framework out
  std::optional<std::int64_t> world_size, global_batch_size;
  std::string gpu, tree;
};

/// Numbers are given in the order of add(), from 0.
class MeasuredLogs {
 public:
  std::size_t add(MeasuredLog log);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] Trial trial(std::size_t log) const;
  [[nodiscard]] const CellFacts& facts(std::size_t log) const {
    return facts_[entries_[log].facts];
  }
  /// Of the trial; `estimator` lives as long as these logs.
  [[nodiscard]] TrialFigures figures(std::size_t log) const;
  [[nodiscard]] bool numbered(std::size_t log) const { return entries_[log].numbered; }

  void replace(std::size_t log, MeasuredLog by);
  void add_notice(std::size_t log, Notice notice) { reported_[log].push_back(std::move(notice)); }
  /// Leaves the log out of what follows.
  void drop(std::size_t log) { entries_[log].dropped = true; }
  [[nodiscard]] bool dropped(std::size_t log) const { return entries_[log].dropped; }
  void clear() { *this = {}; }

 private:
  struct Entry {
    std::uint64_t at = 0;
    std::uint32_t size = 0, facts = 0, mark = 0;
    double rate = kUnknown, energy = kUnknown;
    std::array<double, std::size(kQualities)> quality = TrialFigures::unknown_quality();
    std::int64_t peak_bytes = 0, capacity_bytes = 0;
    const std::string* estimator = nullptr;
    const std::string* memory_source = nullptr;
    RateUnit unit = RateUnit::unknown;
    std::uint8_t status = 0;
    bool numbered = false, dropped = false;
  };
  Entry packed(MeasuredLog log);
  std::uint32_t facts_number(MeasuredLog& log);

  std::vector<Entry> entries_;
  std::deque<CellFacts> facts_;  // groups point to them
  std::unordered_multimap<std::size_t, std::uint32_t> facts_by_hash_;
  std::set<std::string, std::less<>> names_;  ///< of estimators and of sources
  Words words_;
  Spool spool_;
  std::map<std::size_t, std::vector<Notice>> reported_;  ///< after the log was measured
  std::map<std::uint64_t, JsonBox> telemetry_;           ///< by Entry::at
  std::string bytes_;
};

}  // namespace bertbench
