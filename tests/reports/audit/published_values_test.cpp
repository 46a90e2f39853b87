// configs/published/*.json against the transcriptions in tests/data/published and against `audit`.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "parsers/core/text.h"
#include "reports/studies/published/published.h"
#include "tests/read_file.h"
#include "tests/reports/audit/audit_cases.h"

namespace bertbench::audit {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

std::string file_text(const std::string& path) {
  std::string text = test::read_file(std::string(BB_SOURCE_DIR) + "/" + path);
  EXPECT_FALSE(text.empty()) << path;
  return text;
}

json page_of(const std::string& name) {
  return json::parse(file_text("configs/published/" + name + ".json"), nullptr, true, true);
}

/// The part of "256 and 32" or "32/32" that a column of the JSON names, from 1; 0: the whole cell.
std::string part_of(const std::string& cell, int part) {
  if (part == 0) return cell;
  for (const std::string separator : {" and ", "/"}) {
    const auto at = cell.find(separator);
    if (at != std::string::npos) {
      return part == 1 ? cell.substr(0, at) : cell.substr(at + separator.size());
    }
  }
  return cell;
}

bool same(const json& value, const std::string& printed) {
  if (value.is_null()) return printed.empty() || printed == "---";
  if (value.is_string()) return value.get<std::string>() == printed;
  const auto number = to_double(printed);
  return number && value.is_number() && value.get<double>() == *number;
}

/// Of a page's transcriptions: the table that has all these headings and the row of that line, or
/// the number of the row where the page has no lines.
struct Transcribed {
  std::vector<SourceTable> tables;

  explicit Transcribed(const json& page) {
    for (const json& name : page["source"]["data"]) {
      for (SourceTable& table :
           read_csv_tables(file_text("tests/data/published/" + name.get<std::string>()))) {
        tables.push_back(std::move(table));
      }
    }
  }

  static int column(const SourceTable& table, const std::string& heading) {
    const auto& headings = table.rows.front().cells;
    const auto at = std::ranges::find(headings, heading);
    return at == headings.end() ? -1 : static_cast<int>(at - headings.begin());
  }

  /// Every printed cell of that heading and line; several tables may have one line.
  std::vector<std::string> printed(const std::string& heading, const json& line) const {
    std::vector<std::string> out;
    for (const SourceTable& table : tables) {
      const int at = column(table, heading), lines = column(table, "line");
      if (at < 0 || lines < 0) continue;
      for (std::size_t r = 1; r < table.rows.size(); ++r) {
        const auto& cells = table.rows[r].cells;
        if (same(line, cells[static_cast<std::size_t>(lines)])) {
          out.push_back(static_cast<std::size_t>(at) < cells.size()
                            ? cells[static_cast<std::size_t>(at)]
                            : std::string());
        }
      }
    }
    return out;
  }
};

class PublishedValues : public testing::TestWithParam<std::string> {};

TEST_P(PublishedValues, EqualTheTranscriptionOfThePage) {
  const json page = page_of(GetParam());
  const Transcribed source(page);
  int compared = 0;
  std::size_t next_unlined = 0;
  for (const json& table : page["tables"]) {
    const json& columns = table["columns"];
    const bool lines = columns[0]["key"] == "line";
    const SourceTable* unlined = nullptr;
    if (!lines) {  // the tables of such a page stand in its order
      while (next_unlined < source.tables.size()) {
        const SourceTable& each = source.tables[next_unlined++];
        const bool fits = std::ranges::all_of(columns, [&](const json& column) {
          return Transcribed::column(each, column["heading"]) >= 0;
        });
        const auto& first = table["rows"][0];
        const int rate = Transcribed::column(each, "samples/s");
        std::size_t c = 0;
        while (columns[c]["key"] != "sequences_per_second") ++c;
        if (fits && same(first[c], each.rows[1].cells[static_cast<std::size_t>(rate)])) {
          unlined = &each;
          break;
        }
      }
      ASSERT_NE(unlined, nullptr) << table["title"];
      ASSERT_EQ(unlined->rows.size(), table["rows"].size() + 1) << table["title"];
    }
    for (std::size_t r = 0; r < table["rows"].size(); ++r) {
      const json& row = table["rows"][r];
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const std::string heading = columns[c]["heading"];
        const int part = columns[c].value("part", 0);
        std::vector<std::string> printed;
        if (lines) {
          printed = source.printed(heading, row[0]);
        } else {
          const auto& cells = unlined->rows[r + 1].cells;
          printed = {cells[static_cast<std::size_t>(Transcribed::column(*unlined, heading))]};
        }
        const bool found = std::ranges::any_of(
            printed, [&](const std::string& cell) { return same(row[c], part_of(cell, part)); });
        EXPECT_TRUE(found) << table["title"] << ", row " << row << ", " << heading;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 10);
}

/// A table of the JSON as CSV, with the page's headings, for the audit.
std::string as_csv(const json& table) {
  std::string out = "# " + table["title"].get<std::string>() + "\n";
  const auto line = [&](auto cell) {
    for (std::size_t c = 0; c < table["columns"].size(); ++c) {
      out += (c == 0 ? "\"" : ",\"") + cell(c) + "\"";
    }
    out += "\n";
  };
  line([&](std::size_t c) { return table["columns"][c]["heading"].get<std::string>(); });
  for (const json& row : table["rows"]) {
    line([&](std::size_t c) {
      return row[c].is_null()     ? std::string()
             : row[c].is_string() ? row[c].get<std::string>()
                                  : shortest(row[c].get<double>());
    });
  }
  return out;
}

// What the audit calls impossible is a doubt of the file, and names what should stand there.
TEST_P(PublishedValues, DerivedColumnsPassTheAuditOrAreDoubted) {
  const json page = page_of(GetParam());
  if (GetParam() == "bing-bert") GTEST_SKIP() << "samples of a step are no column of its tables";
  for (const json& table : page["tables"]) {
    for (const TableAudit& audited : audit_page(as_csv(table), "page.csv", {}).tables) {
      for (const CheckedCell& cell : audited.cells) {
        if (cell.verdict != Verdict::impossible && cell.verdict != Verdict::truncated) continue;
        std::size_t column = 0;
        while (table["columns"][column]["heading"] != cell.heading) ++column;
        const std::string key = table["columns"][column]["key"];
        const bool lines = table["columns"][0]["key"] == "line";
        const json at = lines ? table["rows"][cell.row][0] : json(cell.row + 1);
        bool doubted = false;
        for (const json& doubt : table.value("doubts", json::array())) {
          const json& where = doubt.value(lines ? "lines" : "rows", json::array());
          const bool here = std::ranges::find(where, at) != where.end() && doubt["key"] == key;
          doubted = doubted || (here && same(doubt.value("should_be", json()),
                                             shortest(to_double(cell.should_be).value_or(0))));
        }
        EXPECT_TRUE(doubted) << table["title"] << ", " << key << " at " << at << ": " << cell.number
                             << " should be " << cell.should_be;
      }
    }
  }
}

// The audit finds more with the whole page before it: what it calls impossible there is doubted
// too.
TEST_P(PublishedValues, WhatIsImpossibleInTheTranscriptionIsDoubted) {
  const json page = page_of(GetParam());
  if (GetParam() == "bing-bert") GTEST_SKIP() << "samples of a step are no column of its tables";
  std::set<std::string> doubted;
  for (const json& table : page["tables"]) {
    for (const json& doubt : table.value("doubts", json::array())) {
      if (doubt.contains("should_be")) {
        doubted.insert(shortest(doubt["should_be"].get<double>()));
      }
    }
  }
  for (const json& name : page["source"]["data"]) {
    const std::string path = "tests/data/published/" + name.get<std::string>();
    for (const TableAudit& audited : audit_page(file_text(path), path, {}).tables) {
      for (const CheckedCell& cell : audited.cells) {
        if (cell.verdict != Verdict::impossible) continue;
        if (GetParam() == "dlperf-oneflow-insightface" || GetParam() == "dlperf-paddle-resnet50") {
          continue;  // they share one transcription
        }
        EXPECT_TRUE(doubted.contains(shortest(to_double(cell.should_be).value_or(0))))
            << path << ":" << cell.line << ": " << cell.number << " -> " << cell.should_be;
      }
    }
  }
}

TEST_P(PublishedValues, AreReadAndNameTheirSource) {
  const auto page = published_values(GetParam(), "--published");
  ASSERT_TRUE(page) << page.error().message();
  EXPECT_EQ(page->name, GetParam());
  EXPECT_FALSE(page->title.empty());
  EXPECT_FALSE(page->document.empty());
  EXPECT_FALSE(page->repository.empty());
  EXPECT_GT(page->rows(), 2U);
}

INSTANTIATE_TEST_SUITE_P(All, PublishedValues, testing::ValuesIn(published_names()),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(PublishedFiles, EveryFileOfTheFolderIsInTheProgram) {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(BB_SOURCE_DIR) + "/configs/published")) {
    names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, published_names());
}

TEST(PublishedFiles, AFactInDoubtIsMatchedAsItShouldBe) {
  const auto page = published_values("ngc-bert-pytorch", "");
  ASSERT_TRUE(page);
  for (const PublishedTable& table : page->tables) {
    if (table.title != "Pre-training, DGX-1, mixed precision") continue;
    EXPECT_EQ(table.rows.at(1).identity.micro_batch_size, 64);
    EXPECT_EQ(table.rows.at(1).identity.gpus_per_node, 8);
    ASSERT_EQ(table.rows.at(1).doubts.size(), 1U);
    EXPECT_THAT(table.rows.at(1).doubts[0], HasSubstr("4096 / 64"));
    return;
  }
  FAIL() << "the table of the DGX-1 is not there";
}

TEST(PublishedFiles, AnUnknownNameIsAnErrorWithTheNearest) {
  const auto wrong = published_values("dlperf-mxnt", "--published");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message(),
            "--published: 'dlperf-mxnt' names no published values; did you mean 'dlperf-mxnet'?");
}

TEST(PublishedFiles, AWrongFileIsAnErrorThatNamesThePlace) {
  const auto error = [](const std::string& text) {
    const auto page = read_published(text, "x.json");
    return page ? std::string() : page.error().message();
  };
  const std::string head = R"({"schema": "bertbench.published/1", "tables": [)";
  EXPECT_THAT(error("{"), HasSubstr("x.json: is no JSON"));
  EXPECT_THAT(error("[]"), HasSubstr("bertbench.published/1"));
  EXPECT_THAT(error(head + R"({"columns": [{"key": "nodes"}], "rows": [[1, 2]]}]})"),
              HasSubstr("x.json: tables[0].rows[0]: must be a list of 1 values"));
  EXPECT_THAT(error(head + R"({"columns": [{"key": "nodes"}], "rows": [[-1]]}]})"),
              HasSubstr("whole number of at least 1"));
  EXPECT_THAT(error(head + R"({"columns": [{"key": "model"}], "rows": [[[]]]}]})"),
              HasSubstr("must be a string or a number"));
  EXPECT_THAT(error(head + R"({"title": 1}]})"), HasSubstr("tables[0].title: must be a string"));
  EXPECT_THAT(error(head + R"({"columns": [{}], "rows": []}]})"), HasSubstr("needs a \"key\""));
  EXPECT_THAT(error(head + "7]}"), HasSubstr("tables[0]: must be an object"));
}

}  // namespace
}  // namespace bertbench::audit
