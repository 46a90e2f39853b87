#include "reports/output/plot/heat.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "reports/output/markup.h"
#include "reports/output/plot/groups.h"
#include "reports/output/plot/svg_parts.h"
#include "reports/output/value_text.h"

namespace bertbench::plot {

// What the heat maps show.

namespace {

constexpr std::size_t kMostPlaces = 40;  // rows or columns that a reader can distinguish

using Column = std::pair<std::int64_t, std::string>;  // GPUs, topology: sorted by size

Column column_of(const Cell& cell) {
  return {*cell.identity.world_size(), topology_text(cell.identity)};
}

/// The failure in a word that fits a tile.
std::string failure_word(const Cell& cell) {
  for (const Trial& trial : cell.trials) {
    if (is_failure(trial.outcome.status)) {
      return trial.outcome.status == Status::out_of_memory ? "OOM"
             : trial.outcome.status == Status::truncated   ? "cut off"  // nine letters do not fit
                                                         : std::string(name(trial.outcome.status));
    }
  }
  return "no rate";
}

std::string tip_of(const Cell& cell, const std::string& unit) {
  std::string tip = fmt::format("{}, micro batch {}", topology_text(cell.identity),
                                *cell.identity.micro_batch_size);
  const auto& rate = cell.sequences_per_second_per_gpu;
  tip += rate ? fmt::format(": {} {}", number_text(*rate), unit) : ": no number";
  if (cell.throughput.median && rate) {
    tip += fmt::format(", {} {} in all, n = {}", number_text(*cell.throughput.median),
                       cell.throughput.unit, cell.throughput.n);
  }
  if (cell.throughput.cv) tip += ", cv " + percent_text(*cell.throughput.cv);
  if (cell.scaling_efficiency) tip += ", efficiency " + percent_text(*cell.scaling_efficiency);
  if (const std::string failed = failures_of(cell).text(); !failed.empty()) tip += ", " + failed;
  return tip;
}

Tile tile_of(const Cell& cell, const std::string& unit) {
  Tile tile;
  tile.tip = tip_of(cell, unit);
  if (const auto rate = cell.sequences_per_second_per_gpu) {
    tile.kind = Tile::Kind::measured;
    tile.value = *rate;
    tile.text = number_text(*rate);
    tile.flawed = std::ranges::any_of(
        cell.trials, [](const Trial& trial) { return ended_badly(trial.outcome.status); });
  } else {
    tile.kind = Tile::Kind::failed;
    tile.text = failure_word(cell);
  }
  return tile;
}

HeatMap map_of(const CellGroup& group, std::size_t number) {
  std::set<std::int64_t> batches;
  std::set<Column> topologies;
  for (const Cell* cell : group.cells) {
    batches.insert(*cell->identity.micro_batch_size);
    topologies.insert(column_of(*cell));
  }
  HeatMap map;
  map.id = fmt::format("heat-{}", number);
  map.title = group.name;
  map.column_label = "topology";
  map.row_label = "micro batch";
  map.unit = fmt::format("sequences/s per {}", gpu_word(*group.cells.front()));
  for (const std::int64_t batch : batches) map.rows.push_back(std::to_string(batch));
  for (const Column& column : topologies) map.columns.push_back(column.second);
  map.tiles.resize(map.rows.size() * map.columns.size());
  for (const Cell* cell : group.cells) {
    const auto row = std::distance(batches.begin(), batches.find(*cell->identity.micro_batch_size));
    const auto column = std::distance(topologies.begin(), topologies.find(column_of(*cell)));
    Tile& place = map.tiles[static_cast<std::size_t>(row) * map.columns.size() +
                            static_cast<std::size_t>(column)];
    // Separate logs can be of one place: the first with a number stands.
    if (Tile tile = tile_of(*cell, map.unit); tile.kind > place.kind) place = std::move(tile);
  }
  set_range(map);
  return map;
}

bool has_two_axes(const CellGroup& group) {
  std::set<std::int64_t> batches;
  std::set<std::string> topologies;
  for (const Cell* cell : group.cells) {
    batches.insert(*cell->identity.micro_batch_size);
    topologies.insert(topology_text(cell->identity));
  }
  const auto fits = [](std::size_t places) { return places >= 2 && places <= kMostPlaces; };
  return fits(batches.size()) && fits(topologies.size());
}

}  // namespace

void set_range(HeatMap& map) {
  map.low = 1;  // no value: an empty range
  for (const Tile& tile : map.tiles) {
    if (tile.kind != Tile::Kind::measured) continue;
    const bool first = map.high < map.low;
    map.low = first ? tile.value : std::min(map.low, tile.value);
    map.high = first ? tile.value : std::max(map.high, tile.value);
  }
}

HeatMaps heat_maps(const ResultSet& set) {
  const std::vector<CellGroup> groups = groups_of(
      set,
      [](const Cell& cell) {
        const bool placed = cell.identity.micro_batch_size && cell.identity.world_size();
        return placed ? std::optional<std::string>("") : std::nullopt;
      },
      [](Identity& identity) {
        identity.nodes = identity.gpus_per_node = identity.micro_batch_size = std::nullopt;
      },
      has_two_axes);
  HeatMaps out;
  out.all = groups.size();
  for (const CellGroup& group : groups) {
    if (out.maps.size() == kMostMaps) break;
    out.maps.push_back(map_of(group, out.maps.size() + 1));
  }
  return out;
}

Table heat_table(const HeatMap& map) {
  Table table{{{map.row_label, true}}};
  for (const std::string& column : map.columns) table.columns.push_back({column, true});
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    std::vector<std::string> row{map.rows[r]};
    for (std::size_t c = 0; c < map.columns.size(); ++c) row.push_back(map.at(r, c).text);
    table.rows.push_back(std::move(row));
  }
  return table;
}

// How they are drawn.

namespace {

using Colour = std::array<int, 3>;

// viridis by Smith and van der Walt (CC0), every ninth part of it.
constexpr std::array<Colour, 10> kScale{{{0x44, 0x01, 0x54},
                                         {0x48, 0x28, 0x78},
                                         {0x3E, 0x4A, 0x89},
                                         {0x31, 0x68, 0x8E},
                                         {0x26, 0x82, 0x8E},
                                         {0x1F, 0x9E, 0x89},
                                         {0x35, 0xB7, 0x79},
                                         {0x6D, 0xCD, 0x59},
                                         {0xB4, 0xDE, 0x2C},
                                         {0xFD, 0xE7, 0x25}}};

Colour colour_at(double share) {
  const double at = std::clamp(share, 0.0, 1.0) * (kScale.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), kScale.size() - 2);
  const double rest = at - static_cast<double>(below);
  Colour out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] =
        static_cast<int>(std::lround(kScale[below][i] * (1 - rest) + kScale[below + 1][i] * rest));
  }
  return out;
}

std::string hex(const Colour& c) { return fmt::format("#{:02x}{:02x}{:02x}", c[0], c[1], c[2]); }

/// Relative luminance of WCAG 2.
double luminance(const Colour& colour) {
  constexpr std::array kWeights{0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (std::size_t i = 0; i < colour.size(); ++i) {
    const double c = colour[i] / 255.0;
    sum += kWeights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return sum;
}

/// Black or white, whichever stands out more: 4.6 to 1 at least, on any ground.
const char* ink_on(const Colour& ground) {
  const double light = luminance(ground) + 0.05;
  return light / 0.05 > 1.05 / light ? "#000" : "#fff";
}

struct Layout {
  double left = 64, top = 8, width = 66, height = 34;  ///< edges of the matrix; of one tile
  double right = 0, bottom = 0;

  explicit Layout(const HeatMap& map, double above) : top(8 + above) {
    width = std::clamp(720.0 / static_cast<double>(map.columns.size()), 18.0, 66.0);
    height = map.rows.size() > 12 ? 24 : 34;
    right = left + width * static_cast<double>(map.columns.size());
    bottom = top + height * static_cast<double>(map.rows.size());
  }
};

double share_of(const HeatMap& map, double value) {
  return map.high > map.low ? (value - map.low) / (map.high - map.low) : 1;
}

/// Strokes from corner to corner over a rectangle: not a colour, so that nobody takes it for one.
std::string hatching(double x, double y, double width, double height) {
  std::string d;
  for (double k = 6; k < width + height; k += 6) {
    d += fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x + std::min(k, width),
                     y + std::max(0.0, k - width), x + std::max(0.0, k - height),
                     y + std::min(k, height));
  }
  return d;
}

std::string tile_svg(const HeatMap& map, const Layout& at, std::size_t row, std::size_t column) {
  const Tile& tile = map.at(row, column);
  const double x = at.left + at.width * static_cast<double>(column) + 1;
  const double y = at.top + at.height * static_cast<double>(row) + 1;
  const double width = at.width - 2, height = at.height - 2;
  const std::string box = fmt::format(
      "x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"", x, y, width, height);
  std::string out =
      fmt::format("<g class=\"tile\" data-row=\"{}\" data-column=\"{}\">", row, column);
  std::string ink;
  switch (tile.kind) {
    case Tile::Kind::empty:
      return out + fmt::format(
                       "<rect class=\"none\" {}/><title>{}, {} {}: not in this result</title>"
                       "</g>\n",
                       box, escape_markup(map.columns[column]), map.row_label,
                       escape_markup(map.rows[row]));
    case Tile::Kind::measured: {
      const Colour ground = colour_at(share_of(map, tile.value));
      ink = fmt::format(" fill=\"{}\"", ink_on(ground));
      out += fmt::format("<rect {} fill=\"{}\"/>", box, hex(ground));
      if (tile.flawed) {
        out += fmt::format("<path{} d=\"M{:.1f} {:.1f}h-8l8 8z\"/>", ink, x + width, y);
      }
      break;
    }
    case Tile::Kind::failed:
      out += fmt::format("<rect class=\"failed\" {}/><path class=\"hatch\" d=\"{}\"/>", box,
                         hatching(x, y, width, height));
      break;
  }
  if (text_width(tile.text) + 4 <= width) {
    out += fmt::format("<text{} x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                       tile.kind == Tile::Kind::failed ? " class=\"why\"" : ink, x + width / 2,
                       y + height / 2 + 4, escape_markup(tile.text));
  }
  return out + "<title>" + escape_markup(tile.tip) + "</title></g>\n";
}

/// Names of columns that would run into each other.
bool names_upwards(const HeatMap& map, const Layout& at) {
  return std::ranges::any_of(
      map.columns, [&](const std::string& column) { return text_width(column) + 6 > at.width; });
}

std::string axes(const HeatMap& map, const Layout& at) {
  std::string out;
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    out += fmt::format(
        "<text class=\"tick\" data-row=\"{}\" x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>\n",
        r, at.left - 8, at.top + at.height * (static_cast<double>(r) + 0.5) + 4,
        escape_markup(map.rows[r]));
  }
  const bool upwards = names_upwards(map, at);
  for (std::size_t c = 0; c < map.columns.size(); ++c) {
    const double x = at.left + at.width * (static_cast<double>(c) + 0.5);
    out += upwards ? fmt::format(
                         "<text class=\"tick\" data-column=\"{}\" text-anchor=\"end\" "
                         "transform=\"translate({:.1f} {:.1f}) rotate(-60)\">{}</text>\n",
                         c, x + 4, at.bottom + 12, escape_markup(map.columns[c]))
                   : fmt::format(
                         "<text class=\"tick\" data-column=\"{}\" x=\"{:.1f}\" "
                         "y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                         c, x, at.bottom + 16, escape_markup(map.columns[c]));
  }
  out += fmt::format(
      "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
      (at.left + at.right) / 2, at.bottom + (upwards ? 54 : 36), map.column_label);
  return out + fmt::format(
                   "<text class=\"label\" transform=\"translate(14 {:.1f}) rotate(-90)\" "
                   "text-anchor=\"middle\">{}</text>\n",
                   (at.top + at.bottom) / 2, map.row_label);
}

/// What colours and marks mean, as far as they occur. `x` goes from its left edge to its right.
std::string legend(const HeatMap& map, double y, double& x) {
  std::string out;
  const auto text = [&](const std::string& words) {
    out += fmt::format("<text class=\"label\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x, y,
                       escape_markup(words));
    x += text_width(words) + 8;
  };
  const auto mark = [&](const std::string& rest) {
    out += fmt::format(
        "<rect class=\"failed\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"20\" height=\"12\"/>{}", x,
        y - 10, rest);
    x += 26;
  };
  if (!(map.high < map.low)) {
    if (map.high > map.low) text(number_text(map.low));
    constexpr int kSteps = 40;
    for (int i = 0; i < kSteps; ++i) {
      out += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"3\" height=\"12\" fill=\"{}\"/>",
                         x + 2 * i, y - 10, hex(colour_at((i + 0.5) / kSteps)));
    }
    x += 2 * kSteps + 9;
    text(number_text(map.high) + " " + map.unit);
  }
  if (std::ranges::any_of(map.tiles, [](const Tile& t) { return t.kind == Tile::Kind::failed; })) {
    mark(fmt::format("<path class=\"hatch\" d=\"{}\"/>", hatching(x, y - 10, 20, 12)));
    text("no trial gave a number");
  }
  if (std::ranges::any_of(map.tiles, &Tile::flawed)) {
    mark(fmt::format("<path class=\"why\" d=\"M{:.0f} {:.0f}h-8l8 8z\"/>", x + 20, y - 10));
    text("some trials failed");
  }
  return out;
}

std::string drawn(const HeatMap& map, bool file) {
  const Layout at(map, file ? 44 : 22);
  const std::string title = map.title + ": " + map.unit;
  double legend_end = 10;
  std::string body = legend(map, file ? 40 : 18, legend_end);
  double width = std::max(at.right + 16, legend_end);  // of few columns: the legend needs more
  if (file) {
    body += title_line(title);
    width = std::max(width, 26 + text_width(title));
  }
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    for (std::size_t c = 0; c < map.columns.size(); ++c) body += tile_svg(map, at, r, c);
  }
  return svg_element(
      {width, at.bottom + (names_upwards(map, at) ? 64 : 46), title, body + axes(map, at), file});
}

}  // namespace

std::string scale_colour(double share) { return hex(colour_at(share)); }

std::string inline_svg(const HeatMap& map) { return drawn(map, false); }
std::string svg_file(const HeatMap& map) { return drawn(map, true); }

}  // namespace bertbench::plot
