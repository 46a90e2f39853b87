// A run folder as one file: tar, compressed by zstd, with the SHA-256 of each file in it.
// The tar code is our own: with libarchive the one static program (BB_STATIC) would carry libxml2,
// ICU and some eight more libraries for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

struct ArchiveContents {
  std::size_t files = 0;
  std::uint64_t bytes = 0;               ///< of the files as they lie in the folder
  std::vector<std::string> left_out;     ///< files for the trainer alone, which may hold secrets
  std::vector<std::string> checkpoints;  ///< of phases, left out as well
};

/// `<name of the folder>/...` with all files of the run folder and `checksums.sha256`, as sha256sum
/// writes it, at the end. Links are left out, and what `left_out` and
/// `checkpoints` name. The file appears when it is whole. Its last bytes name this program, for who
/// is to replace it; zstd skips them.
[[nodiscard]] Result<ArchiveContents> write_archive(const std::string& folder,
                                                    const std::string& path);

/// Makes `folder`, which must not be there, of an archive. An error where a file is damaged, is
/// missing, or would lie outside of the folder: then it is not made.
[[nodiscard]] Result<ArchiveContents> unpack_archive(const std::string& path,
                                                     const std::string& folder);

}  // namespace bertbench
