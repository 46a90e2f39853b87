// What logs state of one GPU, next to what is computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/gate/comparison.h"
#include "reports/output/cell_table.h"
#include "reports/output/comparison_table.h"
#include "tests/reports/samples.h"

namespace bertbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// Two nodes of four GPUs, 256 sequences of 128 tokens a step, 1,000 sequences/s, 4 kW.
Cell watched() {
  Cell cell = samples::cell(samples::identity(2, 4), {1000, 1000, 1000});
  cell.power_w = 4000;
  cell.trials[0].stated = {{"watts_per_gpu", 520.0}, {"joules_per_iteration_per_gpu", 128.0}};
  cell.trials[2].stated = {{"watts_per_gpu", 530.0}, {"tokens_per_second_per_gpu", 12800.0}};
  return cell;
}

TEST(StatedValues, StandNextToWhatIsComputedOfOneGpu) {
  ResultSet set = samples::result_set({watched()});
  set.cells[0].power_w = 4000;
  const std::string key = set.cells[0].key;
  const Table table = stated_table(set);
  EXPECT_THAT(table.rows,
              ElementsAre(ElementsAre(key, "W", "525.0", "2", "500.0", "+5.0 %"),
                          ElementsAre(key, "J an iteration", "128.0", "1", "128.0", "+0.0 %"),
                          ElementsAre(key, "tokens/s", "12800", "1", "16000", "-20.0 %")));
  EXPECT_EQ(
      stated_text(stated_of(set.cells[0])),
      "525.0 W (computed 500.0), 128.0 J an iteration (computed 128.0), 12800 tokens/s (computed "
      "16000)");
}

TEST(StatedValues, HaveNothingNextToThemWhereAnInputIsUnknown) {
  Cell cell = watched();
  cell.identity.gpus_per_node = {};
  ResultSet set = samples::result_set({cell});
  for (const StatedComparison& value : stated_of(set.cells[0])) {
    EXPECT_FALSE(value.computed) << value.name->unit;
  }
  EXPECT_FALSE(stated_of(samples::result_set({watched()}).cells[0])[0].computed) << "no power";
  std::vector<std::string> headings;
  for (const TableColumn& column : stated_table(set).columns) headings.push_back(column.heading);
  EXPECT_THAT(headings, ElementsAre("cell", "of one GPU", "stated", "n"));
  EXPECT_THAT(stated_table(samples::result_set({samples::cell(samples::identity(1, 1), {1})})).rows,
              IsEmpty());
}

TEST(StatedValues, StandNextToThoseOfTheOtherSideInAComparison) {
  Cell slower = watched();
  for (Trial& trial : slower.trials) trial.stated.erase("watts_per_gpu");
  slower.trials[2].stated["tokens_per_second_per_gpu"] = 6400;
  const ResultSet a = samples::result_set({watched()});
  const ResultSet b = samples::result_set({slower, samples::cell(samples::identity(1, 1), {1})});
  const std::string key = a.cells[0].key;
  EXPECT_THAT(stated_comparison_table(compare(a, b)).rows,
              ElementsAre(ElementsAre(key, "W", "525.0", "-", "-"),
                          ElementsAre(key, "J an iteration", "128.0", "128.0", "+0.0 %"),
                          ElementsAre(key, "tokens/s", "12800", "6400.0", "-50.0 %")));
  EXPECT_THAT(stated_comparison_table(compare(ResultSet{}, a)).rows,
              Contains(ElementsAre(key, "W", "-", "525.0", "-")));
}

}  // namespace
}  // namespace bertbench
