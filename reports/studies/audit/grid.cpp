#include "reports/studies/audit/grid.h"

#include <algorithm>
#include <cmath>

#include "parsers/core/text.h"
#include "reports/studies/audit/words.h"

namespace bertbench::audit {
namespace {

constexpr std::size_t kMaxHeadingRows = 4;

// The heading nearest to the numbers that means something, joined upwards as far as needed.
std::string heading_of(const SourceTable& table, std::size_t heading_rows, std::size_t column) {
  std::string joined;
  std::string nearest;
  for (std::size_t n = heading_rows; n-- > 0;) {
    const auto& cells = table.rows[n].cells;
    if (column >= cells.size() || cells[column].empty()) continue;
    joined = joined.empty() ? cells[column] : cells[column] + " " + joined;
    if (is_role(joined)) return joined;
    if (nearest.empty()) nearest = joined;
  }
  return nearest;
}

// "Parameters | 128 Sequence | 512 Sequence": each row is a parameter. Columns of line numbers
// before the parameters are left out.
std::optional<SourceTable> transposed(const SourceTable& table) {
  const auto& headings = table.rows.front().cells;
  std::size_t names = 0;
  while (names < headings.size() && read_heading(headings[names]).role == Role::ignore) ++names;
  std::vector<std::string> parameters;
  std::size_t width = 0;
  for (std::size_t n = 0; n < table.rows.size(); ++n) {
    const auto& cells = table.rows[n].cells;
    width = std::max(width, cells.size());
    if (n > 0 && names < cells.size()) parameters.push_back(cells[names]);
  }
  const auto is_parameter = [](const std::string& cell) {
    return is_role(cell) && read_heading(cell).role != Role::ignore;
  };
  const auto down = std::ranges::count_if(parameters, is_parameter);
  if (down < 2 || down <= std::ranges::count_if(headings, is_parameter)) return std::nullopt;
  SourceTable turned;
  turned.line = table.line;
  turned.context = table.context;
  for (std::size_t column = names; column < width; ++column) {
    SourceRow row;
    row.line = table.line;
    for (const SourceRow& source : table.rows) {
      row.cells.push_back(column < source.cells.size() ? source.cells[column] : std::string());
      row.cell_lines.push_back(source.line);
    }
    turned.rows.push_back(std::move(row));
  }
  return turned;
}

// "| batch size | num_gpu |  | it/s |" over "|  | 3 | 16 | 4.72 |": as many filled cells as named
// columns, but not under them. The cells belong to the names in order.
bool set_right(std::vector<std::string>& cells, const std::vector<Column>& columns) {
  std::vector<std::size_t> named, filled;
  bool outside = false;
  for (std::size_t n = 0; n < columns.size(); ++n) {
    if (!columns[n].heading.empty()) named.push_back(n);
    if (n < cells.size() && !cells[n].empty()) {
      filled.push_back(n);
      outside = outside || columns[n].heading.empty();
    }
  }
  if (!outside || named.size() != filled.size() || named.size() < 3) return false;
  std::vector<std::string> right(columns.size());
  for (std::size_t n = 0; n < named.size(); ++n) right[named[n]] = cells[filled[n]];
  cells = std::move(right);
  return true;
}

// "Batch size = 64 & W/O xla": every NAME = NUMBER whose name is a role.
void read_facts(const std::string& text, Grid& grid) {
  for (std::size_t at = 0; (at = text.find_first_of("=:", at)) != std::string::npos; ++at) {
    std::string_view label = trim(std::string_view(text).substr(0, at));
    label.remove_prefix(label.find_last_of(",;&(") + 1);
    const std::string_view rest = trim(std::string_view(text).substr(at + 1));
    std::size_t size = 0;
    while (size < rest.size() && (is_name_char(rest[size]) || rest[size] == '.')) ++size;
    const auto value = to_int(rest.substr(0, size));
    if (!value) continue;
    // "BERT large, batch size = 64": the last words that name a role.
    while (!label.empty()) {
      const Role role = read_heading(label).role;
      if (is_count(role)) {
        grid.facts.emplace(role, static_cast<double>(*value));
        break;
      }
      const auto blank = label.find(' ');
      label = blank == std::string_view::npos ? std::string_view() : trim(label.substr(blank));
    }
  }
}

void read_cells(Grid& grid) {
  for (std::size_t n = 0; n < grid.columns.size(); ++n) {
    Column& column = grid.columns[n];
    std::vector<std::string> texts;
    for (const Row& row : grid.rows) texts.push_back(row.cells[n].text);
    NumberStyle style;
    style.decimal_comma = uses_decimal_comma(texts);
    style.slash_pairs = column.variants.size() > 1;
    for (Row& row : grid.rows) {
      Cell& cell = row.cells[n];
      cell.numbers = parse_numbers(cell.text, style);
      for (const Printed& number : cell.numbers) column.digit = std::min(column.digit, number.unit);
    }
    // A column "GPU" of names gives hardware, not counts.
    if (std::isinf(column.digit) && is_count(column.role)) column.role = Role::variant;
    if (column.role == Role::precision_speedup && column.variants.size() < 2 &&
        grid.variants_of({Role::throughput}).size() < 2) {
      column.role = Role::speedup;
    }
  }
}

// Whether the GPU column counts those of one node: with several nodes, the number stays what one
// node has instead of growing with the nodes.
bool gpus_are_per_node(const Grid& grid) {
  double largest_of_one = 0;
  int same = 0;
  for (const bool of_one : {true, false}) {
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
      const auto nodes = grid.cell(row, Role::nodes), gpus = grid.cell(row, Role::gpus);
      if (!nodes || !gpus) continue;
      const double n = grid.number(*nodes).value, g = grid.number(*gpus).value;
      if (of_one != (n == 1)) continue;
      if (of_one) largest_of_one = std::max(largest_of_one, g);
      if (std::fmod(g, n) != 0) return true;
      same += (g == largest_of_one ? 1 : 0) - (g == largest_of_one * n ? 1 : 0);
    }
  }
  return same > 0;
}

}  // namespace

std::size_t count_heading_rows(const SourceTable& table) {
  std::size_t rows = 1;
  while (rows < std::min(table.rows.size(), kMaxHeadingRows)) {
    const auto& cells = table.rows[rows].cells;
    if (std::ranges::any_of(cells, is_number_cell) || std::ranges::none_of(cells, is_role)) break;
    ++rows;
  }
  return std::min(rows, table.rows.size() - 1);
}

std::optional<Grid::Place> Grid::find(Role role, std::string_view variant) const {
  std::optional<Place> shared;
  for (std::size_t n = 0; n < columns.size(); ++n) {
    const Column& column = columns[n];
    if (column.role != role) continue;
    const auto at = std::find(column.variants.begin(), column.variants.end(), variant);
    if (at != column.variants.end()) {
      return Place{n, static_cast<std::size_t>(at - column.variants.begin())};
    }
    if ((column.variants.empty() || variant.empty()) && !shared) shared = Place{n, 0};
  }
  return shared;
}

std::optional<CellId> Grid::cell(std::size_t row, Role role, std::string_view variant,
                                 std::size_t part) const {
  const auto place = find(role, variant);
  if (!place) return std::nullopt;
  const std::size_t count = rows[row].cells[place->column].numbers.size();
  if (count == 0) return std::nullopt;
  const std::size_t wanted = variant.empty() ? part : place->part;
  return CellId{row, place->column, wanted < count ? wanted : 0};
}

std::vector<std::string> Grid::variants_of(const std::vector<Role>& roles) const {
  std::vector<std::string> all;
  for (const Column& column : columns) {
    if (std::find(roles.begin(), roles.end(), column.role) == roles.end()) continue;
    for (const std::string& variant : column.variants) {
      if (std::find(all.begin(), all.end(), variant) == all.end()) all.push_back(variant);
    }
  }
  if (all.empty()) all.emplace_back();
  return all;
}

Grid make_grid(const SourceTable& source, const GridOptions& options) {
  Grid grid;
  const std::optional<SourceTable> turned = transposed(source);
  const SourceTable& table = turned ? *turned : source;
  grid.line = source.line;
  for (const std::string& each : source.context) {
    grid.title += (grid.title.empty() ? "" : " / ") + each;
  }
  grid.notices = source.notices;
  grid.facts = options.facts;
  grid.words = options.words;
  for (auto each = source.context.rbegin(); each != source.context.rend(); ++each) {
    read_facts(*each, grid);  // innermost first: emplace keeps what is there
  }

  const std::size_t heading_rows = turned ? 1 : count_heading_rows(table);
  std::size_t width = 0;
  for (std::size_t n = 0; n < heading_rows; ++n) {
    width = std::max(width, table.rows[n].cells.size());
  }
  for (std::size_t n = 0; n < width; ++n) {
    Column column;
    column.heading = heading_of(table, heading_rows, n);
    const Heading heading = read_heading(column.heading);
    column.role = heading.role;
    column.variants = heading.variants;
    column.unit = heading.unit;
    for (const auto& [role, text] : options.columns) {
      if (same_heading(column.heading, text)) column.role = role;
    }
    grid.columns.push_back(std::move(column));
  }
  for (const auto& [role, text] : options.columns) {
    const bool there = std::any_of(grid.columns.begin(), grid.columns.end(),
                                   [&](const auto& c) { return same_heading(c.heading, text); });
    if (!there) {
      grid.notices.push_back(make_notice(NoticeCode::heading_unknown, grid.line, text));
    }
  }
  for (std::size_t n = heading_rows; n < table.rows.size(); ++n) {
    std::vector<std::string> texts = table.rows[n].cells;
    if (set_right(texts, grid.columns)) {
      grid.notices.push_back(make_notice(NoticeCode::cells_not_under_headings, table.rows[n].line));
    }
    Row row;
    row.line = table.rows[n].line;
    row.cell_lines = table.rows[n].cell_lines;
    row.cells.resize(width);
    for (std::size_t c = 0; c < std::min(width, texts.size()); ++c) row.cells[c].text = texts[c];
    grid.rows.push_back(std::move(row));
  }
  read_cells(grid);
  grid.gpus_are_per_node = gpus_are_per_node(grid);
  return grid;
}

}  // namespace bertbench::audit
