// One large file read and scanned by several threads, with the candidates in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "parsers/core/error.h"
#include "parsers/scan/anchor_scan.h"
#include "parsers/scan/line_feed.h"

namespace bertbench {

struct ChunkOptions {
  std::size_t threads = 2;
  std::size_t chunk = 0;  ///< bytes that a thread takes at a time; 0: as many as memory allows
};

/// Hands `sink` what a LineFeed that reads the same file would hand it, candidate by candidate, in
/// the same order and never by two threads at once; but different calls come from different
/// threads.
///
/// A chunk owns the lines that begin in it, or rather after the last line break before it, so
/// that neighbours agree without talking. A line that is too long for that is read by a LineFeed,
/// as is what was appended while the file was read. `bytes` becomes the number of bytes read.
/// Returns an Error when the file cannot be read.
Result<void> scan_chunks(int file, const std::string& path, const AnchorScanner& scanner,
                         const ChunkOptions& options, CandidateSink& sink, std::int64_t& bytes);

}  // namespace bertbench
