#include <nlohmann/json.hpp>

#include "reports/studies/audit/audit.h"

namespace bertbench::audit {
namespace {

nlohmann::ordered_json to_json(const CheckedCell& cell) {
  nlohmann::ordered_json json = {
      {"line", cell.line},        {"row", cell.row},         {"column", cell.column},
      {"part", cell.part},        {"heading", cell.heading}, {"role", name(cell.role)},
      {"text", cell.text},        {"printed", cell.number},  {"verdict", name(cell.verdict)},
      {"computed", cell.computed}};
  json["interval"] = {{"low", cell.interval.low}, {"high", cell.interval.high}};
  json["should_be"] = cell.should_be;
  json["rule"] = cell.rule;
  json["from"] = nlohmann::ordered_json::array();
  for (const Operand& operand : cell.from) {
    nlohmann::ordered_json from = {{"heading", operand.heading}, {"text", operand.text}};
    if (operand.line > 0) from["line"] = operand.line;
    json["from"].push_back(std::move(from));
  }
  if (cell.base) json["base"] = true;
  if (!cell.note.empty()) json["note"] = cell.note;
  return json;
}

}  // namespace

nlohmann::ordered_json audit_to_json(const std::vector<TableAudit>& tables,
                                     const std::vector<FileNotices>& notices, bool all_cells) {
  const Counts counts = count(tables);
  nlohmann::ordered_json json = {{"schema", "bertbench.audit/1"},
                                 {"counts",
                                  {{"exact", counts.exact},
                                   {"possible", counts.possible},
                                   {"truncated", counts.truncated},
                                   {"impossible", counts.impossible}}}};
  json["tables"] = nlohmann::ordered_json::array();
  for (const TableAudit& table : tables) {
    nlohmann::ordered_json out = {
        {"file", table.file}, {"line", table.line}, {"title", table.title}};
    out["columns"] = nlohmann::ordered_json::array();
    for (const Column& column : table.columns) {
      nlohmann::ordered_json each = {{"heading", column.heading}, {"role", name(column.role)}};
      if (!column.variants.empty()) each["variants"] = column.variants;
      out["columns"].push_back(std::move(each));
    }
    out["checked"] = table.cells.size();
    out["cells"] = nlohmann::ordered_json::array();
    for (const CheckedCell& cell : table.cells) {
      if (all_cells || is_finding(cell)) out["cells"].push_back(to_json(cell));
    }
    out["readings"] = table.readings;
    out["notices"] = nlohmann::ordered_json::array();
    for (const Notice& notice : table.notices) {
      out["notices"].push_back(
          {{"code", name(notice.code)}, {"line", notice.line}, {"text", text_of(notice)}});
    }
    json["tables"].push_back(std::move(out));
  }
  json["notices"] = nlohmann::ordered_json::array();
  for (const FileNotices& file : notices) {
    for (const Notice& notice : file.notices) {
      json["notices"].push_back({{"file", file.file},
                                 {"code", name(notice.code)},
                                 {"line", notice.line},
                                 {"text", text_of(notice)}});
    }
  }
  return json;
}

}  // namespace bertbench::audit
