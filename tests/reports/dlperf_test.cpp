#include "reports/output/dlperf.h"

#include <gtest/gtest.h>

#include "tests/reports/result_files.h"

namespace bertbench {
namespace {

using result_files::read;
using result_files::render;

// As printed by extract_mxnet_logs.py, DLPerf, MXNet/BERT/README.md, section 4, letter by letter.
// The README leaves out the seventh log of 2n8g, so six of its speeds are known; its average is
// that of the six. GoldenTest compares it with the report dlperf-text.
const char* const kPublished = BB_SOURCE_DIR "/tests/golden/reports/dlperf_mxnet.dlperf-text";

TEST(DlperfJsonTest, IsWhatJsonDumpWritesOfTheSameResult) {
  // The dictionary of kPublished on one line with double quotes: json.dump without indent.
  std::string json;
  const std::string text = result_files::read_file(kPublished);
  for (std::size_t at = text.find("{'bert'"); at < text.size(); ++at) {
    if (text[at] == '\'') {
      json += '"';
    } else if (text[at] == '\n') {
      if (at + 1 < text.size()) json += ' ';
      while (at + 1 < text.size() && text[at + 1] == ' ') ++at;
    } else {
      json += text[at];
    }
  }
  EXPECT_EQ(render("dlperf", read("dlperf_mxnet")), json + "\n");
}

TEST(DlperfRoundTest, NumbersLookAsPythonPrintsThem) {
  EXPECT_EQ(python_number(1), "1.0");
  EXPECT_EQ(python_number(150.1), "150.1");
  EXPECT_EQ(python_number(11269.14), "11269.14");
  EXPECT_EQ(python_number(1e22), "1e+22");
}

TEST(DlperfTextTest, NamesAreQuotedAsPythonDoes) {
  for (const auto& [model, quoted] :
       {std::pair{"it's", "\"it's\""}, {"it's \"x\"", "'it\\'s \"x\"'"}, {"a\\b", "'a\\\\b'"}}) {
    ResultSet set = read("dlperf_mxnet");
    set.cells.resize(1);
    set.cells[0].identity.model = model;
    EXPECT_NE(render("dlperf-text", set).find(std::string("{") + quoted + ": {"), std::string::npos)
        << model;
  }
}

TEST(DlperfResultTest, OddTrialsDoNotEnterAsZero) {
  // b64 on 1n2g lost one of five trials to NaN: an average over five with a zero is 20 % less.
  const DlperfResult result = dlperf_result(read("failures"));
  for (const auto& [model, cells] : result.models)
    for (const auto& [topology, cell] : cells) {
      EXPECT_GT(cell.average_speed, 0) << model << topology;
      EXPECT_NEAR(cell.average_speed / cell.median_speed, 1, 0.02) << model << " " << topology;
    }
}

TEST(DlperfResultTest, NamesTellConfigurationsOfOneModelApart) {
  const DlperfResult result = dlperf_result(read("failures"));
  std::vector<std::string> names;
  for (const auto& entry : result.models) names.push_back(entry.first);
  const std::vector<std::string> expected = {"bert-base_b32_fp16", "bert-base_b32_fp32",
                                             "bert-base_b64_fp16", "bert-base_b96_fp16"};
  EXPECT_EQ(names, expected);
}

TEST(DlperfResultTest, NoSpeedupWithoutOneGpuOnOneNode) {
  ResultSet set = read("dlperf_mxnet");
  std::erase_if(set.cells, [](const Cell& cell) { return cell.identity.world_size() == 1; });
  const DlperfResult result = dlperf_result(set);
  for (const auto& [topology, cell] : result.models.at("bert"))
    EXPECT_FALSE(cell.speedup) << topology;
}

}  // namespace
}  // namespace bertbench
