// LineFeed: blocks of bytes in, candidate lines out.
//
// A line ends at '\n', '\r' or "\r\n". Only lines that hold an anchor are found; the others are
// neither split nor copied. A line longer than kReach around its anchor is cut there, so that
// memory stays bounded and one line of gigabytes costs no more than many short ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/anchor_scan.h"

namespace bertbench {

/// A line, or the part of an overlong one, with the anchors on it.
struct Candidate {
  std::string_view text;     ///< valid during the call only
  std::int64_t number = 0;   ///< of the line, from 1; only '\n' counts
  char terminator = '\n';    ///< '\n', '\r', or 0 at the end of input
  std::uint64_t owners = 0;  ///< union of the anchors' owner bits
};

class CandidateSink {
 public:
  virtual ~CandidateSink() = default;
  virtual void candidate(const Candidate& line) = 0;
};

class LineFeed {
 public:
  static constexpr std::size_t kBlock = std::size_t{256} << 10;
  static constexpr std::size_t kReach = std::size_t{32}
                                        << 10;  ///< kept on either side of an anchor

  /// `owners[i]` belongs to literal i of the scanner; both must outlive the feed.
  LineFeed(const AnchorScanner& scanner, std::span<const std::uint64_t> owners);

  /// Where the next bytes go: up to kBlock of them, page-aligned, behind the unfinished line.
  [[nodiscard]] std::span<char> room();
  /// `n` bytes were put into room(): hands on the candidates among the lines that are now complete.
  void commit(std::size_t n, CandidateSink& sink);
  /// End of input.
  void finish(CandidateSink& sink);

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  void scan_lines(std::size_t end, bool whole, CandidateSink& sink);
  void emit(std::string_view data, std::size_t hit, std::size_t& taken, std::size_t& index,
            bool at_end, CandidateSink& sink);
  void keep_from(std::size_t start);

  const AnchorScanner& scanner_;
  std::span<const std::uint64_t> owners_;
  std::unique_ptr<char[]> memory_;
  char* block_ = nullptr;    ///< page-aligned; the carry ends right in front of it
  char* begin_ = nullptr;    ///< first byte held
  char* end_ = nullptr;      ///< behind the last byte held
  std::size_t owned_ = 0;    ///< hits in front of this offset were handed on
  std::size_t taken_ = 0;    ///< bytes in front belong to the last part of an overlong line
  std::size_t counted_ = 0;  ///< line breaks in front of this offset are in line_
  std::int64_t line_ = 1;
  std::int64_t bytes_ = 0;
  std::vector<AnchorHit> hits_;
};

}  // namespace bertbench
