#include "harness/cli/help.h"

#include "harness/cli/exit_status.h"
#include "harness/sweep/config/placeholders.h"
#include "parsers/core/text.h"
#include "tests/golden.h"
#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

TEST(HelpTest, IsPrintedAsItStandsOnTheDocsPage) {
  expect_golden("docs/cli.md", markdown_help());
  EXPECT_EQ(run_to(0, {"--help"}).out, program_help());
  for (const Command* command : all_commands()) {
    const Ran ran = run_to(0, {std::string(command->name), "--help"});
    EXPECT_EQ(ran.err, "") << command->name;
    EXPECT_EQ(ran.out, command_help(*command)) << command->name;
  }
}

TEST(HelpTest, FitsEightyColumns) {
  std::vector<std::string> texts{short_help(), program_help()};
  for (const Command* command : all_commands()) texts.push_back(command_help(*command));
  for (const std::string& text : texts) {
    for (const std::string_view line : split(text, '\n')) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(HelpTest, OfSweepNamesEveryPlaceholder) {
  const std::string help = run({"sweep", "--help"}).out;
  for (const Placeholder& one : known_placeholders()) {
    if (one.name == "rank") continue;  // in the key "logs" only
    EXPECT_NE(help.find("{" + std::string(one.name) + "}"), std::string::npos) << one.name;
  }
}

TEST(HelpTest, NamesEveryCommandAndEveryExitStatus) {
  const std::string help = run({"--help"}).out;
  for (const Command* command : all_commands()) {
    EXPECT_NE(help.find("  " + std::string(command->name) + " "), std::string::npos);
    EXPECT_FALSE(command->examples.empty()) << command->name;
    EXPECT_FALSE(command->statuses.empty()) << command->name;
  }
  for (const ExitCodeRow& row : exit_codes()) {
    EXPECT_NE(help.find("\n  " + std::to_string(to_int(row.status)) + " "), std::string::npos);
  }
}

TEST(HelpTest, HelpBeforeACommandIsThatCommandsHelp) {
  EXPECT_EQ(run({"help", "check"}).out, run({"check", "--help"}).out);
  EXPECT_EQ(run({"check", "-h"}).out, run({"check", "--help"}).out);
}

TEST(HelpTest, WithoutArgumentsIsShortAndAWrongUsage) {
  const Ran ran = run_to(2, {});
  EXPECT_EQ(ran.out, short_help());
}

TEST(HelpTest, VersionNamesTheCommit) {
  const Ran ran = run_to(0, {"--version"});
  EXPECT_TRUE(ran.out.starts_with("bertbench ")) << ran.out;
  EXPECT_NE(ran.out.find('('), std::string::npos);
}

TEST(WrapTest, KeepsWordsAndIndent) {
  EXPECT_EQ(wrap("aa bb cc", 2, 7), "  aa bb\n  cc\n");
  EXPECT_EQ(wrap("one\n\ntwo", 0, 20), "one\n\ntwo\n");
  EXPECT_EQ(wrap("a_word_longer_than_the_line x", 0, 10), "a_word_longer_than_the_line\nx\n");
}

}  // namespace
}  // namespace bertbench::test
