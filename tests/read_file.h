// The bytes of a file that a test looks into.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace bertbench::test {

/// Empty where the file cannot be read.
inline std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace bertbench::test
