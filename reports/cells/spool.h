// Bytes put aside: in memory while they are few, then in a temporary file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "parsers/core/temporary_file.h"

namespace bertbench {

/// Pieces that are added one after the other and read back in any order, also by several threads at
/// once. Beyond `in_memory` bytes they go to a temporary file; where there is none, or no room in
/// it, they stay in memory.
class Spool {
 public:
  explicit Spool(std::size_t in_memory = std::size_t{4} << 20) : in_memory_(in_memory) {}

  /// Adds a piece and returns where it begins.
  std::uint64_t add(std::string_view piece);
  /// False when the file cannot be read.
  [[nodiscard]] bool read(std::uint64_t at, std::size_t size, std::string& out) const;
  [[nodiscard]] bool in_file() const { return in_file_ > 0; }

 private:
  void move_to_file();

  std::size_t in_memory_;
  FileHandle file_{nullptr, std::fclose};
  bool no_file_ = false;
  std::uint64_t in_file_ = 0;  ///< bytes before those in memory
  std::string tail_;
};

}  // namespace bertbench
