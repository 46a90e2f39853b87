// Heat maps: what they hold, and that what is drawn is what they hold.
#include "reports/output/plot/heat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reports/samples.h"
#include "tests/reports/xml_check.h"

namespace bertbench::plot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Cell heat_cell(std::int64_t gpus, std::int64_t batch, double rate, const char* precision = "fp32") {
  return samples::cell(samples::identity(1, gpus, batch, precision), {rate, rate, rate});
}

Cell failed(Cell cell, Status status) {
  for (Trial& trial : cell.trials) {
    trial.outcome.status = status;
    trial.window.covered = false;
    trial.sequences_per_second.reset();
  }
  return cell;
}

/// 1, 2 and 16 GPUs at batches 8 and 32; the largest does not fit, one place is missing.
ResultSet grid() {
  Cell flawed = heat_cell(2, 8, 180);
  flawed.trials.push_back(samples::trial(4, 1));
  flawed.trials.back().outcome.status = Status::killed;
  flawed.trials.back().window.covered = false;
  flawed.trials.back().sequences_per_second.reset();
  return samples::result_set({heat_cell(16, 8, 1280), heat_cell(1, 8, 100), heat_cell(1, 32, 150),
                              flawed, failed(heat_cell(2, 32, 1), Status::out_of_memory)});
}

TEST(HeatMaps, RowsAreBatchesColumnsTopologiesBySizeAndTilesTheRatePerGpu) {
  const HeatMaps found = heat_maps(grid());
  ASSERT_THAT(found.maps, SizeIs(1));
  EXPECT_EQ(found.all, 1U);
  const HeatMap& map = found.maps[0];
  EXPECT_THAT(map.rows, ElementsAre("8", "32"));
  EXPECT_THAT(map.columns, ElementsAre("1n1g", "1n2g", "1n16g"));
  EXPECT_EQ(map.at(0, 0).value, 100);
  EXPECT_EQ(map.at(0, 1).value, 90);
  EXPECT_EQ(map.at(0, 2).value, 80);
  EXPECT_EQ(map.low, 80);
  EXPECT_EQ(map.high, 150);
  EXPECT_EQ(map.title, "bert-base");
}

TEST(HeatMaps, FailedAndMissingPlacesAreToldApartFromSlowOnes) {
  const HeatMap map = heat_maps(grid()).maps.at(0);
  EXPECT_EQ(map.at(1, 1).kind, Tile::Kind::failed);
  EXPECT_EQ(map.at(1, 1).text, "OOM");
  EXPECT_THAT(map.at(1, 1).tip, HasSubstr("3 out_of_memory"));
  EXPECT_EQ(map.at(1, 2).kind, Tile::Kind::empty);
  EXPECT_TRUE(map.at(0, 1).flawed);
  EXPECT_THAT(map.at(0, 1).tip, HasSubstr("1n2g, micro batch 8: 90.00 sequences/s per GPU, 180.0"));
  EXPECT_THAT(map.at(0, 1).tip, HasSubstr("1 killed"));
  EXPECT_FALSE(map.at(0, 0).flawed);
}

TEST(HeatMaps, OneForEachGroupOfTheOtherFactsNamedByWhatDiffers) {
  std::vector<Cell> cells;
  for (const char* precision : {"fp32", "fp16"}) {
    for (const std::int64_t gpus : {1, 2}) {
      for (const std::int64_t batch : {8, 16})
        cells.push_back(heat_cell(gpus, batch, 100, precision));
    }
  }
  cells.push_back(heat_cell(1, 8, 300, "bf16"));  // one place is no map
  const HeatMaps found = heat_maps(samples::result_set(cells));
  ASSERT_THAT(found.maps, SizeIs(2));
  EXPECT_EQ(found.maps[0].title, "fp32");
  EXPECT_EQ(found.maps[1].title, "fp16");
  EXPECT_THAT(heat_maps(samples::result_set({heat_cell(1, 8, 1), heat_cell(2, 8, 2)})).maps,
              IsEmpty());
}

TEST(HeatMaps, TheTableHoldsTheSameTexts) {
  const Table table = heat_table(heat_maps(grid()).maps.at(0));
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_THAT(table.rows[0], ElementsAre("8", "100.0", "90.00", "80.00"));
  EXPECT_THAT(table.rows[1], ElementsAre("32", "150.0", "OOM", ""));
}

double luminance(const std::string& colour) {
  double sum = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    sum += weights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return sum;
}

TEST(HeatScale, BecomesLighterAllTheWaySoThatGreyAndColourBlindEyesReadIt) {
  EXPECT_EQ(scale_colour(0), "#440154");
  EXPECT_EQ(scale_colour(1), "#fde725");
  EXPECT_EQ(scale_colour(7), "#fde725");
  for (int i = 0; i < 100; ++i) {
    EXPECT_LT(luminance(scale_colour(i / 100.0)), luminance(scale_colour((i + 1) / 100.0))) << i;
  }
}

TEST(HeatSvg, TheFileIsXmlWithATileAPlaceItsColoursAndItsOwnStyle) {
  const HeatMap map = heat_maps(grid()).maps.at(0);
  const std::string text = svg_file(map);
  const auto file = xml::parse("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + text);
  ASSERT_EQ(file.error, "");
  int tiles = 0;
  for (const auto& group : file.named("g")) tiles += group.attributes.at("class") == "tile" ? 1 : 0;
  EXPECT_EQ(tiles, 6);
  EXPECT_THAT(text, HasSubstr("fill=\"#fde725\""));  // the fastest
  EXPECT_THAT(text, HasSubstr("fill=\"#440154\""));  // the slowest
  EXPECT_THAT(text, HasSubstr("class=\"hatch\""));
  EXPECT_THAT(text, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(inline_svg(map), Not(HasSubstr("<style>")));
}

TEST(HeatSvg, TheLegendNamesTheRangeAndOnlyMarksThatOccur) {
  const std::string with = inline_svg(heat_maps(grid()).maps.at(0));
  EXPECT_THAT(with, HasSubstr(">80.00</text>"));
  EXPECT_THAT(with, HasSubstr(">150.0 sequences/s per GPU</text>"));
  EXPECT_THAT(with, HasSubstr("no trial gave a number"));
  EXPECT_THAT(with, HasSubstr("some trials failed"));
  const std::string without =
      inline_svg(heat_maps(samples::result_set({heat_cell(1, 8, 1), heat_cell(1, 16, 2),
                                                heat_cell(2, 8, 3), heat_cell(2, 16, 4)}))
                     .maps.at(0));
  EXPECT_THAT(without, Not(HasSubstr("no trial")));
  EXPECT_THAT(without, Not(HasSubstr("some trials")));
}

TEST(HeatSvg, ManyNarrowColumnsLeaveOutTextsThatDoNotFit) {
  std::vector<Cell> cells;
  for (std::int64_t gpus = 1; gpus <= 40; ++gpus) {
    cells.push_back(heat_cell(gpus, 8, 12345.6 * static_cast<double>(gpus)));
    cells.push_back(heat_cell(gpus, 16, 12345.6 * static_cast<double>(gpus)));
  }
  const std::string text = inline_svg(heat_maps(samples::result_set(cells)).maps.at(0));
  EXPECT_THAT(text, Not(HasSubstr("\"middle\">12346</text>")));
  EXPECT_THAT(text, HasSubstr("12346 sequences/s per GPU"));  // in the tip
}

}  // namespace
}  // namespace bertbench::plot
