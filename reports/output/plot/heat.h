// Heat maps: micro batch against topology, the rate per GPU as colour. Data first, as figures are,
// then their drawing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/model/result_set.h"
#include "reports/output/table.h"

namespace bertbench::plot {

/// One place of the matrix.
struct Tile {
  enum class Kind {
    empty,     ///< the result has no such cell
    failed,    ///< no trial gave a number
    measured,  ///< `value` holds
  } kind = Kind::empty;
  double value = 0;
  bool flawed = false;  ///< measured, but some trials failed
  std::string text;     ///< stands in the tile: "123.4", "OOM", "killed"
  std::string tip;      ///< everything known of the cell, in a line
};

struct HeatMap {
  std::string id;     ///< letters, digits and '-'
  std::string title;  ///< what the cells have in common
  std::string column_label, row_label, unit;
  std::vector<std::string> columns, rows;
  std::vector<Tile> tiles;   ///< row by row, columns.size() x rows.size()
  double low = 0, high = 0;  ///< range of the values; high < low: no tile has one

  [[nodiscard]] const Tile& at(std::size_t row, std::size_t column) const {
    return tiles[row * columns.size() + column];
  }
};

/// Of the values of its tiles.
void set_range(HeatMap& map);

/// A map for each group of cells that differ in batch and topology only, where both vary; the first
/// `kMostMaps`. `all`: how many there would be.
struct HeatMaps {
  std::vector<HeatMap> maps;
  std::size_t all = 0;
};
inline constexpr std::size_t kMostMaps = 8;
[[nodiscard]] HeatMaps heat_maps(const ResultSet& set);

/// The same as a table: a row a batch, a column a topology.
[[nodiscard]] Table heat_table(const HeatMap& map);

/// The <svg>, in a page that has figure.css.
[[nodiscard]] std::string inline_svg(const HeatMap& map);
/// A file of its own, with its title and style.
[[nodiscard]] std::string svg_file(const HeatMap& map);

/// Colour of a share 0..1 of the range: viridis, whose lightness rises all the way, so that it
/// reads in grey and by colour-blind eyes. "#440154".
[[nodiscard]] std::string scale_colour(double share);

}  // namespace bertbench::plot
