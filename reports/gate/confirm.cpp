// The second half of the gate: a regression counts once a rerun repeats it.
#include <algorithm>

#include "reports/gate/verdicts.h"

namespace bertbench {

std::vector<std::string> flagged_cells(const GateReport& report) {
  std::vector<std::string> keys;
  for (const CellVerdict& cell : report.cells) {
    if (cell.verdict == Verdict::regression) keys.push_back(cell.key);
  }
  return keys;
}

GateReport confirm(GateReport first, const ResultSet& rerun, std::span<const ResultSet> runs,
                   const GateOptions& options) {
  const auto flagged = flagged_cells(first);
  if (flagged.empty()) return first;
  ResultSet again = rerun;
  std::erase_if(again.cells, [&](const Cell& cell) {
    return std::ranges::find(flagged, cell.key) == flagged.end();
  });
  const GateReport second = check(again, runs, options);
  for (CellVerdict& cell : first.cells) {
    if (cell.verdict != Verdict::regression) continue;
    const auto found = std::ranges::find(second.cells, cell.key, &CellVerdict::key);
    if (found == second.cells.end() || found->verdict == Verdict::missing) {
      cell.reasons.push_back(make_notice(NoticeCode::rerun_missing, 0));
      continue;
    }
    cell.rerun =
        Rerun{found->verdict, found->change, found->median_new, found->p_adjusted, found->n_new};
    switch (found->verdict) {
      case Verdict::regression:
        cell.reasons.push_back(make_notice(NoticeCode::rerun_confirms, 0, reason_text(*found)));
        break;
      case Verdict::pass:
      case Verdict::improvement:
        cell.verdict = Verdict::pass;
        cell.reasons = {make_notice(NoticeCode::rerun_clears, 0, reason_text(*found)),
                        make_notice(NoticeCode::at_first, 0, reason_text(cell))};
        break;
      case Verdict::inconclusive:
      case Verdict::not_comparable:
        cell.reasons.push_back(make_notice(NoticeCode::rerun_undecided, 0, name(found->verdict),
                                           reason_text(*found)));
        break;
      case Verdict::missing:
      case Verdict::new_cell:
        break;
    }
  }
  first.exit_status = gate_exit_status(first, options);
  return first;
}

}  // namespace bertbench
