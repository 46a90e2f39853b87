// Runs the whole program in this process and keeps what it wrote.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "harness/cli/cli.h"
#include "tests/read_file.h"
#include "tests/scratch_folder.h"

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

/// Runs it to this exit status.
inline Ran run_to(int status, const std::vector<std::string>& args, Terminal terminal = {}) {
  Ran ran = run(args, terminal);
  EXPECT_EQ(ran.status, status) << testing::PrintToString(args) << "\n" << ran.out << ran.err;
  return ran;
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
  std::string path(const std::string& name) const { return scratch.path(name); }
  std::string put(const std::string& name, const std::string& text) const {
    return scratch.put(name, text);
  }

  const ScratchFolder scratch;
  const std::filesystem::path folder = scratch.path();
};

}  // namespace bertbench::test
