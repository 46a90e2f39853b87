// Against tqdm_golden.txt, which make_tqdm_golden.py wrote with the real tqdm.
#include "workloads/bert/log/tqdm.h"

#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <sstream>

namespace bert {
namespace {

double to_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  EXPECT_TRUE(error == std::errc{} && end == text.data() + text.size()) << text;
  return value;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '\r' ? std::string("\\r") : c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return result;
}

std::string rest_of(std::istringstream& words) {
  std::string text;
  words.get();
  std::getline(words, text);
  return text;
}

TEST(TqdmBar, PrintsByteForByteWhatTqdmPrints) {
  std::ifstream golden(BB_TEST_DATA_DIR "/driver/tqdm_golden.txt");
  ASSERT_TRUE(golden) << "golden file is missing";
  std::unique_ptr<TqdmBar> bar;
  std::int64_t total = 0;
  bool started = false;
  int compared = 0;
  for (std::string line; std::getline(golden, line);) {
    std::istringstream words(line);
    std::string kind, number;
    words >> kind;
    if (kind == "B") {
      words >> total;
      bar = std::make_unique<TqdmBar>("Iteration", total);
      started = false;
    } else if (kind == "T") {
      words >> number;
      const double now = to_number(number);
      std::string text = started ? bar->iterate(now) : bar->start(now);
      if (bar->count() == total) {
        text += bar->close(now);
      }
      started = true;
      ASSERT_EQ(escaped(text), rest_of(words)) << "at " << now << ", n = " << bar->count();
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
}

TEST(TqdmMeter, FormatsAsTqdmFormatMeter) {
  std::ifstream golden(BB_TEST_DATA_DIR "/driver/tqdm_golden.txt");
  int compared = 0;
  for (std::string line; std::getline(golden, line);) {
    std::istringstream words(line);
    std::string kind, elapsed, rate;
    std::int64_t n = 0, total = 0;
    words >> kind;
    if (kind != "M") {
      continue;
    }
    words >> n >> total >> elapsed >> rate;
    const auto given = rate == "-" ? std::nullopt : std::optional<double>(to_number(rate));
    EXPECT_EQ(tqdm_meter("Iteration", n, total, to_number(elapsed), given), rest_of(words));
    ++compared;
  }
  EXPECT_EQ(compared, 90);
}

}  // namespace
}  // namespace bert
