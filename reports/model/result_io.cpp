#include "reports/model/result_io.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "parsers/core/parallel.h"
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

Result<std::string> read_text(const std::string& path) {
  if (path == "-") {
    std::ostringstream text;
    text << std::cin.rdbuf();
    return std::move(text).str();
  }
  std::string text;
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!unknown) text.reserve(size + 1);
  std::array<char, 1 << 16> block{};
  while (file.read(block.data(), block.size()) || file.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad() || (text.empty() && errno != 0)) {
    return fail(path, std::string("cannot be read: ") + std::strerror(errno));
  }
  return text;
}

Result<ResultSet> read(std::string text, const std::string& where) {
  ResultSet results;
  if (auto error = JsonReader(slot_of(results), where).text(std::move(text))) {
    if (error->hint.empty()) error->hint = "see configs/schema/result.schema.json";
    return tl::unexpected(*error);
  }
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
  auto text = read_text(path);
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
