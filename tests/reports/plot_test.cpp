// What the figures hold, and that what is drawn is what they hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "reports/gate/paired.h"
#include "reports/output/plot/figures.h"
#include "reports/output/plot/svg.h"
#include "tests/reports/samples.h"
#include "tests/scratch_folder.h"

namespace bertbench::plot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Cell plot_cell(std::int64_t gpus, double rate, std::int64_t batch = 32) {
  return samples::cell(samples::identity(1, gpus, batch),
                       {rate, rate * 1.01, rate * 0.99, rate, rate, rate});
}

const Series& named(const Figure& figure, const std::string& name) {
  const auto found = std::ranges::find(figure.series, name, &Series::name);
  EXPECT_NE(found, figure.series.end()) << name;
  return *found;
}

/// Both variants of `cells` cells with ten pairs; the last cell of "new" is 5 % slower, and one
/// trial of it was hit.
ResultSet paired_set(int cells) {
  std::vector<Cell> out;
  for (int c = 1; c <= cells; ++c) {
    for (const char* variant : {"base", "new"}) {
      Identity identity = samples::identity(1, c);
      identity.axes[kVariantAxis] = variant;
      const double factor = *variant == 'n' && c == cells ? 0.95 : 1;
      std::vector<double> rates;
      for (int i = 0; i < 10; ++i) {
        rates.push_back(100 * c * factor * (1 + 0.001 * ((i * (*variant == 'n' ? 3 : 7)) % 10)));
      }
      if (factor < 1) rates[4] *= 0.8;
      out.push_back(samples::cell(identity, rates));
      for (Trial& trial : out.back().trials) trial.block = BlockPlace{1, 1};
    }
  }
  return samples::result_set(std::move(out));
}

TEST(PairFigures, JoinTheHalvesOfEachPairAndShowTheRatioAndTheVerdict) {
  const ResultSet set = paired_set(2);
  GateOptions options;
  options.floor = kPairedFloor;
  const PairFigures found = pair_figures(check_paired(set, "base", options), set);
  ASSERT_THAT(found.figures, SizeIs(2));
  EXPECT_EQ(found.cells, 2U);
  EXPECT_THAT(found.figures[0].title, HasSubstr("pass, ratio 1.000 ("));
  const Figure& slower = found.figures[1];
  EXPECT_THAT(slower.title, HasSubstr("1n2g"));
  EXPECT_THAT(slower.title, HasSubstr("regression, ratio 0.9"));
  EXPECT_THAT(slower.x.names, ElementsAre("base", "new"));
  EXPECT_EQ(slower.y.label, "sequences/s");
  ASSERT_THAT(slower.series, SizeIs(3));
  EXPECT_EQ(slower.series[0].mark, Mark::slopes);
  EXPECT_THAT(slower.series[0].points, SizeIs(18));  // nine pairs that count
  ASSERT_THAT(slower.series[1].points, SizeIs(2));   // and one that was hit
  EXPECT_THAT(slower.series[1].points[0].tip, HasSubstr("trial 5"));
  EXPECT_THAT(slower.series[1].points[0].tip, HasSubstr("left out"));
  ASSERT_THAT(slower.series[2].points, SizeIs(2));
  EXPECT_NEAR(slower.series[2].points[1].y / slower.series[2].points[0].y, 0.95, 0.005);
  ASSERT_TRUE(slower.series[2].points[1].interval);
  EXPECT_GT(slower.y.low, slower.series[1].points[1].y);  // its line leaves the plot

  const std::string svg = inline_svg(slower);
  EXPECT_THAT(svg, HasSubstr(">base</text>"));
  EXPECT_THAT(svg, HasSubstr(">new</text>"));
  std::size_t lines = 0;
  const std::size_t thin = svg.find("line thin");
  for (std::size_t at = svg.find(" d=", thin); svg[at] != '/'; ++at)
    lines += svg[at] == 'L' ? 1 : 0;
  EXPECT_EQ(lines, 9U);
}

TEST(PairFigures, ShowTheLargestChangesOfManyCells) {
  const ResultSet set = paired_set(41);
  const PairFigures found = pair_figures(check_paired(set, "base", {}), set);
  EXPECT_EQ(found.cells, 41U);
  ASSERT_THAT(found.figures, SizeIs(40));
  EXPECT_THAT(found.figures[0].title, HasSubstr("1n41g"));
  EXPECT_EQ(found.figures[0].id, "pairs-1");
}

TEST(Ticks, AreRoundNumbersThatCoverTheRange) {
  EXPECT_THAT(nice_ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(nice_ticks(0, 0, 5), ElementsAre(0));
  EXPECT_THAT(decade_ticks(8, 250), ElementsAre(10, 20, 50, 100, 200));
  EXPECT_EQ(tick_text(1.25e6, false), "1.25M");
  EXPECT_EQ(tick_text(15000, false), "15k");
  EXPECT_EQ(tick_text(nice_ticks(-1, 1, 2)[1], true), "0 %");
  EXPECT_EQ(tick_text(0.125, true), "12.5 %");
}

TEST(ScalingFigures, HoldMediansIntervalsTrialsAndTheIdealFromTheSmallestJob) {
  const auto all = scaling_figures(
      samples::result_set({plot_cell(8, 700), plot_cell(1, 100), plot_cell(2, 190)}));
  ASSERT_THAT(all, SizeIs(1));
  const std::vector<Figure>& figures = all[0];
  ASSERT_THAT(figures, SizeIs(2));
  const Figure& rate = figures[0];
  ASSERT_THAT(rate.series, SizeIs(3));
  EXPECT_EQ(rate.series[0].mark, Mark::dashed);
  EXPECT_EQ(rate.series[0].points.front().x, 1);
  EXPECT_EQ(rate.series[0].points.front().y, 100);
  EXPECT_NEAR(rate.series[0].points.back().y / rate.series[0].points.back().x, 100, 1e-9);
  EXPECT_THAT(rate.series[1].points, SizeIs(18));
  const Series& medians = rate.series[2];
  ASSERT_THAT(medians.points, SizeIs(3));
  EXPECT_EQ(medians.points[2].x, 8);
  EXPECT_EQ(medians.points[2].y, 700);
  ASSERT_TRUE(medians.points[2].interval);
  EXPECT_EQ(medians.points[2].interval->first, 693);
  EXPECT_EQ(rate.x.scale, Scale::log2);
  EXPECT_NEAR(figures[1].series[0].points[2].y, 0.875, 1e-12);
  EXPECT_THAT(scaling_figures(samples::result_set({plot_cell(1, 100)})), IsEmpty());
}

TEST(ScalingFigures, TheirRangeDoesNotDependOnTheOrderOfTheCells) {
  std::vector<Cell> cells{plot_cell(1, 10, 8), plot_cell(8, 75, 8), plot_cell(1, 100, 64),
                          plot_cell(8, 300, 64)};
  const auto one = scaling_figures(samples::result_set(cells));
  std::ranges::reverse(cells);
  const auto other = scaling_figures(samples::result_set(cells));
  EXPECT_EQ(one[0][0].y.high, other[0][0].y.high);
  EXPECT_EQ(one[0][0].y.low, other[0][0].y.low);
  // An ideal of 800 does not flatten what was measured: at most 1.6 times the fastest trial.
  EXPECT_NEAR(one[0][0].y.high, 1.6 * 303 * 1.06, 1e-9);
}

TEST(ScalingFigures, OfManySeriesHoldEightEach) {
  std::vector<Cell> cells;
  for (std::int64_t batch = 1; batch <= 12; ++batch) {
    cells.push_back(plot_cell(1, 100 + static_cast<double>(batch), batch));
    cells.push_back(plot_cell(4, 390 + static_cast<double>(batch), batch));
  }
  const auto figures = scaling_figures(samples::result_set(cells));
  ASSERT_THAT(figures, SizeIs(2));
  EXPECT_THAT(figures[0][0].series, SizeIs(24));
  EXPECT_THAT(figures[1][0].series, SizeIs(12));
  EXPECT_EQ(figures[1][0].id, "throughput-2");
  EXPECT_THAT(figures[1][0].title, HasSubstr("(series 9 to 12 of 12)"));
}

/// Names of the series that lines join.
std::vector<std::string> joined(const Figure& figure) {
  std::vector<std::string> out;
  for (const Series& series : figure.series) {
    if (series.mark == Mark::line_and_points) out.push_back(series.name);
  }
  return out;
}

TEST(ScalingFigures, JoinNoCellsOfDifferentUnits) {
  std::vector<Cell> cells{plot_cell(1, 100), plot_cell(2, 190), plot_cell(4, 9e4),
                          plot_cell(8, 1.8e5)};
  for (std::size_t i = 2; i < 4; ++i) {
    for (Trial& trial : cells[i].trials) {
      trial.tokens_per_second = std::exchange(trial.sequences_per_second, std::nullopt);
    }
  }
  const auto all = scaling_figures(samples::result_set(cells));
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0][0].y.label, "sequences/s");
  EXPECT_EQ(all[1][0].y.label, "tokens/s");
  EXPECT_THAT(all[0][0].x.ticks, ElementsAre(1, 2));
  EXPECT_THAT(all[1][0].x.ticks, ElementsAre(4, 8));
}

TEST(ScalingFigures, JoinNoCellsOfDifferentResults) {
  std::vector<Cell> cells{plot_cell(1, 100), plot_cell(2, 190), plot_cell(1, 50), plot_cell(2, 80)};
  EXPECT_THAT(joined(scaling_figures(samples::result_set(cells))[0][0]), IsEmpty())
      << "of logs that may be of any machine";
  for (std::size_t i = 0; i < 4; ++i) {
    cells[i].result = i < 2 ? "a.json" : "b.json";
    cells[i].emulated = i > 1;
  }
  const auto all = scaling_figures(samples::result_set(cells));
  EXPECT_THAT(joined(all[0][0]), ElementsAre("a.json", "b.json"));
  EXPECT_EQ(all[0][0].x.label, "GPUs or ranks");
}

TEST(ReconciliationFigure, IsAgainstAllWorkOverAllTime) {
  ResultSet set = samples::result_set({plot_cell(1, 100)});
  set.cells[0].trials[0].estimators = {{"step_time", 100}, {"printed", 105}, {"total_time", 80}};
  const auto figure = reconciliation_figure(set).value();
  EXPECT_EQ(named(figure, "step_time").points[0].x, 0.25);
  EXPECT_EQ(named(figure, "printed").points[0].x, 105.0 / 80 - 1);
  EXPECT_THAT(figure.title, HasSubstr("all work over all time"));
}

TEST(ComparisonFigure, TellsFasterFromSlowerFromNeither) {
  const ResultSet a =
      samples::result_set({plot_cell(1, 100), plot_cell(2, 200), plot_cell(4, 400)});
  const ResultSet b =
      samples::result_set({plot_cell(1, 110), plot_cell(2, 180), plot_cell(4, 400)});
  const auto figure = comparison_figure(compare(a, b), b).value();
  EXPECT_NEAR(named(figure, "faster").points[0].x, 0.1, 0.01);
  EXPECT_NEAR(named(figure, "slower").points[0].x, -0.1, 0.01);
  EXPECT_EQ(named(figure, "no significant change").points[0].y, 2);
  EXPECT_FALSE(comparison_figure({}, {}));
}

TEST(IterationFigures, ReadFilesOfTheRunFolderAndNoOther) {
  const test::ScratchFolder folder;
  std::string rows = "log,trial,step,time_s,seconds,sequences_per_second,loss,rank_spread\n";
  for (int step = 1; step <= 900; ++step) {
    rows += "\"a,b\",1," + std::to_string(step) + ",,0.1,10,,\n";
  }
  folder.put("run/c/trial_1/iterations.csv", rows);
  const std::string secret = folder.put("secret.csv", rows);
  ResultSet set = samples::result_set({plot_cell(1, 10)});
  set.cells[0].trials[0].iterations_file = "c/trial_1/iterations.csv";
  set.cells[0].trials[0].window.first_step = 100;
  set.cells[0].trials[0].window.last_step = 900;
  set.cells[0].trials[1].iterations_file = "../secret.csv";
  set.cells[0].trials[2].iterations_file = secret;
  const auto found = iteration_figures(set, folder.path("run"));
  ASSERT_THAT(found.figures, SizeIs(1));
  EXPECT_EQ(found.cells, 1U);
  const Figure& figure = found.figures[0];
  ASSERT_THAT(figure.series, SizeIs(1));
  EXPECT_THAT(figure.series[0].points, SizeIs(300));
  EXPECT_EQ(figure.series[0].points.back().x, 900);
  ASSERT_THAT(figure.bands, SizeIs(2));
  EXPECT_EQ(figure.bands[0].label, "cut as warm-up");
  EXPECT_EQ(figure.bands[0].to, 100);
  EXPECT_EQ(figure.bands[1].to, 900);
  EXPECT_THAT(iteration_figures(set, "").figures, IsEmpty());
}

TEST(Svg, LeavesOutWhatIsNoNumber) {
  Figure figure;
  figure.id = "x";
  figure.series.push_back(
      {"s", 0, Mark::points, {{1, NAN, {}, {}}, {2, 3, std::pair{1.0, INFINITY}, "t"}}});
  const std::string svg = inline_svg(figure);
  EXPECT_THAT(svg, HasSubstr("<title>t</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

}  // namespace
}  // namespace bertbench::plot
