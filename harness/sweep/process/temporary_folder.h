// TemporaryFolder: removed, with all in it, when the object is destroyed.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

namespace bertbench {

/// "<parent>/<name>-XXXXXX" of mode 0700; without a parent in $TMPDIR. The path is empty where none
/// can be made.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name, std::filesystem::path parent = {}) {
    std::error_code ec;
    if (parent.empty()) parent = std::filesystem::temp_directory_path(ec);
    path_ = (parent / (name + "-XXXXXX")).string();
    if (ec || mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ec;
    if (!path_.empty()) std::filesystem::remove_all(path_, ec);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace bertbench
