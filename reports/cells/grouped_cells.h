// Measured logs as cells: grouped, numbered, in the order in which tables read well, summarized. A
// cell is made when it is asked for.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/cells/measured_logs.h"
#include "reports/cells/relations.h"
#include "reports/model/cell_source.h"

namespace bertbench {

/// Tree of trials whose cell the caller knows.
inline constexpr std::string_view kSweptTree = "sweep:";

class GroupedCells final : public CellSource {
 public:
  /// `emulated`: CellFacts::name of cells whose GPUs are stand-ins.
  GroupedCells(MeasuredLogs logs, const std::set<std::string>& emulated,
               const SummaryOptions& options, ResultSet head);

  [[nodiscard]] const ResultSet& head() const override { return head_; }
  [[nodiscard]] std::size_t size() const override { return cells_.size(); }
  [[nodiscard]] Cell cell(std::size_t i) const override;
  [[nodiscard]] std::size_t trials(std::size_t i) const override;
  void each_trial(std::size_t i, const std::function<void(const Trial&)>& visit) const override;
  [[nodiscard]] const std::vector<Notice>& notices() const { return found_.notices; }

 private:
  struct Place {
    const CellFacts* facts = nullptr;
    std::uint32_t begin = 0, count = 0;  ///< in members_
    bool emulated = false;
    bool numbered = false;  ///< by the tree, which may hold several attempts at a trial
  };
  void group();
  [[nodiscard]] std::span<const std::uint32_t> members(const Place& place) const;
  /// The trials of a cell whose tree numbers them: all at once, because attempts at one trial are
  /// compared.
  [[nodiscard]] std::vector<Trial> numbered_trials(const Place& place) const;
  [[nodiscard]] Cell summarized(const Place& place) const;

  MeasuredLogs logs_;
  SummaryOptions options_;
  ResultSet head_;
  std::deque<CellFacts> filled_;  ///< of cells whose facts several logs give in parts
  std::vector<std::uint32_t> members_;
  std::vector<Place> cells_;
  std::vector<CellFigures> figures_;
  Relations found_;
};

}  // namespace bertbench
