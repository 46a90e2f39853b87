// Completion scripts and the manual page name what --help names, and their programs take them.
#include <gmock/gmock.h>

#include <cstdlib>

#include "harness/cli/command.h"
#include "harness/cli/command_line.h"
#include "parsers/core/text.h"
#include "tests/harness/cli/cli_fixture.h"

namespace bertbench::test {
namespace {

using ::testing::HasSubstr;

class CompletionTest : public CliTest {
 protected:
  std::string script(const std::string& shell) {
    const Ran ran = run_to(0, {"completion", shell});
    return ran.out;
  }
  /// What the words print, stderr included.
  std::string output_of(const std::string& command) {
    const auto file = path("output");
    if (std::system((command + " >" + file + " 2>&1").c_str()) != 0) return "failed";
    return read_file(file);
  }
};

TEST_F(CompletionTest, NamesEveryCommandAndItsLongOptions) {
  for (const char* shell : {"bash", "zsh", "fish", "man"}) {
    const std::string text = script(shell);
    const bool fish = std::string_view(shell) == "fish", man = std::string_view(shell) == "man";
    for (const Command* command : all_commands()) {
      EXPECT_THAT(text, HasSubstr(std::string(command->name))) << shell;
      CommandLine line;
      const auto run = command->declare(line);
      for (const auto& option : line.help()) {
        const auto at = option.names.find("--");
        if (at == std::string::npos) continue;
        std::string name = option.names.substr(at, option.names.find(' ', at) - at);
        if (fish) name = "-l " + name.substr(2);
        std::string printed;  // troff's minus
        for (const char c : name) printed += man && c == '-' ? "\\-" : std::string(1, c);
        EXPECT_THAT(text, HasSubstr(printed)) << shell;
      }
    }
  }
}

TEST_F(CompletionTest, OfBashCompletesCommandsAndOptions) {
  const auto file = put("bertbench.bash", script("bash"));
  const auto completed = [&](const std::string& words, int at) {
    return output_of("bash -c '. " + file + "; COMP_WORDS=(" + words +
                     "); COMP_CWORD=" + std::to_string(at) + "; _bertbench; echo ${COMPREPLY[*]}'");
  };
  EXPECT_EQ(completed("bertbench exp", 1), "\n");
  EXPECT_EQ(completed("bertbench extr", 1), "extract\n");
  EXPECT_EQ(completed("bertbench sweep --dry", 2), "--dry-run\n");
  EXPECT_EQ(completed("bertbench sweep conf", 2), "\n") << "files are left to bash";
  EXPECT_EQ(completed("bertbench extract log --precision b", 4), "bf16\n");
  EXPECT_EQ(completed("bertbench extract --format mlp", 3), "mlperf\n");
  EXPECT_EQ(completed("bertbench compare run --published dlperf-m", 4), "dlperf-mxnet\n");
  EXPECT_EQ(completed("bertbench list formats,l", 2), "\n");
  EXPECT_EQ(completed("bertbench list not", 2), "notices\n");
  EXPECT_EQ(completed("bertbench list formats --explain log", 4), "\n");
}

TEST_F(CompletionTest, OfManHasItsTitleOnOneLine) {
  const std::string page = script("man");
  EXPECT_THAT(page, ::testing::StartsWith(".TH BERTBENCH 1 "));
  EXPECT_THAT(page.substr(page.find('\n')), ::testing::StartsWith("\n.SH NAME\n"));
}

TEST_F(CompletionTest, IsRefusedForAnotherShell) {
  const Ran ran = run_to(2, {"completion", "tcsh"});
  EXPECT_THAT(ran.err, HasSubstr("bash, zsh, fish, man"));
}

TEST_F(CompletionTest, HasScriptsThatTheShellsAccept) {
  const std::pair<const char*, const char*> shells[] = {{"zsh", "zsh -n "},
                                                        {"fish", "fish --no-execute "}};
  for (const auto& [shell, check] : shells) {
    const auto file = put(std::string("bertbench.") + shell, script(shell));
    if (std::system((std::string("command -v ") + shell + " >/dev/null").c_str()) != 0) continue;
    EXPECT_EQ(output_of(check + file), "") << shell;
  }
  const auto page = put("bertbench.1", script("man"));
  if (std::system("command -v groff >/dev/null") != 0) return;
  EXPECT_EQ(output_of("groff -man -Tascii -ww -z " + page), "");
}

}  // namespace
}  // namespace bertbench::test
