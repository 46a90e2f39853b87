#include "reports/output/csv.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

/// A decimal number and nothing else: "-5" is no formula, "-1+1" and "-inf" may be one.
bool is_number(std::string_view text) {
  return text.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
         !text.starts_with("+-") && to_double(text).has_value();
}

bool starts_formula(std::string_view text) {
  if (is_number(text)) return false;
  // Spreadsheets skip blanks before a formula on import.
  while (text.starts_with(' ')) text.remove_prefix(1);
  static constexpr std::array<std::string_view, 10> kStarts = {
      "=", "+", "-", "@", "\t", "\r", "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"};
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

std::string field(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return {};
    case Json::value_t::string:
      return csv_text(value.get_ref<const std::string&>());
    default:
      return value.dump();
  }
}

std::vector<std::string> columns_of(std::string_view header) {
  const auto names = split(header, ',');
  return {names.begin(), names.end()};
}

void flatten(const Json& value, const std::string& name, Json& out) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) {
      std::string part = key;
      std::replace(part.begin(), part.end(), '.', '_');
      flatten(inner, name.empty() ? part : name + "_" + part, out);
    }
  } else if (value.is_array()) {
    std::string joined;
    for (const Json& item : value) {
      if (item.is_structured()) return;
      if (&item != &value.front()) joined += "; ";
      joined += item.is_string() ? item.get<std::string>() : item.dump();
    }
    out[name] = joined;
  } else {
    out[name] = value;
  }
}

}  // namespace

std::string csv_text(std::string_view text) {
  std::string safe = escape_for_terminal(text);
  if (starts_formula(text)) safe.insert(0, 1, '\'');
  if (safe.find_first_of(",\"") == std::string::npos && trim(safe) == safe) return safe;
  std::string quoted = "\"";
  for (const char c : safe) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

Json csv_flat(const Json& object) {
  Json out = Json::object();
  flatten(object, "", out);
  return out;
}

CsvTable::CsvTable(std::vector<std::string> first)
    : columns_(std::move(first)), known_(columns_.begin(), columns_.end()) {}

void CsvTable::add_keys(const Json& row) {
  for (const auto& [key, value] : row.items())
    if (known_.insert(key).second) columns_.push_back(key);
}

std::string CsvTable::header() const {
  std::string out;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    out += (c == 0 ? "" : ",") + csv_text(columns_[c]);
  return out + "\r\n";
}

std::string CsvTable::line(const Json& row) const {
  std::string out;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (c > 0) out += ',';
    const auto found = row.find(columns_[c]);
    if (found != row.end()) out += field(*found);
  }
  return out + "\r\n";
}

std::string csv_document(const std::vector<std::string>& first, const std::vector<Json>& rows) {
  CsvTable table(first);
  for (const Json& row : rows) table.add_keys(row);
  std::string out = table.header();
  for (const Json& row : rows) out += table.line(row);
  return out;
}

const std::vector<std::string>& csv_cell_facts() {
  static const std::vector<std::string> kFacts = columns_of(
      "key,kind,model,framework,precision,sequence_length,nodes,gpus_per_node,world_size,"
      "micro_batch_size,gradient_accumulation_steps,global_batch_size");
  return kFacts;
}

std::vector<std::string> csv_columns(std::string_view others) {
  std::vector<std::string> out = csv_cell_facts();
  for (std::string& name : columns_of(others)) out.push_back(std::move(name));
  return out;
}

nlohmann::ordered_json csv_identity(const nlohmann::ordered_json& cell) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [key, value] : cell.items()) {
    if (key == "trials") continue;
    if (key != "identity") {
      out[key] = value;
      continue;
    }
    // The eight facts stand next to it under their own names.
    for (const auto& [fact, known] : value.items())
      if (!cell.contains(fact)) out["identity"][fact] = known;
  }
  return out;
}

}  // namespace bertbench
