#include "parsers/core/whole_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace bertbench {

Result<std::string> read_whole_file(const std::string& path, std::size_t most_mib,
                                    const std::string& hint) {
  const std::size_t most = most_mib << 20U;
  std::string text;
  std::ifstream file;
  if (path != "-") {
    std::error_code unknown;
    if (std::filesystem::is_directory(path, unknown)) return fail(path, "is a folder", hint);
    errno = 0;
    file.open(path, std::ios::binary);
    if (!file) {
      return fail(path, std::string("cannot be read: ") + std::strerror(errno), hint);
    }
    const auto size = std::filesystem::file_size(path, unknown);
    if (!unknown && size <= most) text.reserve(size + 1);
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::array<char, 1 << 16> block{};
  while (in.read(block.data(), block.size()) || in.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > most) {
      return fail(path, "is larger than " + std::to_string(most_mib) + " MiB", hint);
    }
  }
  if (in.bad()) return fail(path, "cannot be read to its end", hint);
  return text;
}

}  // namespace bertbench
