// The golden log of every style: scripted clock, scripted losses. BB_UPDATE_GOLDEN=1 rewrites.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/golden.h"
#include "tests/workloads/driver/scripted_log.h"
#include "workloads/bert/log/log_style.h"
#include "workloads/bert/log/text.h"

namespace bert {
namespace {

using testing::log_of;
using testing::scripted_facts;
using testing::stamp_at;

void expect_golden(const std::string& text, const std::string& name) {
  bertbench::test::expect_golden("tests/workloads/driver/golden/" + name, text);
}

TEST(LogStyles, EveryStyleMatchesItsGoldenLog) {
  ASSERT_GE(log_style_names().size(), 10u);
  for (const std::string& name : log_style_names()) {
    expect_golden(log_of(name), name + ".log");
    expect_golden(log_of(name, {.signal = 15, .nan_step = 0}), name + "_interrupted.log");
    expect_golden(log_of(name, {.fp16 = true}), name + "_fp16.log");
  }
}

TEST(NativeStyle, EveryLineIsJsonWithNotANumberAsText) {
  std::istringstream lines(log_of("native"));
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(lines, line);) {
    all.push_back(nlohmann::json::parse(line));
  }
  ASSERT_EQ(all.size(), 5u);  // header, steps 2, 4 and 6, summary
  EXPECT_EQ(all[0]["global_batch_size"], 96);
  EXPECT_EQ(all[1]["step"], 2);
  EXPECT_EQ(all[1]["steps"], 2);
  EXPECT_NEAR(all[1]["seconds"].get<double>(), 0.99, 1e-9);
  EXPECT_NEAR(all[1]["sequences_per_second"].get<double>(), 96 / 0.99, 1e-6);
  EXPECT_EQ(all[3]["mean_loss"], "nan");  // steps 5 and 6
  EXPECT_EQ(all[4]["first_nan_step"], 5);
}

TEST(NativeStyle, BytesThatAreNotUtf8DoNotBreakTheLog) {
  std::ostringstream out;
  RunFacts f = scripted_facts();
  f.host = "caf\xe9";
  find_log_style("native")->make(out)->begin(f, stamp_at(0));
  EXPECT_TRUE(nlohmann::json::accept(out.str()));
}

TEST(NativeStyle, NamesTheGpuWhereThereIsOne) {
  std::ostringstream cpu, gpu;
  RunFacts f = scripted_facts();
  find_log_style("native")->make(cpu)->begin(f, stamp_at(0));
  EXPECT_FALSE(nlohmann::json::parse(cpu.str())["versions"].contains("gpu"));
  f.gpu = "NVIDIA H200";
  find_log_style("native")->make(gpu)->begin(f, stamp_at(0));
  EXPECT_EQ(nlohmann::json::parse(gpu.str())["versions"]["gpu"], "NVIDIA H200");
}

TEST(TfStyle, EveryMessageStandsTwice) {
  std::istringstream lines(log_of("tf"));
  std::string first, second;
  int pairs = 0;
  while (std::getline(lines, first) && std::getline(lines, second)) {
    const std::string message = first.substr(first.find(":tensorflow:") + 12);
    EXPECT_TRUE(second.ends_with("] " + message)) << first << '\n' << second;
    ++pairs;
  }
  EXPECT_GT(pairs, 12);
}

TEST(NumberText, IsSpelledAsPythonAndNumpyDo) {
  EXPECT_EQ(python_float(0.006), "0.006");
  EXPECT_EQ(python_float(7.151985398522354e-05), "7.151985398522354e-05");
  EXPECT_EQ(python_float(7048), "7048.0");
  EXPECT_EQ(python_float(1e16), "1e+16");
  EXPECT_EQ(python_float(std::nan("")), "nan");
  EXPECT_EQ(python_float(-1.0 / 0.0), "-inf");
  EXPECT_EQ(numpy_float32(11.1450205), "11.1450205");
  EXPECT_EQ(percent_g(0.1845049), "0.184505");
  EXPECT_EQ(percent_g(1234567), "1.23457e+06");
  EXPECT_EQ(python_json_float(-1.0 / 0.0), "-Infinity");
  EXPECT_EQ(python_datetime(1769903999.25), "2026-01-31 23:59:59.250000");
  EXPECT_EQ(rfc3339(1769903999.9996), "2026-01-31T23:59:59.999Z");
}

}  // namespace
}  // namespace bert
