#include "reports/model/cell_source.h"

namespace bertbench {
namespace {

ResultSet without_cells(const ResultSet& set) {
  return {set.tool, set.created, set.environment, {}, set.partial};
}

}  // namespace

Cell CellSource::whole_cell(std::size_t i) const {
  Cell out = cell(i);
  out.trials.reserve(trials(i));
  each_trial(i, [&](const Trial& trial) { out.trials.push_back(trial); });
  return out;
}

ResultSet CellSource::whole() const {
  ResultSet out = head();
  out.cells.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) out.cells.push_back(whole_cell(i));
  return out;
}

SetSource::SetSource(const ResultSet& set) : set_(set), head_(without_cells(set)) {}

Cell SetSource::cell(std::size_t i) const { return {CellSummary(set_.cells[i]), {}}; }

void SetSource::each_trial(std::size_t i, const std::function<void(const Trial&)>& visit) const {
  for (const Trial& trial : set_.cells[i].trials) visit(trial);
}

}  // namespace bertbench
