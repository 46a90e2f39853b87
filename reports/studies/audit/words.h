// Words between single blanks as cells: what a browser or a PDF file leaves of a table.
//
//   GPUs Batch size / GPU (TF32 and FP16) Throughput - TF32(sequences/sec) Weak scaling - TF32
//   8    128 and 256                      2505                             7.90
//
// The names of columns are known (columns.h), and the cells of most columns are numbers. Heading
// and row are parted into equally many cells in the one best way, or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench::audit {

inline constexpr std::size_t kMostColumns = 64;  ///< of a heading of words

/// Whether the cell holds one number or several ("8", "64 and 32", "95%", "1.2 GB").
[[nodiscard]] bool is_number_cell(std::string_view cell);
/// Likewise, or what stands for a number that is not there ("---", "n/a", "OOM").
[[nodiscard]] bool fits_number_column(std::string_view cell);

/// A heading parted into names of columns.
struct HeadingSplit {
  std::vector<std::string> names;
  bool ambiguous = false;  ///< there is another split that is as good
};

/// All ways to part a line into known names.
class HeadingWords {
 public:
  /// `names`: further names of columns, those of --column.
  HeadingWords(std::string_view line, const std::vector<std::string>& names);

  /// None where no known names are that many.
  [[nodiscard]] std::optional<HeadingSplit> split(std::size_t columns) const;
  /// The first word at which no known name can begin, and how many columns stand before it.
  [[nodiscard]] std::string_view unknown_word() const { return unknown_; }
  [[nodiscard]] std::size_t known_before() const { return known_before_; }

 private:
  // A precision that no dash or parenthesis ties to its name ("TF32 Throughput", "Throughput TF32")
  // leads its name or trails it, but not both in one heading.
  enum Style : std::size_t { leading, trailing, kStyles };
  struct Name {
    std::size_t end = 0;  // first word after it
    bool in[kStyles] = {true, true};
  };
  struct Ways {
    std::uint8_t count = 0;  // 2: at least two
    std::uint16_t from = 0;  // first word of the last name
  };
  [[nodiscard]] std::string_view text(std::size_t from, std::size_t end) const;
  void find_names(const std::vector<std::string>& names);
  void count_ways(Style style);
  [[nodiscard]] std::vector<std::string> names_of(Style style, std::size_t columns) const;

  std::string_view line_;
  std::vector<std::string_view> words_;
  std::vector<std::vector<Name>> names_;          // by first word
  std::vector<std::vector<Ways>> ways_[kStyles];  // [words used][columns]
  std::string_view unknown_;
  std::size_t known_before_ = 0;
};

/// Cells of a row, parted to fit its columns.
struct RowSplit {
  std::vector<std::string> cells;
  std::size_t numbers_in_text = 0;  ///< numbers that had to go into columns of words
  bool ambiguous = false;           ///< there is another split that is as good
};

/// Parts the words of a row into as many cells as there are columns. `numeric`: of each column,
/// whether it holds numbers: then a cell is one number or several joined by "and", "&", "/" or "±";
/// other cells take as many words as are left over. Nothing when it cannot be done.
[[nodiscard]] std::optional<RowSplit> split_row(std::string_view line,
                                                const std::vector<bool>& numeric);

/// Whether at least half of the words are numbers, and at least two: a row of some table.
[[nodiscard]] bool looks_like_row(std::string_view line);

}  // namespace bertbench::audit
