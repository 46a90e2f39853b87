#include "reports/studies/published/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <span>

#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"
#include "parsers/core/whole_file.h"
#include "reports/output/value_text.h"
#include "reports/stats/flops.h"
#include "reports/stats/hardware.h"
#include "reports/stats/scaling.h"

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

/// Where a fact goes that is a whole number; of other names: nullptr.
std::optional<std::int64_t>* count_of(PublishedRow& row, std::string_view key) {
  Identity& of = row.identity;
  if (key == "sequence_length") return &of.sequence_length;
  if (key == "micro_batch_size") return &of.micro_batch_size;
  if (key == "gradient_accumulation_steps") return &of.gradient_accumulation_steps;
  if (key == "nodes") return &of.nodes;
  if (key == "gpus_per_node") return &of.gpus_per_node;
  return key == "world_size" ? &row.world_size : nullptr;
}

bool is_text(std::string_view key) {
  constexpr std::string_view kTexts[] = {"framework", "model", "precision", "task", "gpu"};
  return std::ranges::find(kTexts, key) != std::end(kTexts);
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
    if (text(json, "", "schema") != "bertbench.published/1") {
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
    for (const Json& each : list(json, "", "tables")) {
      const std::string at = fmt::format("tables[{}]", out.tables.size());
      out.tables.push_back(table(each, at, object(json, "", "facts"), out.gpu));
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
    if (!json.contains(key)) return {};
    if (!json[key].is_string()) report(under(at, key), "must be a string");
    return text_of(json[key]);
  }
  const Json& object(const Json& json, const std::string& at, const char* key) {
    static const Json kNone = Json::object();
    if (!json.contains(key)) return kNone;
    if (json[key].is_object()) return json[key];
    report(under(at, key), "must be an object");
    return kNone;
  }
  const Json& list(const Json& json, const std::string& at, const char* key) {
    static const Json kNone = Json::array();
    if (!json.contains(key)) return kNone;
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
    if (auto* const count = count_of(row, key)) {
      // "256 and 32" is of two phases: no one number.
      if (value.is_string()) return;
      const bool good = value.is_number_integer() && value >= 1 && value <= kMostCount;
      if (!good) return report(at, "must be a whole number of at least 1");
      *count = value.get<std::int64_t>();
      return;
    }
    const std::string text = text_of(value);
    if (key == "framework") row.identity.framework = text;
    if (key == "model") row.identity.model = text;
    if (key == "precision") row.identity.precision = text;
    if (key == "task") row.task = text;
    if (key == "gpu") row.gpu = text;
    if (!is_text(key)) row.identity.axes[std::string(key)] = text;
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
    PublishedRow base;
    take_facts(object(json, at, "base"), at + ".base", base);
    if (base.identity.world_size()) {
      out.base = Topology{*base.identity.nodes, *base.identity.gpus_per_node};
    }
    std::vector<Column> columns;
    for (const Json& column : list(json, at, "columns")) {
      const std::string key = text(column, at + ".columns", "key");
      if (key.empty()) report(at + ".columns", "each needs a \"key\"");
      const bool known = count_of(base, key) != nullptr || is_text(key);
      columns.push_back({key, known || (column.is_object() && column.value("fact", false))});
    }
    const Json& rows = list(json, at, "rows");
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::string here = fmt::format("{}.rows[{}]", at, r);
      if (!rows[r].is_array() || rows[r].size() != columns.size()) {
        return report(here, fmt::format("must be a list of {} values, as there are columns",
                                        columns.size())),
               out;
      }
      PublishedRow row;
      row.gpu = gpu;
      take_facts(page, "facts", row);
      take_facts(object(json, at, "facts"), at + ".facts", row);
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const Json& value = rows[r][c];
        if (columns[c].key == "line") {
          if (value.is_number_integer()) row.line = value.get<std::int64_t>();
        } else if (columns[c].fact) {
          take_fact(here, columns[c].key, value, row);
        } else if (value.is_number() && value > 0) {
          row.values[columns[c].key] = value.get<double>();
        }
      }
      take_doubts(list(json, at, "doubts"), at + ".doubts", static_cast<std::int64_t>(r) + 1, row);
      // The page states GPUs in all, and how many nodes: these are those of each node.
      if (row.world_size && row.identity.nodes && *row.world_size % *row.identity.nodes == 0) {
        row.identity.gpus_per_node = *row.world_size / *row.identity.nodes;
      }
      out.rows.push_back(std::move(row));
    }
    return out;
  }

  // By the page's lines, or by the number of the row (from 1) where the page has no lines.
  void take_doubts(const Json& doubts, const std::string& at, std::int64_t number,
                   PublishedRow& row) {
    for (const Json& doubt : doubts) {
      const auto names = [&](const char* key, std::int64_t which) {
        return std::ranges::count(list(doubt, at, key), Json(which)) > 0;
      };
      if (!names("lines", row.line) && !names("rows", number)) continue;
      const std::string key = text(doubt, at, "key");
      std::string reason = key + ": " + text(doubt, at, "why");
      if (doubt.contains("should_be")) {
        const Json& value = doubt["should_be"];
        reason = fmt::format("{} should be {}: {}", key, text_of(value), text(doubt, at, "why"));
        if (count_of(row, key) != nullptr) take_fact(at, key, value, row);
      }
      row.doubts.push_back(std::move(reason));
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
  return fail(where, fmt::format("'{}' names no published values", name),
              name_hint(name, published_names(), "use one of ", ", or a file that ends in .json"));
}

namespace {

/// True when everything that `published` names of a GPU ("V100 32GB") is in the name of ours.
bool same_gpu(const std::string& published, const std::string& ours) {
  const auto words = [](std::string_view text) {
    auto out = words_of_gpu(text);
    // "Tesla", "NVIDIA" are left out by some and added by others; "V100", "16GB" are not.
    std::erase_if(out, [](const std::string& word) {
      return std::ranges::none_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
    });
    return out;
  };
  const auto known = words(ours);
  const auto wanted = words(published);
  return !wanted.empty() && std::ranges::all_of(wanted, [&](const std::string& word) {
    return std::ranges::find(known, word) != known.end();
  });
}

constexpr double kMiB = 1 << 20, kGB = 1e9;

/// "bert-large-uncased" is a bert-large. A name of a log is never taken for a path.
std::string model_name(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::string last = slash == std::string::npos ? name : name.substr(slash + 1);
  if (last.find('.') != std::string::npos) return lower(name);
  const auto shape = model_shape(last);
  return shape ? shape->name : lower(name);
}

/// Two frameworks' names of one option.
std::string axis_name(std::string_view axis) {
  if (axis == "optim") return "optimizer";
  if (axis == "gradient_checkpointing") return "activation_checkpointing";
  return std::string(axis);
}

bool same_value(std::string_view a, std::string_view b) {
  const auto plain = [](std::string_view text) {
    const std::string word = lower(text);
    if (word == "true") return std::string("1");
    if (word == "false") return std::string("0");
    const auto number = to_double(word);
    return number ? shortest(*number) : word;
  };
  return plain(a) == plain(b);
}

std::map<std::string, std::string> axes_of(const Identity& identity) {
  std::map<std::string, std::string> out;
  for (const auto& [axis, value] : identity.axes) out.emplace(axis_name(axis), value);
  return out;
}

/// How a cell and a row agree.
struct Agreement {
  int common = 0;  ///< facts that both state, alike or not
  std::vector<StatedDifference> differ;
  std::vector<std::string> unknown_to_page, unknown_to_us;
};

Agreement agreement(const Cell& cell, const PublishedRow& row) {
  Agreement out;
  const auto fact = [&](const char* name, const auto& ours, const auto& theirs, auto same) {
    if (ours && theirs) {
      ++out.common;
      if (same(*ours, *theirs)) return;
      out.differ.push_back({name, fmt::format("{}", *theirs), fmt::format("{}", *ours)});
    } else if (ours) {
      out.unknown_to_page.emplace_back(name);
    } else if (theirs) {
      out.unknown_to_us.emplace_back(name);
    }
  };
  const auto equal = [](const auto& a, const auto& b) { return a == b; };
  const Identity& ours = cell.identity;
  const Identity& theirs = row.identity;
  fact("model", ours.model, theirs.model,
       [](const std::string& a, const std::string& b) { return model_name(a) == model_name(b); });
  fact("precision", ours.precision, theirs.precision, equal);
  fact("sequence_length", ours.sequence_length, theirs.sequence_length, equal);
  fact("micro_batch_size", ours.micro_batch_size, theirs.micro_batch_size, equal);
  fact("gradient_accumulation_steps", ours.gradient_accumulation_steps,
       theirs.gradient_accumulation_steps, equal);
  fact("nodes", ours.nodes, theirs.nodes, equal);
  fact("world_size", cell.world_size(), row.world(), equal);
  auto our_axes = axes_of(ours);
  const auto take = [&](const std::string& axis) {
    const auto known = our_axes.extract(axis);
    return known.empty() ? std::nullopt : std::optional(known.mapped());
  };
  // A fine-tuning has other sequences and another head: it is no pre-training unless both state it.
  const std::string our_task = take("task").value_or("");
  take("simulated");
  for (const auto& [axis, value] : axes_of(theirs)) {
    fact(axis.c_str(), take(axis), std::optional(value), same_value);
  }
  for (const auto& [axis, value] : our_axes) out.unknown_to_page.push_back(axis);
  if (our_task != row.task) out.differ.push_back({"task", row.task, our_task});
  return out;
}

std::vector<StatedDifference> differences(const Cell& cell, const PublishedRow& row) {
  std::vector<StatedDifference> out;
  const auto &published = row.identity.framework, &framework = cell.identity.framework;
  if (published && framework && *published != *framework) {
    out.push_back({"framework", *published, *framework});
  }
  const std::string ours = cell.identity.simulated() ? "simulated GPUs"
                           : cell.emulated           ? "stand-ins"
                                                     : cell.gpu;
  const bool stated = !ours.empty() || !row.gpu.empty();
  if (stated && !same_gpu(row.gpu, ours)) out.push_back({"gpu", row.gpu, ours});
  return out;
}

std::vector<ComparedValue> further_values(const Cell& cell, const PublishedTable& table,
                                          const PublishedRow& row) {
  std::vector<ComparedValue> out;
  const auto tflops = row.value("tflops_per_gpu");
  const auto ours = cell.flops.find(table.flops_formula);
  if (tflops && ours != cell.flops.end()) {
    out.push_back({"tflops_per_gpu", "TFLOPS by " + table.flops_formula, *tflops,
                   ours->second.tflops_per_gpu});
  }
  for (const auto& [key, unit] : {std::pair{"memory_mib", kMiB}, std::pair{"memory_gb", kGB}}) {
    const auto memory = row.value(key);
    if (!memory || !cell.memory) continue;
    out.push_back({"memory.peak_bytes", "bytes", *memory * unit,
                   static_cast<double>(cell.memory->peak_bytes)});
  }
  return out;
}

std::optional<double> rate_of(const Cell& cell) {
  const auto median = cell.median_in(RateUnit::sequences_per_second);
  return median && *median > 0 ? median : std::nullopt;
}

/// The same work on the GPUs of the base.
const Cell* base_cell(const ResultSet& set, const Cell& cell, const Topology& base) {
  Identity wanted = cell.identity;
  wanted.nodes = base.nodes;
  wanted.gpus_per_node = base.gpus_per_node;
  const auto found = [&](auto same_work) -> const Cell* {
    const auto at = std::ranges::find_if(set.cells, [&](const Cell& other) {
      return other.kind == cell.kind && other.emulated == cell.emulated && rate_of(other) &&
             same_work(other);
    });
    return at == set.cells.end() ? nullptr : &*at;
  };
  const Cell* same = found([&](const Cell& other) { return other.identity == wanted; });
  if (same != nullptr || !cell.global_batch_size()) return same;
  // Strong scaling: the batch of the whole job is cut anew for each number of GPUs.
  return found([&](const Cell& other) {
    Identity its = wanted;
    its.micro_batch_size = other.identity.micro_batch_size;
    its.gradient_accumulation_steps = other.identity.gradient_accumulation_steps;
    return other.identity == its && other.global_batch_size() == cell.global_batch_size();
  });
}

void put_speedups(const ResultSet& set, const Cell& cell, const PublishedTable& table,
                  ComparedRow& out) {
  if (!table.base) return;
  out.speedup_base = table.base->str();
  const auto efficiency = [&](double speedup) {
    return scaling_efficiency(speedup, table.base->world_size(), *cell.world_size());
  };
  if (const auto speedup = out.row.value("speedup")) {
    out.speedup_published = *speedup;
    out.efficiency_published = efficiency(*speedup);
  }
  const Cell* base = base_cell(set, cell, *table.base);
  if (base == nullptr || !out.ours) return;
  out.speedup_ours = *out.ours / *rate_of(*base);
  out.efficiency_ours = efficiency(*out.speedup_ours);
}

struct Candidate {
  std::size_t table = 0, row = 0;
  Agreement how;
};

/// The rows that a cell could be held against, of its kind of work and with a rate.
std::vector<Candidate> candidate_rows(const Cell& cell, const Published& page) {
  std::vector<Candidate> out;
  for (std::size_t t = 0; t < page.tables.size(); ++t) {
    const PublishedTable& table = page.tables[t];
    if (table.kind != cell.kind) continue;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const PublishedRow& row = table.rows[r];
      if (!row.identity.model || !row.world() || !row.value("sequences_per_second")) continue;
      out.push_back({t, r, agreement(cell, row)});
    }
  }
  return out;
}

/// Those that fit with the most facts in common.
std::vector<Candidate> fitting_rows(const std::vector<Candidate>& all) {
  std::vector<Candidate> out = all;
  std::erase_if(out, [](const Candidate& each) { return !each.how.differ.empty(); });
  const auto common = [](const Candidate& each) { return each.how.common; };
  if (out.empty()) return out;
  const int most = std::ranges::max(out, {}, common).how.common;
  std::erase_if(out, [&](const Candidate& each) { return common(each) < most; });
  return out;
}

/// Why none fits: how the row differs that differs in the fewest facts, the first of several.
std::string why_none_fits(const std::vector<Candidate>& all, const Published& page) {
  std::string out = "no published row is of this work";
  const auto by_differences = [](const Candidate& a, const Candidate& b) {
    return a.how.differ.size() < b.how.differ.size();
  };
  const auto nearest = std::ranges::min_element(all, by_differences);
  if (nearest == all.end()) return out;
  std::vector<std::string> words;
  for (const StatedDifference& fact : nearest->how.differ) {
    const auto text = [](const std::string& value) { return value.empty() ? "none" : value; };
    words.push_back(fmt::format("{} is {} there and {} here", fact.fact, text(fact.published),
                                text(fact.ours)));
  }
  const PublishedRow& row = page.tables[nearest->table].rows[nearest->row];
  return fmt::format("{}; of the nearest, {}, {}", out, row.identity.key(), fmt::join(words, ", "));
}

ComparedRow compared_row(const ResultSet& set, const Cell& cell, const Published& page,
                         Candidate candidate) {
  const PublishedTable& table = page.tables[candidate.table];
  ComparedRow out;
  out.key = cell.key;
  out.kind = cell.kind;
  out.emulated = cell.emulated;
  out.simulated = cell.identity.simulated();
  out.table = candidate.table;
  out.row = table.rows[candidate.row];
  out.published = *out.row.value("sequences_per_second");
  out.ours = rate_of(cell);
  out.n = out.ours ? cell.throughput.n : 0;
  if (out.ours) {
    out.ratio = *out.ours / out.published;
    if (const auto shown = shown_interval(cell)) {
      out.interval = Interval{shown->interval.low / out.published,
                              shown->interval.high / out.published, shown->interval.coverage};
    }
  }
  put_speedups(set, cell, table, out);
  out.values = further_values(cell, table, out.row);
  out.unknown_to_page = std::move(candidate.how.unknown_to_page);
  out.unknown_to_us = std::move(candidate.how.unknown_to_us);
  out.differences = differences(cell, out.row);
  return out;
}

}  // namespace

std::size_t PublishedComparison::compared() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(rows, [](const ComparedRow& row) { return row.ratio.has_value(); }));
}

PublishedComparison compare_with_published(const ResultSet& ours, const Published& page) {
  PublishedComparison out;
  for (const Cell& cell : ours.cells) {
    if (!cell.identity.model || !cell.world_size()) {
      out.unmatched.push_back({cell.key, cell.identity.model ? "its number of GPUs is not known"
                                                             : "its model is not known"});
      continue;
    }
    const std::vector<Candidate> all = candidate_rows(cell, page);
    std::vector<Candidate> fitting = fitting_rows(all);
    if (fitting.empty()) {
      out.unmatched.push_back({cell.key, why_none_fits(all, page)});
      continue;
    }
    for (Candidate& candidate : fitting) {
      out.rows.push_back(compared_row(ours, cell, page, std::move(candidate)));
    }
  }
  return out;
}

}  // namespace bertbench
