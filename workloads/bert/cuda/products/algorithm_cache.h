// The file that keeps what a search for matrix-product algorithms found.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bert::cuda {

/// Text, one entry a line: key, blank, the algorithm's words in hexadecimal. Keys hold no blanks
/// and name shape, types, device and library version, so a file can serve several machines. A file
/// that cannot be read or a line that makes no sense counts as not found: the search runs again.
class AlgorithmCache {
 public:
  using Words = std::vector<std::uint64_t>;
  explicit AlgorithmCache(std::string path);

  [[nodiscard]] std::optional<Words> find(const std::string& key) const;
  /// Writes the whole file anew, through a temporary one and a rename, with what other processes
  /// have added in between. False when it cannot be written.
  bool add(const std::string& key, const Words& words);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  void load();
  std::string path_;
  std::map<std::string, Words> entries_;
};

}  // namespace bert::cuda
