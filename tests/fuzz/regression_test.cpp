// Every target over the inputs that once broke it, and over its own seeds, in the ordinary build.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/fuzz/targets.h"
#include "tests/read_file.h"

namespace bertbench::fuzz {
namespace {

namespace fs = std::filesystem;

using test::read_file;

TEST(FuzzRegressions, NoInputThatOnceBrokeATargetDoesSoAgain) {
  const fs::path folder = fs::path(BB_TEST_DATA_DIR) / "regressions";
  std::size_t inputs = 0;
  for (const Target& target : all_targets()) {
    if (!fs::exists(folder / target.name)) continue;
    for (const auto& file : fs::directory_iterator(folder / target.name)) {
      SCOPED_TRACE(file.path().string());
      target.run(read_file(file.path()));
      ++inputs;
    }
  }
  EXPECT_GE(inputs, 1U);
}

// A misspelt folder would never be read.
TEST(FuzzRegressions, EveryFolderIsATarget) {
  const auto targets = all_targets();
  for (const auto& entry : fs::directory_iterator(fs::path(BB_TEST_DATA_DIR) / "regressions")) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(std::ranges::any_of(targets, [&](const Target& t) { return t.name == name; }))
        << name;
  }
}

// The samples go through their own format's target and through `reader`, cut in pieces.
TEST(FuzzTargets, HoldOnTheSamples) {
  const fs::path samples = fs::path(BB_SOURCE_DIR) / "parsers/samples";
  for (const Target& target : all_targets()) {
    if (!target.any_log) continue;
    for (const auto& file : fs::recursive_directory_iterator(samples)) {
      if (file.path().filename() == "sample.log") target.run("\x07" + read_file(file.path()));
    }
  }
}

}  // namespace
}  // namespace bertbench::fuzz
