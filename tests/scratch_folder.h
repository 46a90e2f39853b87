// A folder for one test, and files that the test writes. The folder's name is unique, so tests that
// run side by side never share a file.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace bertbench::test {

/// Makes the folders above the file where they are missing.
inline void write_file(const std::filesystem::path& path, const std::string& text) {
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// Made anew under the system's folder of temporary files, removed with all it holds at the end.
/// The path is empty where no folder can be made, which the test's first write then shows.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bb_test_XXXXXX").string();
    if (mkdtemp(pattern.data())) path_ = pattern;
  }
  ~ScratchFolder() {
    if (path_.empty()) return;
    std::error_code ignored;  // a test may have taken the right to enter away
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a file of the folder and returns its path.
  std::string put(const std::string& name, const std::string& text) const {
    write_file(path(name), text);
    return path(name);
  }

 private:
  std::string path_;
};

}  // namespace bertbench::test
