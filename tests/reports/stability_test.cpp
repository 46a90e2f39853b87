// How losses and scores spread over the trials of a cell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/cells/summarize.h"
#include "reports/model/result_io.h"
#include "reports/output/cell_table.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using testing::ElementsAre;

/// Pre-training of the NGC page: final losses of seeds 0 to 4.
ResultSet published() {
  Cell cell = samples::cell(samples::identity(1, 8), {100, 100, 100, 100, 100});
  const double losses[] = {1.260, 1.265, 1.304, 1.256, 1.242};
  for (std::size_t i = 0; i < cell.trials.size(); ++i) {
    cell.trials[i].outcome.status = Status::completed;
    cell.trials[i].loss = LossRecord{{}, losses[i], {}, {}};
    cell.trials[i].seed = static_cast<std::int64_t>(i);
  }
  cell.trials[0].scores = {{"exact_match", 83.64}, {"f1", 90.60}};
  cell.trials[1].scores = {{"exact_match", 84.05}};
  ResultSet out = samples::result_set({cell});
  (void)summarize(out);
  return out;
}

TEST(Stability, IsThatOfThePublishedTable) {
  const ResultSet set = published();
  const Spread& loss = set.cells[0].stability.at("loss");
  EXPECT_EQ(loss.n, 5);
  EXPECT_NEAR(loss.mean, 1.265, 0.0005);
  EXPECT_NEAR(*loss.stddev, 0.023, 0.0005);
  EXPECT_EQ(loss.min, 1.242);
  EXPECT_EQ(loss.max, 1.304);
  EXPECT_EQ(set.cells[0].stability.at("exact_match").n, 2);
  EXPECT_FALSE(set.cells[0].stability.contains("f1")) << "one value has no spread";
}

TEST(Stability, OnlyTrialsThatCompletedCount) {
  ResultSet set = published();
  set.cells[0].trials[2].outcome.status = Status::nan;
  (void)summarize(set);
  EXPECT_EQ(set.cells[0].stability.at("loss").n, 4);
  EXPECT_EQ(set.cells[0].stability.at("loss").max, 1.265);
}

TEST(Stability, IsInTheResultFileAndReadBack) {
  const ResultSet set = published();
  const auto json = nlohmann::json::parse(to_text(set));
  EXPECT_EQ(json["cells"][0]["stability"]["loss"]["n"], 5);
  EXPECT_EQ(json["cells"][0]["trials"][3]["seed"], 3);
  EXPECT_EQ(json["cells"][0]["trials"][0]["scores"]["f1"], 90.60);
  const auto read = result_set_from_text(to_text(set), "r.json");
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(*read), to_text(set));
}

TEST(Stability, TheTableHasARowAQuality) {
  const ResultSet set = published();
  const Table table = stability_table(SetSource(set));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(table.rows[0], ElementsAre(set.cells[0].key, "final loss", "5", "1.2654", "0.0232",
                                         "1.2420", "1.3040"));
  EXPECT_EQ(table.rows[1][1], "exact_match, %");
}

}  // namespace
}  // namespace bertbench
