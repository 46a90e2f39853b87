#include "parsers/core/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "parsers/core/name_hint.h"

namespace bertbench {
namespace {

TEST(TextTest, ANumberIsTheWholeTextOrNothing) {
  EXPECT_EQ(to_int("42"), 42);
  EXPECT_EQ(to_int("-7"), -7);
  for (const char* bad : {"", " 1", "1 ", "1.0", "0x10", "99999999999999999999", "+1"}) {
    EXPECT_FALSE(to_int(bad)) << bad;
  }
  EXPECT_EQ(to_double("3.18"), 3.18);
  EXPECT_EQ(to_double("+1e-3"), 1e-3);
  EXPECT_TRUE(std::isnan(*to_double("nan")));
  EXPECT_EQ(to_double("-inf"), -std::numeric_limits<double>::infinity());
  for (const char* bad : {"", "+", "++1", "1,5", "1.5x", "0x1p3", "1e999"}) {
    EXPECT_FALSE(to_double(bad)) << bad;
  }
}

TEST(TextTest, ShortestReadsBackAsTheSameDouble) {
  EXPECT_EQ(shortest(150.11), "150.11");
  EXPECT_EQ(shortest(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(to_double(shortest(1.0 / 3.0)), 1.0 / 3.0);
}

TEST(TextTest, SplitKeepsEmptyPieces) {
  EXPECT_EQ(split("a//b", '/'), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", '/'), (std::vector<std::string_view>{""}));
}

TEST(TextTest, EscapesWhatWouldDriveATerminal) {
  EXPECT_EQ(escape_for_terminal("a\x1b]52;c;x\x07"), "a\\x1b]52;c;x\\x07");
  EXPECT_EQ(escape_for_terminal("line\nnext"), "line\\x0anext");
  EXPECT_EQ(escape_for_terminal("line\nnext\t!", true), "line\nnext\t!");
  EXPECT_EQ(escape_for_terminal("\xc2\x9b"
                                "31m"),
            "\\u{009b}31m")
      << "C1 CSI as UTF-8";
  EXPECT_EQ(escape_for_terminal("\xe2\x80\xae"), "\\u{202e}") << "right-to-left override";
  EXPECT_EQ(escape_for_terminal("\xff\xe2\x96"), "\\xff\\xe2\\x96") << "not UTF-8";
  EXPECT_EQ(escape_for_terminal("::stop-commands::x"), "\\::stop-commands::x") << "GitHub";
  EXPECT_EQ(escape_for_terminal("a::b\n  ##[error]x", true), "a::b\n  \\##[error]x");
  EXPECT_EQ(escape_for_terminal("a.log: ##[error]x"), "a.log: \\##[error]x");
  EXPECT_EQ(escape_for_terminal("\xe3\x80\x80::error::"), "\xe3\x80\x80\\::error::");
  EXPECT_EQ(escape_for_terminal("\xe2\x96\x88 ok \x7f"), "\xe2\x96\x88 ok \\x7f");
  EXPECT_EQ(escape_for_terminal("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80")
      << "overlong form and surrogate";
}

TEST(TextTest, SuggestsTheNearestName) {
  EXPECT_EQ(nearest_name("tqmd", {"native", "tqdm", "tf"}), "tqdm");
  EXPECT_EQ(nearest_name("trails", {"trials", "steps"}), "trials");
  EXPECT_EQ(nearest_name("x", {"tqdm", "tf"}), "") << "everything is near to one letter";
  EXPECT_EQ(nearest_name("completely-else", {"tqdm", "tf"}), "");
  EXPECT_EQ(name_hint("tqmd", {"native", "tqdm"}), "did you mean 'tqdm'?");
  EXPECT_EQ(name_hint("x", {"tqdm", "tf"}), "known: tqdm, tf");
  EXPECT_EQ(name_hint("x", {"tqdm", "tf"}, "use ", ", or a file"), "use tqdm, tf, or a file");
}

}  // namespace
}  // namespace bertbench
