#include "reports/studies/published/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "parsers/core/text.h"
#include "parsers/core/whole_file.h"

namespace bertbench {

/// configs/published/*.json as they were when bertbench was built (reports/output/output.cmake).
struct EmbeddedPublished {
  const char* name;
  const char* text;
};
extern const std::span<const EmbeddedPublished> kPublishedFiles;

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kHint = "see configs/schema/published.schema.json for the form";
constexpr std::int64_t kMostCount = 1'000'000'000;

constexpr std::string_view kCounts[] = {
    "sequence_length", "micro_batch_size", "gradient_accumulation_steps",
    "nodes",           "gpus_per_node",    "world_size"};
constexpr std::string_view kTexts[] = {"framework", "model", "precision", "task", "gpu"};

bool is_one_of(std::span<const std::string_view> list, std::string_view key) {
  return std::ranges::find(list, key) != list.end();
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Reads one file; the first error stays.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  Result<Published> file(const Json& json) {
    Published out;
    if (!json.is_object() || text(json, "", "schema") != "bertbench.published/1") {
      return fail(path_, "is no object with \"schema\": \"bertbench.published/1\"", kHint);
    }
    out.name = text(json, "", "name");
    out.title = text(json, "", "title");
    out.method = text(json, "", "method");
    const Json& source = object(json, "", "source");
    out.document = text(source, "source", "document");
    out.repository = text(source, "source", "repository");
    const Json& hardware = object(json, "", "hardware");
    out.gpu = text(hardware, "hardware", "gpu");
    out.machine = text(hardware, "hardware", "machine");
    for (const auto& [name, version] : object(json, "", "software").items()) {
      out.software.emplace_back(name, text_of(version));
    }
    const Json& tables = list(json, "", "tables");
    for (const Json& each : tables) {
      const std::string at = fmt::format("tables[{}]", out.tables.size());
      out.tables.push_back(table(each, at, object(json, "", "facts"), out.gpu));
      if (error_) break;
    }
    if (error_) return tl::unexpected(*error_);
    return out;
  }

 private:
  void report(const std::string& at, const std::string& what) {
    if (!error_) error_ = Error{at.empty() ? path_ : path_ + ": " + at, what, kHint};
  }
  static std::string under(const std::string& at, std::string_view key) {
    return at.empty() ? std::string(key) : at + "." + std::string(key);
  }
  std::string text(const Json& json, const std::string& at, const char* key) {
    if (!json.is_object() || !json.contains(key)) return {};
    if (!json[key].is_string()) report(under(at, key), "must be a string");
    return text_of(json[key]);
  }
  const Json& object(const Json& json, const std::string& at, const char* key) {
    static const Json kNone = Json::object();
    if (!json.is_object() || !json.contains(key)) return kNone;
    if (json[key].is_object()) return json[key];
    report(under(at, key), "must be an object");
    return kNone;
  }
  const Json& list(const Json& json, const std::string& at, const char* key) {
    static const Json kNone = Json::array();
    if (!json.is_object() || !json.contains(key)) return kNone;
    if (json[key].is_array()) return json[key];
    report(under(at, key), "must be a list");
    return kNone;
  }

  struct Column {
    std::string key;
    bool fact = false;
  };

  /// A fact of a row, of its table or of the page. Null is unknown; a later one goes before.
  void take_fact(const std::string& at, std::string_view key, const Json& value,
                 PublishedRow& row) {
    if (value.is_null()) return;
    if (value.is_structured()) return report(at, "must be a string or a number");
    if (is_one_of(kCounts, key)) {
      // "256 and 32" is of two phases: no one number.
      if (value.is_string()) return;
      const bool good = value.is_number_integer() && value >= 1 && value <= kMostCount;
      if (!good) return report(at, "must be a whole number of at least 1");
      const auto count = value.get<std::int64_t>();
      if (key == "sequence_length") row.identity.sequence_length = count;
      if (key == "micro_batch_size") row.identity.micro_batch_size = count;
      if (key == "gradient_accumulation_steps") row.identity.gradient_accumulation_steps = count;
      if (key == "nodes") row.identity.nodes = count;
      if (key == "gpus_per_node") row.identity.gpus_per_node = count;
      if (key == "world_size") row.world_size = count;
      return;
    }
    const std::string text = text_of(value);
    if (key == "framework") {
      row.identity.framework = text;
    } else if (key == "model") {
      row.identity.model = text;
    } else if (key == "precision") {
      row.identity.precision = text;
    } else if (key == "task") {
      row.task = text;
    } else if (key == "gpu") {
      row.gpu = text;
    } else {
      row.identity.axes[std::string(key)] = text;
    }
  }

  void take_facts(const Json& facts, const std::string& at, PublishedRow& row) {
    for (const auto& [key, value] : facts.items()) take_fact(under(at, key), key, value, row);
  }

  PublishedTable table(const Json& json, const std::string& at, const Json& page,
                       const std::string& gpu) {
    PublishedTable out;
    if (!json.is_object()) return report(at, "must be an object"), out;
    out.title = text(json, at, "title");
    out.note = text(json, at, "note");
    out.flops_formula = text(json, at, "flops_formula");
    const std::string kind = text(json, at, "kind");
    if (kind == "inference") out.kind = WorkKind::inference;
    if (kind == "evaluation") out.kind = WorkKind::evaluation;
    if (const Json& base = object(json, at, "base"); !base.empty()) {
      PublishedRow of_base;
      take_facts(base, at + ".base", of_base);
      if (of_base.identity.world_size()) {
        out.base = Topology{*of_base.identity.nodes, *of_base.identity.gpus_per_node};
      }
    }
    std::vector<Column> columns;
    for (const Json& column : list(json, at, "columns")) {
      const std::string key = text(column, at + ".columns", "key");
      if (key.empty()) report(at + ".columns", "each needs a \"key\"");
      const bool known = is_one_of(kCounts, key) || is_one_of(kTexts, key);
      columns.push_back({key, known || (column.is_object() && column.value("fact", false))});
    }
    const Json& rows = list(json, at, "rows");
    for (std::size_t r = 0; r < rows.size() && !error_; ++r) {
      const std::string here = fmt::format("{}.rows[{}]", at, r);
      if (!rows[r].is_array() || rows[r].size() != columns.size()) {
        report(here,
               fmt::format("must be a list of {} values, as there are columns", columns.size()));
        break;
      }
      PublishedRow row;
      row.gpu = gpu;
      take_facts(page, "facts", row);
      take_facts(object(json, at, "facts"), at + ".facts", row);
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const Json& value = rows[r][c];
        if (columns[c].key == "line") {
          if (value.is_number_integer() && value > 0) row.line = value.get<std::int64_t>();
        } else if (columns[c].fact) {
          take_fact(here, columns[c].key, value, row);
        } else if (value.is_number() && std::isfinite(value.get<double>())) {
          row.values[columns[c].key] = value.get<double>();
        }
      }
      take_doubts(list(json, at, "doubts"), at + ".doubts", static_cast<std::int64_t>(r) + 1, row);
      // The page states GPUs in all, and how many nodes: these are those of each node.
      if (row.world_size && row.identity.nodes && !row.identity.gpus_per_node &&
          *row.world_size % *row.identity.nodes == 0) {
        row.identity.gpus_per_node = *row.world_size / *row.identity.nodes;
      }
      out.rows.push_back(std::move(row));
    }
    return out;
  }

  // By the page's lines, or by the number of the row (from 1) where the page has no lines.
  void take_doubts(const Json& doubts, const std::string& at, std::int64_t number,
                   PublishedRow& row) {
    const auto names = [&](const Json& doubt, const char* key, std::int64_t which) {
      const Json& all = list(doubt, at, key);
      return std::ranges::any_of(all, [&](const Json& one) {
        return one.is_number_integer() && one.get<std::int64_t>() == which;
      });
    };
    for (const Json& doubt : doubts) {
      if (!names(doubt, "lines", row.line) && !names(doubt, "rows", number)) continue;
      const std::string key = text(doubt, at, "key");
      std::string said = key + ": " + text(doubt, at, "why");
      if (doubt.contains("should_be")) {
        const Json& value = doubt["should_be"];
        said = fmt::format("{} should be {}: {}", key, text_of(value), text(doubt, at, "why"));
        if (is_one_of(kCounts, key)) take_fact(at, key, value, row);
      }
      row.doubts.push_back(std::move(said));
    }
  }

  std::string path_;
  std::optional<Error> error_;
};

}  // namespace

std::optional<double> PublishedRow::value(const std::string& key) const {
  const auto at = values.find(key);
  return at == values.end() ? std::nullopt : std::optional(at->second);
}

std::size_t Published::rows() const {
  std::size_t out = 0;
  for (const PublishedTable& table : tables) out += table.rows.size();
  return out;
}

std::vector<std::string> published_names() {
  std::vector<std::string> out;
  for (const EmbeddedPublished& file : kPublishedFiles) out.emplace_back(file.name);
  std::ranges::sort(out);
  return out;
}

Result<Published> read_published(std::string_view text, const std::string& path) {
  const Json json = Json::parse(text, nullptr, false, true);
  if (json.is_discarded()) return fail(path, "is no JSON", kHint);
  return Reader(path).file(json);
}

Result<Published> published_values(const std::string& name, const std::string& where) {
  if (name.ends_with(".json")) {
    const auto text = read_whole_file(name, 16, "published values are one page's tables");
    if (!text) return tl::unexpected(text.error());
    return read_published(*text, name);
  }
  for (const EmbeddedPublished& file : kPublishedFiles) {
    if (name == file.name) return read_published(file.text, "configs/published/" + name + ".json");
  }
  const std::vector<std::string> names = published_names();
  const std::string near = nearest_name(name, names);
  return fail(where, fmt::format("'{}' names no published values", name),
              near.empty() ? fmt::format("use one of {}, or a file that ends in .json",
                                         fmt::join(names, ", "))
                           : fmt::format("did you mean {}?", near));
}

}  // namespace bertbench
