// Texts that are kept in the checkout and compared as a whole.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/read_file.h"
#include "tests/scratch_folder.h"

namespace bertbench::test {

/// Of a page what is between its style and `end`, which is its scripts or, where the footer has the
/// commit, that.
inline std::string page_body(const std::string& page, const char* end) {
  const auto body = page.find("<body>");
  return page.substr(body, page.find(end, body) - body);
}

/// Compares with a stored file; BB_UPDATE_GOLDEN=1 stores the text instead.
inline void expect_golden(const std::string& path_from_root, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(BB_SOURCE_DIR) / path_from_root;
  const char* update = std::getenv("BB_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") write_file(path, text);
  ASSERT_TRUE(std::filesystem::exists(path))
      << path << " is not there yet; BB_UPDATE_GOLDEN=1 writes it";
  EXPECT_EQ(read_file(path), text) << path << " differs; BB_UPDATE_GOLDEN=1 stores the new text";
}

}  // namespace bertbench::test
