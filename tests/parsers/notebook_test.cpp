// The outputs of a benchmark notebook, with the settings of the calls that printed them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "parsers/lines/notebook_settings.h"
#include "parsers/reader/log_reader.h"

namespace bertbench {
namespace {

using testing::ElementsAre;

constexpr std::string_view kSettings =
    "Python says 'CUDA out of memory' if it's too large.\n"
    "@dataclass\nclass Config:\n    model: str  # it's a name\n    seq_len: int\n    batch_size: "
    "int\n"
    "    bf16: bool = False\n    fp16: bool = False\n    grad_accum: int = 1\n    gpus: str = "
    "'0'\n\n"
    "    def world(self):\n        return 1\n\n";

TEST(Notebook, EveryRunOfThePageHasRateMemoryAndSettings) {
  const std::string path = BB_SOURCE_DIR "/../shared/seeds/002_067bbe9d8c135acb.txt";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the third-party page is not here: " << path;
  const auto runs = read_log(path, {});
  ASSERT_TRUE(runs) << runs.error().message();
  std::vector<double> rates, gigabytes;
  for (const RunLog& run : *runs) {
    ASSERT_TRUE(run.summary && run.memory);
    rates.push_back(run.summary->value);
    gigabytes.push_back(static_cast<double>(run.memory->peak_bytes) / 1e9);
    EXPECT_EQ(run.outcome.status, Status::completed) << run.first_line << detail_text(run.outcome);
    EXPECT_TRUE(run.facts.model.known() && run.facts.precision.known());
    EXPECT_TRUE(run.facts.sequences_per_optimizer_step()) << run.first_line;
  }
  EXPECT_THAT(rates, ElementsAre(88.9, 133.5, 145.0, 154.1, 159.7, 139.2, 13.5, 21.1, 252.2, 319.9,
                                 310.0, 297.4, 278.7, 7.0, 5.7, 2.2));
  EXPECT_THAT(gigabytes, ElementsAre(23.0, 18.2, 23.4, 23.4, 22.6, 19.2, 22.4, 21.2, 23.1, 22.7,
                                     22.7, 22.4, 22.4, 16.2, 16.2, 15.3));
  const Facts& without_p2p = (*runs)[10].facts;
  EXPECT_EQ(without_p2p.axes.at("env.NCCL_P2P_DISABLE"), "1");
  EXPECT_EQ(without_p2p.micro_batch_size.value, 70);
  EXPECT_EQ(without_p2p.gradient_accumulation_steps.value, 4);
  EXPECT_EQ(without_p2p.gpus_per_node.value, 2);
  EXPECT_FALSE((*runs)[11].facts.axes.contains("env.NCCL_P2P_DISABLE"));
}

NotebookSettings after(std::string_view text) {
  NotebookSettings settings;
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    settings.see(text.substr(at, end - at), ++number);
    at = end + 1;
  }
  return settings;
}

std::string setting(const std::optional<NotebookRun>& run, std::string_view name) {
  if (!run) return "no run";
  for (const auto& [field, value] : run->settings) {
    if (field == name) return value.text;
  }
  return "absent";
}

TEST(NotebookSettings, TwoNamesAreOneObjectAndWhatIsNoLiteralIsUnknown) {
  const std::string page(kSettings);
  auto settings = after(page +
                        "a = Config('m', 128,\n    batch_size=8)\nb = a\nb.batch_size = 16\n"
                        "a.seq_len = 2 * 64\nrun(a)\n");
  const auto run = settings.take_run();
  EXPECT_EQ(setting(run, "batch_size"), "16");
  EXPECT_EQ(setting(run, "seq_len"), "absent");
  EXPECT_EQ(setting(run, "grad_accum"), "1");
  EXPECT_FALSE(settings.take_run()) << "what a call prints is printed once";
}

TEST(NotebookSettings, ACallMayMakeItsSettingsAndTextInQuotesIsNoCode) {
  const std::string page(kSettings);
  auto settings = after(page + "run(Config('m', 64, 4))\n");
  EXPECT_EQ(setting(settings.take_run(), "seq_len"), "64");
  settings = after(page + "a = Config('m', 64, 4)\nt = '''\na.seq_len = 1\n'''\nrun(a)\n");
  EXPECT_EQ(setting(settings.take_run(), "seq_len"), "64");
  settings = after(page + "See (the page\n\na = Config('m', 64, 4)\nrun(a)\n");
  EXPECT_EQ(setting(settings.take_run(), "seq_len"), "64");
}

}  // namespace
}  // namespace bertbench
