// Runs the whole program in this process and keeps what it wrote; golden files; temporary folders.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "harness/cli/cli.h"
#include "tests/read_file.h"

namespace bertbench::test {

struct Ran {
  int status = -1;
  std::string out, err;
};

inline Ran run(const std::vector<std::string>& args, Terminal terminal = {}) {
  std::ostringstream out, err;
  Ran ran;
  ran.status = run_cli(args, out, err, terminal);
  ran.out = out.str();
  // Notes are folded at a width: the indented lines after one belong to it.
  std::istringstream lines(err.str());
  bool note = false;
  for (std::string line; std::getline(lines, line);) {
    if (note && line.starts_with("  ")) {
      ran.err.back() = ' ';
      line.erase(0, 2);
    } else {
      note = line.starts_with("bertbench: note:");
    }
    ran.err += line + "\n";
  }
  return ran;
}

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// Compares with a stored file; BB_UPDATE_GOLDEN=1 stores it instead.
inline void expect_golden(const std::string& path_from_root, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(BB_SOURCE_DIR) / path_from_root;
  const char* update = std::getenv("BB_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") write_file(path, text);
  EXPECT_EQ(read_file(path), text) << path << " differs; BB_UPDATE_GOLDEN=1 stores the new text";
}

/// Exactly one line, of the form `bertbench: <where>: <what>...`.
inline void expect_one_error_line(const Ran& ran) {
  EXPECT_EQ(ran.out, "");
  ASSERT_FALSE(ran.err.empty());
  EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
  EXPECT_TRUE(ran.err.starts_with("bertbench: ")) << ran.err;
}

class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder = std::filesystem::path(testing::TempDir()) /
             (std::string("bb_cli_") + info->test_suite_name() + "_" + info->name() + "_" +
              std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }
  std::string put(const std::string& name, const std::string& text) const {
    write_file(folder / name, text);
    return path(name);
  }

  std::filesystem::path folder;
};

}  // namespace bertbench::test
