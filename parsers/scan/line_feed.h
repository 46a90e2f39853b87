// LineFeed: blocks of bytes in, candidate lines out.
//
// A line ends at '\n', '\r' or "\r\n". Only lines that hold an anchor are found; the others are
// neither split nor copied. A line longer than kReach on one side of its anchor is cut there, so
// that memory stays bounded; one longer than that on both sides is cut near its anchors,
// so that one line of gigabytes costs no more than many short ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/scan/anchor_scan.h"

namespace bertbench {

/// A line, or the part of an overlong one, with the anchors on it.
struct Candidate {
  std::string_view text;            ///< valid during the call only
  std::int64_t number = 0;          ///< of the line, from 1; only '\n' counts
  std::int64_t end_byte = 0;        ///< offset in the log after `text`
  char terminator = '\n';           ///< '\n', '\r', or 0 at the end of input
  const char* data = nullptr;       ///< what the offsets of the hits count from
  std::span<const AnchorHit> hits;  ///< the anchors
  /// As many copies of this line follow, each ended by '\r' as well: ranks that draw one bar. They
  /// are not handed on again.
  std::int64_t repeats = 0;
  std::string_view before;  ///< what stands before the text: up to kHistory bytes
};

class CandidateSink {
 public:
  virtual ~CandidateSink() = default;
  virtual void candidate(const Candidate& line) = 0;
  /// Asked after each candidate and at the begin of a block: true hands on every line that
  /// follows, anchors or not, until it is false again. A line beyond kReach comes cut, and without
  /// its hits.
  [[nodiscard]] virtual bool wants_every_line() const { return false; }
};

/// Finds the candidates of a block. What a line gives does not depend on where blocks begin or end.
class LineScan {
 public:
  static constexpr std::size_t kReach = std::size_t{32}
                                        << 10;  ///< kept on either side of an anchor
  /// Kept before and after an anchor where the line goes on beyond kReach on both sides: what
  /// no record needs would else be searched by every format with an anchor in there.
  static constexpr std::size_t kNearFront = 256, kNearBehind = 512;
  static constexpr std::size_t kHistory = std::size_t{4} << 10;  ///< Candidate::before

  /// The scanner must outlive the scan.
  explicit LineScan(const AnchorScanner& scanner);

  /// Hands on the candidates of hits that were not handed on yet and lie before `end`.
  /// `whole`: the bytes up to `end` are complete lines (or all there is), else `end` lies in an
  /// overlong line and kReach bytes and a literal follow it. `history` bytes before `data` may
  /// be read.
  void scan(std::string_view data, std::size_t history, std::size_t end, bool whole,
            CandidateSink& sink);
  /// The first `n` bytes, all scanned, are there no more: offsets shift.
  void drop(std::size_t n);
  /// Other data come next; the number of the line goes on.
  void forget() { scanned_ = taken_ = unbroken_ = unbroken_end_ = 0; }

  /// The caller has seen that no line break lies in [begin, end): it is not looked for again.
  void set_unbroken(std::size_t begin, std::size_t end) {
    unbroken_ = begin;
    unbroken_end_ = end;
  }

  /// Number of the line that the end of what was scanned lies in.
  [[nodiscard]] std::int64_t line() const { return line_; }
  void set_line(std::int64_t number) { line_ = number; }
  /// Offset in the log of the first byte of the data to come.
  void set_origin(std::int64_t offset) { origin_ = offset; }

 private:
  std::size_t emit(std::string_view data, std::size_t history, std::size_t& index,
                   CandidateSink& sink);
  [[nodiscard]] std::size_t end_of_part(std::size_t index, std::size_t reach) const;
  void emit_next_line(std::string_view data, std::size_t history, CandidateSink& sink);

  const AnchorScanner& scanner_;
  std::size_t scanned_ = 0;  ///< hits before this offset were handed on
  std::size_t taken_ = 0;    ///< bytes before it belong to the last part of an overlong line
  // [unbroken_, unbroken_end_) holds no line break: in an overlong line each part's neighbourhood
  // would else be searched for one again.
  std::size_t unbroken_ = 0, unbroken_end_ = 0;
  std::size_t step_;  ///< bytes scanned at a time: fewer while lines repeat themselves
  std::int64_t line_ = 1;
  std::int64_t origin_ = 0;
  std::vector<AnchorHit> hits_;
};

/// Offset after the last line break in [from, data.size()), `from` if there is none. A '\r' at the
/// very end may be half of a "\r\n" and does not count.
[[nodiscard]] std::size_t end_of_complete_lines(std::string_view data, std::size_t from);

class LineFeed {
 public:
  static constexpr std::size_t kBlock = std::size_t{256} << 10;
  static constexpr std::size_t kReach = LineScan::kReach;

  /// As LineScan's.
  explicit LineFeed(const AnchorScanner& scanner);
  LineFeed(const LineFeed&) = delete;
  LineFeed& operator=(const LineFeed&) = delete;
  ~LineFeed();

  /// Where the next bytes go: up to kBlock of them, page-aligned, after the unfinished line.
  [[nodiscard]] std::span<char> room();
  /// `n` bytes were put into room(): hands on the candidates among the lines that are now complete.
  void commit(std::size_t n, CandidateSink& sink);
  /// End of input.
  void finish(CandidateSink& sink);

  /// Begins anew with line `number`, `offset` bytes into the log; `before`, of up to kHistory
  /// bytes, stands before it.
  void start_at(std::int64_t number, std::int64_t offset, std::string_view before);
  [[nodiscard]] std::int64_t line() const { return scan_.line(); }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// What came so far ends within line().
  [[nodiscard]] bool is_within_a_line() const { return end_ > begin_; }

 private:
  void keep_from(std::size_t start);

  LineScan scan_;
  std::unique_ptr<char[]> memory_;
  char* block_ = nullptr;    ///< page-aligned; the carry ends right before it
  char* begin_ = nullptr;    ///< first byte held
  std::size_t history_ = 0;  ///< bytes before begin_ that were there before it
  char* end_ = nullptr;      ///< after the last byte held
  std::int64_t bytes_ = 0;
};

}  // namespace bertbench
