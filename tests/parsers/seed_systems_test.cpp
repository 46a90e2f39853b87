// Logs that the seeds' original programs wrote, each against a clock that stood outside: the
// default rate within 2 % of the clock (absl's stamps: 0.2 %) over the same updates, the outcome
// with its step, and the facts of the list (INDEX.tsv) found in the log, or given where no line
// states them. The logs are not part of this repository: BB_CORPUS names their folder (default
// ../shared/corpus next to the checkout); where it is missing the tests are skipped.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "parsers/reader/log_reader.h"
#include "reports/cells/result_builder.h"
#include "reports/measure/deduced_facts.h"
#include "reports/measure/measure.h"

namespace bertbench {
namespace {

std::filesystem::path folder() {
  const char* given = std::getenv("BB_CORPUS");
  const std::string corpus =
      given != nullptr ? given : std::string(BB_SOURCE_DIR) + "/../shared/corpus";
  return std::filesystem::path(corpus) / "seed-systems";
}

/// A row of INDEX.tsv.
struct Listed {
  std::string log;
  std::int64_t world = 0, sequences_per_update = 0, updates = 0;
  double rate_from_5 = 0, rate = 0;  ///< sequences/s to the end
  std::string outcome;
};

std::map<std::string, Listed> listed() {
  std::map<std::string, Listed> out;
  std::ifstream in(folder() / "INDEX.tsv");
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream row(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(row, cell, '\t');) cells.push_back(cell);
    if (cells.size() < 8) continue;
    out[cells[0]] = {cells[0],
                     std::stoll(cells[2]),
                     std::stoll(cells[3]),
                     std::stoll(cells[4]),
                     std::stod(cells[5]),
                     std::stod(cells[6]),
                     cells[7]};
  }
  return out;
}

/// A log of the folder, with what none of its lines states.
struct Row {
  const char* log;
  std::int64_t given_world = 0;  ///< processes, 0: the log states them
  std::int64_t ahead = 0;        ///< of the printed step to the update that it ends
  std::int64_t unprinted = 0;  ///< updates after the last line of a step, which a checkpoint names
  double within = 0.02;        ///< of the clock
};

const Row kRows[] = {
    {.log = "nv_pt_2019_1p_300.log", .given_world = 1},
    {.log = "nv_pt_2019_2p.log", .given_world = 2},
    {.log = "nv_pt_2020_1p.log"},
    {.log = "nv_pt_2022_1p_ga2.log"},
    {.log = "bing_2p.log"},
    {.log = "bing_1p_spp1000.log"},
    {.log = "nvidia_tf_adam.log", .ahead = 1, .within = 0.002},
    {.log = "nvidia_tf_amp.log", .ahead = 1, .within = 0.002},
    {.log = "nvidia_tf_hvd2-plain.log", .ahead = 1, .within = 0.002},
    {.log = "nvidia_tf_accum4adam.log", .ahead = 1, .within = 0.002},
    {.log = "gluonnlp_eval_inside_accum2.log", .unprinted = 1},
};

class SeedSystems : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    path_ = folder() / GetParam().log;
    if (!std::filesystem::exists(path_)) {
      GTEST_SKIP() << path_ << " is not here: BB_CORPUS names the folder of collected logs";
    }
    const auto runs = read_log(path_.string(), {});
    ASSERT_TRUE(runs) << runs.error().message();
    const auto training = std::ranges::find(*runs, WorkKind::training, &RunLog::kind);
    ASSERT_NE(training, runs->end());
    log_ = *training;
    MeasureOptions options;
    if (GetParam().given_world > 0) {
      options.given.world_size.set(GetParam().given_world, FactSource::command_line);
    }
    std::vector<Notice> notices;
    facts_ = deduce_facts(merge_facts(options.given, log_.facts, notices), notices);
    trial_ = measure_log(log_, options).trial;
    const auto rows = listed();
    const auto row = rows.find(GetParam().log);
    ASSERT_NE(row, rows.end()) << "not in INDEX.tsv";
    listed_ = row->second;
  }

  /// Updates that the log's counter stands for at `step`.
  [[nodiscard]] double updates_at(std::int64_t step) const {
    const bool micro = log_.iteration_unit == IterationUnit::micro_step;
    const std::int64_t each = micro ? facts_.gradient_accumulation_steps.value.value_or(1) : 1;
    return static_cast<double>(step - GetParam().ahead) / static_cast<double>(each);
  }

  std::filesystem::path path_;
  RunLog log_;
  Facts facts_;
  Trial trial_;
  Listed listed_;
};

TEST_P(SeedSystems, TheDefaultRateIsThatOfTheClockOverTheSameUpdates) {
  ASSERT_TRUE(trial_.window.first_step && trial_.window.last_step);
  double truth = listed_.rate;
  auto clock_file = path_;
  clock_file.replace_extension(".clock.json");
  if (std::filesystem::exists(clock_file)) {
    std::ifstream in(clock_file);
    const auto clock = nlohmann::json::parse(in);
    const auto ends = clock["ends"].get<std::vector<double>>();
    const auto moment =
        [&](double update) {  // of the end of an update, from 1; between two of them
          const double at = std::clamp(update - 1, 0.0, static_cast<double>(ends.size() - 1));
          const auto whole = static_cast<std::size_t>(at);
          const double next = ends[std::min(whole + 1, ends.size() - 1)];
          return ends[whole] + (next - ends[whole]) * (at - static_cast<double>(whole));
        };
    const double from = std::max(1.0, updates_at(*trial_.window.first_step));
    const double to =
        std::min(static_cast<double>(ends.size()), updates_at(*trial_.window.last_step));
    truth = clock["sequences_per_update"].get<double>() * (to - from) / (moment(to) - moment(from));
  }
  const double rate = trial_.sequences_per_second.value_or(0);
  const auto expected = trial_.expected_error.find(trial_.estimator);
  fmt::print(
      "{:<34} {:<14} steps {:>4} to {:>4} clock {:>9.4f} ours {:>9.4f} {:>+8.3f} % expected {:.3f} "
      "%\n",
      GetParam().log, trial_.estimator, *trial_.window.first_step, *trial_.window.last_step, truth,
      rate, 100 * (rate / truth - 1),
      expected == trial_.expected_error.end() ? 0.0 : 100 * expected->second);
  EXPECT_LE(std::abs(rate / truth - 1), GetParam().within)
      << rate << " by " << trial_.estimator << ", clock " << truth;
}

TEST_P(SeedSystems, TheFactsOfTheListAreFoundOrGiven) {
  EXPECT_EQ(facts_.world(), listed_.world);
  EXPECT_EQ(facts_.sequences_per_optimizer_step(), listed_.sequences_per_update);
}

TEST_P(SeedSystems, TheOutcomeIsFoundWithItsStep) {
  EXPECT_EQ(name(trial_.outcome.status), listed_.outcome) << detail_text(trial_.outcome);
  ASSERT_TRUE(trial_.outcome.step);
  EXPECT_EQ(updates_at(*trial_.outcome.step + GetParam().ahead),
            static_cast<double>(listed_.updates + GetParam().unprinted));
}

INSTANTIATE_TEST_SUITE_P(Logs, SeedSystems, testing::ValuesIn(kRows), [](const auto& of) {
  std::string out;
  for (const char c : std::string(of.param.log)) {
    out.push_back(std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_');
  }
  return out;
});

}  // namespace
}  // namespace bertbench
