// AnchorTables: what the one pass over a log looks for, and on whose behalf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/line.h"
#include "parsers/formats/format.h"
#include "parsers/scan/anchor_scan.h"

namespace bertbench {

class DescribedFormat;

/// Owners of literals: the rules, then formats in their order, the user's own format last.
enum Owner : std::uint32_t { kMarks, kFacts, kOutcomes, kFormats };

// A line of a traceback. It stands in warnings too, by the million in some logs: no anchor, it is
// looked up after the exception that it leads to.
inline constexpr std::string_view kFileLine = "  File \"";

class AnchorTables {
 public:
  /// The tables are built once a process, format and format file, when they are first asked for.
  /// `only`: a name of all_formats() or that of `user_format`; empty = all of them. A format that
  /// yields comes with all others, by which it knows what is none of its own.
  [[nodiscard]] static std::shared_ptr<const AnchorTables> of(
      const std::string& only, const std::shared_ptr<const DescribedFormat>& user_format);

  AnchorTables(std::span<const Format* const> formats, const DescribedFormat* user_format);

  [[nodiscard]] const AnchorScanner& scanner() const { return scanner_; }
  /// In the scanner's order.
  [[nodiscard]] const std::vector<std::string>& literals() const { return lists_.literals; }
  /// Those that read the log; owner kFormats + i is the i-th. One more is the user's own.
  [[nodiscard]] std::span<const Format* const> formats() const { return formats_; }

  /// All places in `text` of the literals of `hits`, whose offsets count from `data`: by owners,
  /// each owner's by rows.
  void places(std::string_view text, const char* data, std::span<const AnchorHit> hits,
              std::vector<LiteralAt>& out) const;
  /// The same of a text that was not scanned yet.
  void places(std::string_view text, std::vector<LiteralAt>& out) const;

 private:
  struct Row {
    std::uint32_t owner = 0, row = 0;
  };
  struct Lists {
    std::vector<std::string> literals;
    /// Of literal i: rows [first[i], first[i + 1]).
    std::vector<Row> rows;
    std::vector<std::size_t> first;
  };
  static Lists collect(std::span<const Format* const> formats, const DescribedFormat* user_format);

  std::vector<const Format*> formats_;
  Lists lists_;
  AnchorScanner scanner_;
};

}  // namespace bertbench
