#include "reports/model/result_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "parsers/core/parallel.h"
#include "parsers/core/whole_file.h"
#include "reports/model/json_reader.h"
#include "reports/model/json_writer.h"

namespace bertbench {

using Json = nlohmann::ordered_json;

Json to_json(const TimeRecord& time) { return JsonWriter::json_of(time); }
Json to_json(const ResultSet& results) { return JsonWriter::json_of(results); }
Json to_json(const Cell& cell) { return JsonWriter::json_of(cell); }
Json to_json(const Trial& trial) { return JsonWriter::json_of(trial); }

namespace {

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The members of an object, a line each, and of a list of objects again; what is further inside
/// stands on one line, so that a trial is a line: large files stay small and quick to read, and a
/// diff shows trials. `member` may write a member's value itself, then it returns true.
void write_lines(const Json& object, const std::string& margin, const TextSink& out,
                 const std::function<bool(const std::string& key)>& member) {
  out("{");
  const char* separator = "\n";
  for (const auto& [key, value] : object.items()) {
    out(separator + margin + "  " + dump(key) + ": ");
    separator = ",\n";
    if (member(key)) continue;
    const bool list = value.is_array() && !value.empty() && value.front().is_object();
    if (!list) {
      out(dump(value));
      continue;
    }
    out("[");
    for (const Json& element : value) {
      out((&element == &value.front() ? "\n" : ",\n") + margin + "    " + dump(element));
    }
    out("\n" + margin + "  ]");
  }
  out("\n" + margin + "}");
}

/// A cell with its trials one after the other: neither is ever whole in memory.
void write_cell(const CellSource& cells, std::size_t i, const TextSink& out) {
  const std::string margin = "    ";
  out(i == 0 ? "\n    " : ",\n    ");
  write_lines(to_json(cells.cell(i)), margin, out, [&](const std::string& key) {
    if (key != "trials") return false;
    bool first = true;
    cells.each_trial(i, [&](const Trial& trial) {
      out((first ? "[\n" : ",\n") + margin + "    " + dump(to_json(trial)));
      first = false;
    });
    out(first ? "[]" : "\n" + margin + "  ]");
    return true;
  });
}

void write_cells(const CellSource& cells, const TextSink& out) {
  // Blocks of cells go side by side; one of very many trials is written as it is made.
  constexpr std::size_t kBlock = 8, kBlocks = 32, kLeastBlocks = 4, kManyTrials = 1000;
  out("[");
  for (std::size_t begin = 0; begin < cells.size();) {
    std::size_t end = begin;
    while (end < cells.size() && end - begin < kBlock * kBlocks &&
           cells.trials(end) <= kManyTrials) {
      ++end;
    }
    std::vector<std::string> blocks((end - begin + kBlock - 1) / kBlock);
    for_each_index(blocks.size(), kLeastBlocks, [&](std::size_t block) {
      const std::size_t from = begin + block * kBlock;
      for (std::size_t i = from; i < std::min(end, from + kBlock); ++i) {
        write_cell(cells, i, [&](std::string_view text) { blocks[block] += text; });
      }
    });
    for (const std::string& block : blocks) out(block);
    if (begin == end) write_cell(cells, end++, out);
    begin = end;
  }
  out(cells.size() == 0 ? "]" : "\n  ]");
}

}  // namespace

void write_text(const CellSource& cells, const TextSink& out) {
  write_lines(to_json(cells.head()), "", out, [&](const std::string& key) {
    if (key != "cells") return false;
    write_cells(cells, out);
    return true;
  });
  out("\n");
}

std::string to_text(const ResultSet& results) {
  std::string out;
  write_text(SetSource(results), [&](std::string_view text) { out += text; });
  return out;
}

namespace {

constexpr std::size_t kLargestMib = 1024;  // 10,000 cells with their trials take some 100

/// Whether `text` can be a name of bertbench's own: those are printed as they are, to a terminal
/// and into pages.
bool is_own_word(std::string_view text) {
  constexpr std::size_t kLongestWord = 120;  // bytes; window rules are the longest
  return text.size() <= kLongestWord && std::ranges::all_of(text, [](char c) {
           return c >= ' ' && c <= '~' &&
                  std::string_view("<>&|`\\\"'").find(c) == std::string_view::npos;
         });
}

/// Refuses a file whose names of units, formats, rules and estimators no bertbench wrote.
Result<void> check_words(const ResultSet& results, const std::string& where) {
  const auto refused = [&](std::size_t cell, const char* key) {
    return fail(where, fmt::format("cells[{}]: '{}' holds what bertbench never writes", cell, key),
                "it was damaged or made by another program");
  };
  for (std::size_t i = 0; i < results.cells.size(); ++i) {
    const Cell& cell = results.cells[i];
    const auto is_unit = [&](RateUnit unit) { return cell.throughput.unit == name(unit); };
    if (std::ranges::none_of(kRateUnits, is_unit)) return refused(i, "throughput.unit");
    for (const Trial& trial : cell.trials) {
      if (!is_own_word(trial.format)) return refused(i, "trials[].format");
      if (!is_own_word(trial.window.rule)) return refused(i, "trials[].window.rule");
      if (!is_own_word(trial.estimator)) return refused(i, "trials[].estimator");
      for (const auto& [estimator, rate] : trial.estimators) {
        if (!is_own_word(estimator)) return refused(i, "trials[].estimators");
      }
    }
  }
  return {};
}

Result<ResultSet> read(std::string text, const std::string& where) {
  ResultSet results;
  if (auto error = JsonReader(slot_of(results), where).text(std::move(text))) {
    if (error->hint.empty()) error->hint = "see configs/schema/result.schema.json";
    return tl::unexpected(*error);
  }
  if (auto words = check_words(results, where); !words) return tl::unexpected(words.error());
  for (Cell& cell : results.cells) {
    // Files of before 0.2 have it in the trials alone.
    for (const Trial& trial : cell.memory ? std::vector<Trial>() : cell.trials) {
      if (trial.memory) take_more(cell.memory, *trial.memory, trial.outcome.status);
    }
  }
  return results;
}

}  // namespace

Result<ResultSet> result_set_from_text(std::string_view text, const std::string& where) {
  return read(std::string(text), where);
}

Result<ResultSet> read_result_set(const std::string& path_or_run_folder, Parts parts) {
  namespace fs = std::filesystem;
  std::error_code code;
  std::string path = path_or_run_folder;
  if (fs::is_directory(path, code)) {
    path = (fs::path(path) / kResultsFile).string();
    if (!fs::exists(path, code)) {
      return fail(path_or_run_folder, "holds no " + std::string(kResultsFile),
                  "a run folder gets one from bertbench sweep");
    }
  }
  auto text = read_whole_file(path, kLargestMib, "");
  if (!text) return tl::unexpected(text.error());
  if (text->empty()) return fail(path, "is empty", "expected a result set");
  auto results = read(std::move(*text), path);
  if (results && parts == Parts::refused && !results->partial.is_null()) {
    return fail(path, "is one shard of a result, not the whole",
                "join the results of all shards with bertbench merge");
  }
  return results;
}

}  // namespace bertbench
