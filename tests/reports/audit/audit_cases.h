// Short names for the tests of the audit.
#pragma once

#include <string>
#include <vector>

#include "reports/stats/flops.h"
#include "reports/studies/audit/audit.h"

namespace bertbench::audit {

inline std::vector<TableAudit> audit_markdown(const std::string& text, AuditOptions options = {}) {
  return audit_page(text, "table.md", options).tables;
}

/// A Markdown table of one heading and its rows, each "a | b | c".
inline std::vector<TableAudit> audit_rows(const std::vector<std::string>& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += "| " + rows[i] + " |\n";
    if (i > 0) continue;
    for (const char c : rows[i]) text += c == '|' ? "|---" : "";
    text += "|---|\n";
  }
  return audit_markdown(text);
}

/// "impossible 27.33 -> 27.23": findings only, in order.
inline std::vector<std::string> findings(const std::vector<TableAudit>& tables) {
  std::vector<std::string> out;
  for (const TableAudit& table : tables) {
    for (const CheckedCell& cell : table.cells) {
      if (!is_finding(cell)) continue;
      out.push_back(std::string(name(cell.verdict)) + " " + cell.number + " -> " + cell.should_be);
    }
  }
  return out;
}

/// The formulas of one sequence, as a command gives them to an audit.
inline std::vector<NamedFlops> flops(const std::string& model, double length, bool checkpointing) {
  const auto shape = model_shape(model);
  if (!shape) return {};
  const auto all = flops_per_sequence(*shape, static_cast<std::int64_t>(length), checkpointing);
  std::vector<NamedFlops> out;
  for (const FlopsFormula& formula : flops_formulas()) {
    out.push_back({std::string(formula.key), all.*formula.value});
  }
  return out;
}

}  // namespace bertbench::audit
