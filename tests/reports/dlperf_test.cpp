#include "reports/output/dlperf.h"

#include <gtest/gtest.h>

#include "tests/reports/result_files.h"

namespace bertbench {
namespace {

using result_files::read;
using result_files::render;

// As printed by extract_mxnet_logs.py, DLPerf, MXNet/BERT/README.md, section 4. The README leaves
// out the seventh log of 2n8g, so six of its speeds are known; its average is that of the six.
constexpr const char* kPublished = R"(./logs/mxnet/bert/bz32/4n8g/bert_b32_fp32_4.log {4: 3698.92}
./logs/mxnet/bert/bz32/4n8g/bert_b32_fp32_7.log {4: 3698.92, 7: 3673.42}
./logs/mxnet/bert/bz32/4n8g/bert_b32_fp32_6.log {4: 3698.92, 7: 3673.42, 6: 3658.23}
./logs/mxnet/bert/bz32/4n8g/bert_b32_fp32_3.log {4: 3698.92, 7: 3673.42, 6: 3658.23, 3: 3666.21}
./logs/mxnet/bert/bz32/4n8g/bert_b32_fp32_5.log {4: 3698.92, 7: 3673.42, 6: 3658.23, 3: 3666.21, 5: 3671.45}
./logs/mxnet/bert/bz32/4n8g/bert_b32_fp32_2.log {4: 3698.92, 7: 3673.42, 6: 3658.23, 3: 3666.21, 5: 3671.45, 2: 3668.26}
./logs/mxnet/bert/bz32/4n8g/bert_b32_fp32_1.log {4: 3698.92, 7: 3673.42, 6: 3658.23, 3: 3666.21, 5: 3671.45, 2: 3668.26, 1: 3693.44}
./logs/mxnet/bert/bz32/1n8g/bert_b32_fp32_4.log {4: 1047.02}
./logs/mxnet/bert/bz32/1n8g/bert_b32_fp32_7.log {4: 1047.02, 7: 1050.76}
./logs/mxnet/bert/bz32/1n8g/bert_b32_fp32_6.log {4: 1047.02, 7: 1050.76, 6: 1075.79}
./logs/mxnet/bert/bz32/1n8g/bert_b32_fp32_3.log {4: 1047.02, 7: 1050.76, 6: 1075.79, 3: 1036.56}
./logs/mxnet/bert/bz32/1n8g/bert_b32_fp32_5.log {4: 1047.02, 7: 1050.76, 6: 1075.79, 3: 1036.56, 5: 1058.6}
./logs/mxnet/bert/bz32/1n8g/bert_b32_fp32_2.log {4: 1047.02, 7: 1050.76, 6: 1075.79, 3: 1036.56, 5: 1058.6, 2: 1075.74}
./logs/mxnet/bert/bz32/1n8g/bert_b32_fp32_1.log {4: 1047.02, 7: 1050.76, 6: 1075.79, 3: 1036.56, 5: 1058.6, 2: 1075.74, 1: 1061.91}
./logs/mxnet/bert/bz32/1n4g/bert_b32_fp32_4.log {4: 538.91}
./logs/mxnet/bert/bz32/1n4g/bert_b32_fp32_7.log {4: 538.91, 7: 549.75}
./logs/mxnet/bert/bz32/1n4g/bert_b32_fp32_6.log {4: 538.91, 7: 549.75, 6: 536.96}
./logs/mxnet/bert/bz32/1n4g/bert_b32_fp32_3.log {4: 538.91, 7: 549.75, 6: 536.96, 3: 549.03}
./logs/mxnet/bert/bz32/1n4g/bert_b32_fp32_5.log {4: 538.91, 7: 549.75, 6: 536.96, 3: 549.03, 5: 533.45}
./logs/mxnet/bert/bz32/1n4g/bert_b32_fp32_2.log {4: 538.91, 7: 549.75, 6: 536.96, 3: 549.03, 5: 533.45, 2: 538.5}
./logs/mxnet/bert/bz32/1n4g/bert_b32_fp32_1.log {4: 538.91, 7: 549.75, 6: 536.96, 3: 549.03, 5: 533.45, 2: 538.5, 1: 537.05}
./logs/mxnet/bert/bz32/1n1g/bert_b32_fp32_4.log {4: 149.88}
./logs/mxnet/bert/bz32/1n1g/bert_b32_fp32_7.log {4: 149.88, 7: 150.9}
./logs/mxnet/bert/bz32/1n1g/bert_b32_fp32_6.log {4: 149.88, 7: 150.9, 6: 150.04}
./logs/mxnet/bert/bz32/1n1g/bert_b32_fp32_3.log {4: 149.88, 7: 150.9, 6: 150.04, 3: 149.53}
./logs/mxnet/bert/bz32/1n1g/bert_b32_fp32_5.log {4: 149.88, 7: 150.9, 6: 150.04, 3: 149.53, 5: 150.12}
./logs/mxnet/bert/bz32/1n1g/bert_b32_fp32_2.log {4: 149.88, 7: 150.9, 6: 150.04, 3: 149.53, 5: 150.12, 2: 150.14}
./logs/mxnet/bert/bz32/1n1g/bert_b32_fp32_1.log {4: 149.88, 7: 150.9, 6: 150.04, 3: 149.53, 5: 150.12, 2: 150.14, 1: 150.11}
./logs/mxnet/bert/bz32/1n2g/bert_b32_fp32_4.log {4: 270.28}
./logs/mxnet/bert/bz32/1n2g/bert_b32_fp32_7.log {4: 270.28, 7: 268.86}
./logs/mxnet/bert/bz32/1n2g/bert_b32_fp32_6.log {4: 270.28, 7: 268.86, 6: 272.09}
./logs/mxnet/bert/bz32/1n2g/bert_b32_fp32_3.log {4: 270.28, 7: 268.86, 6: 272.09, 3: 273.02}
./logs/mxnet/bert/bz32/1n2g/bert_b32_fp32_5.log {4: 270.28, 7: 268.86, 6: 272.09, 3: 273.02, 5: 269.99}
./logs/mxnet/bert/bz32/1n2g/bert_b32_fp32_2.log {4: 270.28, 7: 268.86, 6: 272.09, 3: 273.02, 5: 269.99, 2: 271.05}
./logs/mxnet/bert/bz32/1n2g/bert_b32_fp32_1.log {4: 270.28, 7: 268.86, 6: 272.09, 3: 273.02, 5: 269.99, 2: 271.05, 1: 267.29}
./logs/mxnet/bert/bz32/2n8g/bert_b32_fp32_4.log {4: 1844.1}
./logs/mxnet/bert/bz32/2n8g/bert_b32_fp32_7.log {4: 1844.1, 7: 1841.41}
./logs/mxnet/bert/bz32/2n8g/bert_b32_fp32_6.log {4: 1844.1, 7: 1841.41, 6: 1835.11}
./logs/mxnet/bert/bz32/2n8g/bert_b32_fp32_3.log {4: 1844.1, 7: 1841.41, 6: 1835.11, 3: 1854.88}
./logs/mxnet/bert/bz32/2n8g/bert_b32_fp32_5.log {4: 1844.1, 7: 1841.41, 6: 1835.11, 3: 1854.88, 5: 1847.2}
./logs/mxnet/bert/bz32/2n8g/bert_b32_fp32_2.log {4: 1844.1, 7: 1841.41, 6: 1835.11, 3: 1854.88, 5: 1847.2, 2: 1848.74}
{'bert': {'1n1g': {'average_speed': 150.1,
                   'batch_size_per_device': 32,
                   'median_speed': 150.11,
                   'speedup': 1.0},
          '1n2g': {'average_speed': 270.37,
                   'batch_size_per_device': 32,
                   'median_speed': 270.28,
                   'speedup': 1.8},
          '1n4g': {'average_speed': 540.52,
                   'batch_size_per_device': 32,
                   'median_speed': 538.5,
                   'speedup': 3.59},
          '1n8g': {'average_speed': 1058.05,
                   'batch_size_per_device': 32,
                   'median_speed': 1058.6,
                   'speedup': 7.05},
          '2n8g': {'average_speed': 1845.24,
                   'batch_size_per_device': 32,
                   'median_speed': 1845.65,
                   'speedup': 12.3},
          '4n8g': {'average_speed': 3675.7,
                   'batch_size_per_device': 32,
                   'median_speed': 3671.45,
                   'speedup': 24.46}}}
)";

TEST(DlperfTextTest, IsWhatTheExtractScriptPrinted) {
  EXPECT_EQ(render("dlperf-text", read("dlperf_mxnet")), kPublished);
}

TEST(DlperfJsonTest, IsWhatJsonDumpWritesOfTheSameResult) {
  // The dictionary of kPublished on one line with double quotes: json.dump without indent.
  std::string json;
  const std::string text(kPublished);
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

TEST(DlperfRoundTest, RoundsTheBinaryProductWithTiesToEven) {
  EXPECT_EQ(dlperf_round(0.125), 0.12);
  EXPECT_EQ(dlperf_round(0.375), 0.38);
  // 1.005 * 100 is 100.49999999999999 in binary, 2.675 * 100 is 267.5.
  EXPECT_EQ(dlperf_round(1.005), 1.0);
  EXPECT_EQ(dlperf_round(2.675), 2.68);
}

TEST(DlperfRoundTest, NumbersLookAsPythonPrintsThem) {
  EXPECT_EQ(python_number(1), "1.0");
  EXPECT_EQ(python_number(150.1), "150.1");
  EXPECT_EQ(python_number(11269.14), "11269.14");
  EXPECT_EQ(python_number(1e22), "1e+22");
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
