// AnchorTables: what the one pass over a log looks for, and on whose behalf.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/formats/format.h"
#include "parsers/scan/anchor_scan.h"

namespace bertbench {

class UserFormat;

// Owners of anchors, by bits: format i of all_formats() has bit i.
inline constexpr std::size_t kMarkBit = 60, kUserBit = 61, kFactBit = 62, kOutcomeBit = 63;
inline constexpr std::uint64_t kMarkOwner = std::uint64_t{1} << kMarkBit;
inline constexpr std::uint64_t kUserOwner = std::uint64_t{1} << kUserBit;
inline constexpr std::uint64_t kFactOwner = std::uint64_t{1} << kFactBit;
inline constexpr std::uint64_t kOutcomeOwner = std::uint64_t{1} << kOutcomeBit;

// A line of a traceback. It stands in warnings too, by the million in some logs: no anchor, it is
// looked up behind the exception that it leads to.
inline constexpr std::string_view kFileLine = "  File \"";

class AnchorTables {
 public:
  /// The tables are built once a process, format and format file, when they are first asked for.
  /// `only`: a name of all_formats() or that of `user_format`; empty = all of them.
  [[nodiscard]] static std::shared_ptr<const AnchorTables> of(
      const std::string& only, const std::shared_ptr<const UserFormat>& user_format);

  AnchorTables(std::string_view only, const UserFormat* user_format);

  [[nodiscard]] const AnchorScanner& scanner() const { return scanner_; }
  /// In the scanner's order.
  [[nodiscard]] const std::vector<std::string>& literals() const { return lists_.literals; }
  /// Of each literal of the scanner.
  [[nodiscard]] std::span<const std::uint64_t> owners() const { return lists_.owners; }
  /// Which anchors of an owner stand on the line of `hits`: Line::anchors.
  [[nodiscard]] std::uint64_t anchors_of(std::size_t owner, std::span<const AnchorHit> hits) const {
    std::uint64_t out = 0;
    for (const AnchorHit& hit : hits) {
      const std::uint8_t place = lists_.places[hit.literal][owner];
      if (place != kNone) out |= std::uint64_t{1} << place;
    }
    return out;
  }

 private:
  static constexpr std::uint8_t kNone = 0xff;
  struct Lists {
    std::vector<std::string> literals;
    std::vector<std::uint64_t> owners;
    /// [literal][owner's bit]: which of the owner's anchors the literal is, kNone if none of them.
    std::vector<std::array<std::uint8_t, 64>> places;
  };
  static Lists collect(std::string_view only, const UserFormat* user_format);

  Lists lists_;
  AnchorScanner scanner_;
};

}  // namespace bertbench
