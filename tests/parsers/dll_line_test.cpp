// The hand reader of DLLogger lines reads what the JSON library reads.
#include "parsers/formats/dllogger/dll_line.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "parsers/core/text.h"
#include "parsers/lines/decimal.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

std::optional<double> number(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return std::nullopt;
  if (at->is_number()) return at->get<double>();
  if (at->is_string()) return to_double(at->get_ref<const std::string&>());
  return std::nullopt;
}

// As the format reads such a line by the library alone.
std::optional<DllStep> by_library(std::string_view text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object() || !object.contains("step") || !object.contains("data"))
    return std::nullopt;
  const nlohmann::json& step = object["step"];
  const nlohmann::json& data = object["data"];
  if (!step.is_array() || step.empty() || step.size() > 2 || !step.back().is_number() ||
      !data.is_object()) {
    return std::nullopt;
  }
  DllStep out;
  out.iteration = step.back().get<double>();
  out.skipped = number(data, "skipped_steps");
  const auto stamp = number(object, "timestamp");
  out.time_s = stamp ? *stamp : number(data, "timestamp").value_or(kUnknown);
  out.last = data.contains("final_loss");
  for (const char* key : {"step_loss", "average_loss", "final_loss", "train.loss", "train_loss"}) {
    if (!out.loss) out.loss = number(data, key);
  }
  out.rate = number(data, "train.total_ips").value_or(kUnknown);
  return out;
}

void expect_same(const DllStep& got, const DllStep& expected, const std::string& text) {
  EXPECT_TRUE(same(got.iteration, expected.iteration)) << text;
  EXPECT_EQ(got.skipped, expected.skipped) << text;
  EXPECT_EQ(got.loss, expected.loss) << text;
  EXPECT_TRUE(same(got.time_s, expected.time_s)) << text;
  EXPECT_TRUE(same(got.rate, expected.rate)) << text;
  EXPECT_EQ(got.last, expected.last) << text;
}

const std::string kUsual =
    R"({"timestamp": "1600000000.370000", "datetime": "2020-09-13 12:26:40.123456", )"
    R"("elapsedtime": "0.370000", "type": "LOG", "step": [0, 1], "data": )"
    R"({"average_loss": 2.134364244112, "step_loss": 2.8474337, "learning_rate": 0.004582})"
    "}";

TEST(DllLine, ReadsTheUsualLines) {
  DllStep step;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(read_dll_line(kUsual, step));
    expect_same(step, *by_library(kUsual), kUsual);
  }
  EXPECT_EQ(step.loss, 2.8474337);
  EXPECT_EQ(step.time_s, 1600000000.37);
}

// The line is looked at 64 bytes at a time.
TEST(DllLine, ReadsALineWhereverItsStringsBeginAndEnd) {
  DllStep step;
  for (std::size_t blanks = 0; blanks < 150; ++blanks) {
    const std::string pad(blanks, ' ');
    for (const std::string& text :
         {"{" + pad + kUsual.substr(1), kUsual + pad, R"({"data": {}, "step": [)" + pad + "4]}",
          R"({"type": ")" + pad + R"(", "step": [1, 5], "data": {"step_loss": 2.5}})"}) {
      ASSERT_TRUE(read_dll_line(text, step)) << text;
      expect_same(step, *by_library(text), text);
    }
    EXPECT_FALSE(read_dll_line(R"({"type": ")" + pad + R"(\t", "step": [5], "data": {}})", step));
  }
}

TEST(DllLine, AgreesWithTheLibraryOnDamagedAndUnusualLines) {
  const std::vector<std::string> seeds = {
      kUsual,
      R"({"step": [0, 7.5], "data": {"final_loss": -1.5e-3, "skipped_steps": 2}, "type": "LOG"})",
      R"({"timestamp":12,"step":[9],"data":{"train_loss":"3.5","train.total_ips":1234.5}})",
      R"({"data": {"timestamp": 5, "step_loss": "x", "train.loss": 1}, "step": [1, 2]})",
      R"({"step": [1, 2], "data": {}})",
      R"({"step": [1, 2], "data": {"a": [1], "step_loss": 1}})",
      R"({"step": [1, 2], "step": [1, 3], "data": {"step_loss": 1, "step_loss": 2}})",
      R"({"step": [0, 3], "data": {"lr": 5.1e-05, "step_loss": 2.5, "x": 12e+07, "y": 1E99}})",
      R"({"step": [0, 123456789012], "data": {"step_loss": 12345678.90123456, "x": 123456789}})"};
  std::mt19937 random(3);
  const std::string bytes = "0123456789.-+eE\"\\{}[],: tfn\x01\x80\xc3";
  std::size_t read = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string text = seeds[random() % 4 != 0 ? 0 : random() % seeds.size()];
    for (auto changes = random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = bytes[random() % bytes.size()];
          break;
        case 1:
          text.erase(at, 1 + random() % 3);
          break;
        default:
          text.insert(at, 1, bytes[random() % bytes.size()]);
      }
      if (text.empty()) text = "{";
    }
    DllStep got;
    if (!read_dll_line(text, got)) continue;
    ++read;
    const auto expected = by_library(text);
    ASSERT_TRUE(expected) << text;
    expect_same(got, *expected, text);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(read, 20'000u) << "most lines are read by hand";
}

TEST(DllLine, LeavesToTheLibraryWhatIsNoNumber) {
  DllStep step;
  const auto line = [](const std::string& rate) {
    return R"({"timestamp": "1600000000.370000", "step": [0, 1], "data": {"step_loss": 2.8474337, )"
           R"("learning_rate": )" +
           rate + "}}";
  };
  for (const char* rate : {"0.00012", "9.9e-05", "1e-7", "1E+07", "0.5", "1e99"}) {
    ASSERT_TRUE(read_dll_line(line(rate), step)) << rate;
    EXPECT_EQ(step.loss, 2.8474337);
  }
  for (const char* rate : {"1e999", "1e", "1e+", "1.e5", "1e-5x", "01"}) {
    EXPECT_FALSE(read_dll_line(line(rate), step)) << rate;
    EXPECT_TRUE(nlohmann::json::parse(line(rate), nullptr, false).is_discarded()) << rate;
  }
}

TEST(ReadDecimal, IsWhatFromCharsGives) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200'000; ++round) {
    std::string text = random() % 4 == 0 ? "-" : "";
    text += std::to_string(random() >> (random() % 64));
    if (random() % 3 != 0) {
      text += '.';
      for (auto n = random() % 24; n > 0; --n) text += static_cast<char>('0' + random() % 10);
    }
    if (random() % 8 == 0) text += "e" + std::to_string(static_cast<int>(random() % 80) - 40);
    const Decimal got = read_decimal(text.data(), text.data() + text.size());
    const bool bare_dot = text.ends_with('.');
    if (bare_dot) {
      EXPECT_EQ(got.stop, nullptr) << text;
      continue;
    }
    double expected = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), expected);
    if (error != std::errc{} || got.stop == nullptr) continue;
    ASSERT_EQ(got.value, expected) << text;
    ASSERT_EQ(got.stop, stop) << text;
    const Decimal plain = read_plain_decimal(text.data(), text.data() + text.size());
    ASSERT_TRUE(plain.stop == nullptr || (plain.stop == stop && plain.value == expected)) << text;
    if (text.size() <= 15 && text.find_first_of("-e") == std::string::npos) {
      ASSERT_EQ(plain.stop, stop) << text << " is plain";
    }
  }
  for (const char* none : {"", "-", ".5", "+1", "01", "-01", "x", "1.", "nan", "inf"}) {
    EXPECT_EQ(read_decimal(none, none + std::char_traits<char>::length(none)).stop, nullptr)
        << none;
  }
}

}  // namespace
}  // namespace bertbench
