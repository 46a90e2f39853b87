// DllLayouts: lines of a DLLogger log that are one another's but for their digits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "parsers/core/record.h"
#include "parsers/formats/dllogger/placed_decimal.h"
#include "parsers/scan/digit_template.h"

namespace bertbench {

/// What counts on a line.
struct DllValues {
  double iteration = kUnknown, skipped = kUnknown, loss = kUnknown, time_s = kUnknown;
  double rate = kUnknown;
  bool last = false;  ///< it has the final loss
};

/// What stands in front of a line's object.
inline constexpr std::string_view kDllFront = "DLLL ";

/// A line that was read: where it stands in a text, without its '\n'.
struct DllLine {
  std::uint32_t begin = 0, size = 0;
  DllValues values;
};

/// A number of a line that was read.
struct DllNumber {
  std::size_t first = 0;                ///< its first digit
  std::size_t whole = 0, fraction = 0;  ///< digits in front of the point and behind it
  bool negative = false;
  double DllValues::*use = nullptr;  ///< null: it does not count
};

/// The numbers of a log's lines have a few lengths each (Python drops zeros at the end), so that a
/// handful of layouts covers nearly all of its lines. The lines of all layouts that are held are
/// the same but for their numbers.
class DllLayouts {
 public:
  static constexpr std::size_t kMost = 16;

  /// Lines at the front of `text`, each kDllFront, an object and a '\n', for as long as they are
  /// of a layout and `out` has room: how many. Near the end of `text` it gives up early.
  [[nodiscard]] std::size_t read_lines(std::string_view text, std::span<DllLine> out);
  /// `text` is the object.
  [[nodiscard]] bool read_whole(std::string_view text, DllValues& out);
  /// False for good once hardly a layout came twice: to go on would cost more than it saves.
  [[nodiscard]] bool worthwhile() const {
    constexpr std::size_t kTrial = 64, kLeast = 8;
    return remembered_ < kTrial || met_ >= kLeast * remembered_;
  }
  /// `text`, an object, with its numbers in order. The oldest layout makes room.
  void remember(std::string_view text, const std::vector<DllNumber>& numbers, bool last);
  void clear() { layouts_.clear(); }

 private:
  struct Layout {
    std::shared_ptr<const DigitTemplate> text;  ///< never null; shared by copies
    std::vector<PlacedDecimal> decimals;
    std::vector<double DllValues::*> uses;  ///< of the decimals
    /// Where a number of several digits begins: JSON has no leading zeros.
    std::vector<std::uint32_t> fronts;
    bool last = false;
    std::size_t number = 0;  ///< how many were remembered before
  };
  /// Sizes that differ by less than this are told without a branch.
  static constexpr std::size_t kSpan = 32;
  static bool has_leading_zero(const Layout& layout, const char* text);
  static bool read(const Layout& layout, const char* text, DllValues& out);
  std::size_t read_lines_avx512(std::string_view text, std::span<DllLine> out) const;
  std::size_t read_lines_portable(std::string_view text, std::span<DllLine> out) const;
  void sort();

  std::vector<Layout> layouts_;  ///< by size
  /// Of a size, less that of the shortest: the first layout, kMost if there is none.
  std::array<std::uint8_t, kSpan> first_{};
  std::size_t remembered_ = 0, met_ = 0;  ///< layouts, lines read by them
};

}  // namespace bertbench
