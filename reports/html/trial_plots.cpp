#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/cell_table.h"
#include "reports/html/plots.h"
#include "reports/html/svg.h"
#include "reports/markup.h"
#include "reports/present.h"

namespace bertbench::html {
namespace {

constexpr std::size_t kMostRows = 40;

/// One row a cell: a name, then points on a common scale of percent from the cell's own centre.
struct Row {
  std::string name;
  struct Mark {
    double offset = 0;  ///< fraction from the centre
    int colour = 0;
    std::string tip;
  };
  std::vector<Mark> marks;
};

std::string strip(const std::vector<Row>& rows, const std::string& title,
                  const std::string& label) {
  double widest = 0.01;
  for (const Row& row : rows) {
    for (const Row::Mark& mark : row.marks) widest = std::max(widest, std::fabs(mark.offset));
  }
  widest = std::min(widest * 1.1, 1.0);
  constexpr double kName = 300, kWidth = 900, kRight = 20, kRow = 22, kTop = 8;
  const double bottom = kTop + kRow * static_cast<double>(rows.size());
  const auto px = [&](double offset) {
    return kName + (offset + widest) / (2 * widest) * (kWidth - kName - kRight);
  };
  std::string out = fmt::format(
      "<figure class=\"wide\"><svg viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}\">\n<title>{}</title>\n",
      kWidth, bottom + 42, escape_markup(title), escape_markup(title));
  for (const double tick : nice_ticks(-widest, widest, 6)) {
    out += fmt::format(
        "<path class=\"{}\" d=\"M{:.1f} {}V{}\"/><text class=\"tick\" x=\"{:.1f}\" y=\"{}\" "
        "text-anchor=\"middle\">{}</text>\n",
        std::fabs(tick) < 1e-12 ? "axis" : "grid", px(tick), kTop, bottom, px(tick), bottom + 15,
        std::fabs(tick) < 1e-12 ? std::string("0 %") : fmt::format("{:+.4g} %", tick * 100));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
    out += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                       kName - 8, y + 4, escape_markup(rows[i].name));
    for (const Row::Mark& mark : rows[i].marks) {
      const bool outside = std::fabs(mark.offset) > widest;
      out += fmt::format(
          "<circle class=\"dot c{} {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
          "r=\"4\"><title>{}</title></circle>\n",
          mark.colour % kColours, outside ? "hollow" : "faint",
          px(std::clamp(mark.offset, -widest, widest)), y, escape_markup(mark.tip));
    }
  }
  out += fmt::format(
      "<text class=\"label\" x=\"{:.0f}\" y=\"{}\" text-anchor=\"middle\">{}</text></svg>\n"
      "<figcaption>{}</figcaption></figure>\n",
      px(0), bottom + 34, escape_markup(label), escape_markup(title));
  return out;
}

std::string capped_note(std::size_t shown, std::size_t all) {
  if (shown == all) return {};
  return fmt::format("<p class=\"small\">The first {} of {} cells; the table has all.</p>", shown,
                     all);
}

}  // namespace

std::string trials_section(const ResultSet& set) {
  const std::vector<std::string> names = short_names(set);
  std::vector<Row> rows;
  std::size_t all = 0;
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    const Cell& cell = set.cells[i];
    if (cell.throughput.n < 2 || !cell.throughput.median || *cell.throughput.median <= 0) continue;
    if (++all > kMostRows) continue;
    Row row{names[i], {}};
    for (const Trial& trial : cell.trials) {
      if (!trial.counts()) continue;
      const double offset = *trial.sequences_per_second / *cell.throughput.median - 1;
      row.marks.push_back({offset, 0,
                           fmt::format("trial {}: {} {} ({:+.2f} %)", trial.trial,
                                       number_text(*trial.sequences_per_second),
                                       cell.throughput.unit, offset * 100)});
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return {};
  return "<section><h2>Trials</h2>\n" +
         strip(rows, "Every trial against the median of its cell", "difference from the median") +
         capped_note(rows.size(), all) + "</section>\n";
}

std::string estimators_section(const ResultSet& set) {
  const std::vector<std::string> names = short_names(set);
  std::vector<std::string> kinds;
  std::vector<Row> rows;
  std::size_t all = 0;
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    const Cell& cell = set.cells[i];
    const auto trial = std::ranges::find_if(
        cell.trials, [](const Trial& t) { return t.counts() && t.estimators.size() > 1; });
    if (trial == cell.trials.end() || *trial->sequences_per_second <= 0) continue;
    if (++all > kMostRows) continue;
    Row row{names[i] + ", trial " + std::to_string(trial->trial), {}};
    for (const auto& [estimator, value] : trial->estimators) {
      auto kind = std::ranges::find(kinds, estimator);
      if (kind == kinds.end()) kind = kinds.insert(kinds.end(), estimator);
      const double offset = value / *trial->sequences_per_second - 1;
      row.marks.push_back({offset, static_cast<int>(kind - kinds.begin()),
                           fmt::format("{}: {} {} ({:+.2f} %)", estimator, number_text(value),
                                       cell.throughput.unit, offset * 100)});
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return {};
  std::string out =
      "<section><h2>Estimators</h2>\n<p class=\"small\">One log holds several answers to \"how "
      "fast\". Each is shown against the one that was used.</p>\n" +
      legend(kinds) + strip(rows, "Every estimate of a log against the one used", "difference");
  return out + capped_note(rows.size(), all) + "</section>\n";
}

std::string heat_section(const ResultSet& set) {
  std::vector<std::int64_t> batches;
  std::vector<std::pair<std::int64_t, std::string>> topologies;
  for (const Cell& cell : set.cells) {
    const Identity& id = cell.identity;
    if (!id.micro_batch_size || !id.world_size()) continue;
    batches.push_back(*id.micro_batch_size);
    topologies.emplace_back(*id.world_size(), topology_text(id));
  }
  for (auto* list : {&batches}) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  std::ranges::sort(topologies);
  topologies.erase(std::unique(topologies.begin(), topologies.end()), topologies.end());
  if (batches.size() < 2 || topologies.size() < 2 || batches.size() > 40 ||
      topologies.size() > 40) {
    return {};
  }
  // One map for each of the other facts.
  std::map<std::string, std::vector<const Cell*>> maps;
  for (const Cell& cell : set.cells) {
    if (!cell.identity.micro_batch_size || !cell.identity.world_size()) continue;
    Identity rest = cell.identity;
    rest.nodes.reset();
    rest.gpus_per_node.reset();
    rest.micro_batch_size.reset();
    maps[rest.key()].push_back(&cell);
  }
  std::string out =
      "<section><h2>Batch and topology</h2>\n<p class=\"small\">Sequences/s per GPU; "
      "the darker, the faster. A failed cell says how it failed.</p><div class=\"plots\">";
  std::size_t shown = 0;
  for (const auto& [rest, cells] : maps) {
    if (cells.size() < 4 || ++shown > kColours) continue;
    double top = 0;
    for (const Cell* cell : cells)
      top = std::max(top, cell->sequences_per_second_per_gpu.value_or(0));
    out += "<table class=\"heat\"><caption>" + escape_markup(rest) + "</caption><tr><th>batch</th>";
    for (const auto& topology : topologies)
      out += "<th>" + escape_markup(topology.second) + "</th>";
    out += "</tr>\n";
    for (const std::int64_t batch : batches) {
      out += fmt::format("<tr><th>{}</th>", batch);
      for (const auto& topology : topologies) {
        const auto found = std::ranges::find_if(cells, [&](const Cell* cell) {
          return *cell->identity.micro_batch_size == batch &&
                 topology_text(cell->identity) == topology.second;
        });
        if (found == cells.end()) {
          out += "<td></td>";
        } else if (const auto rate = (*found)->sequences_per_second_per_gpu; rate && top > 0) {
          out +=
              fmt::format("<td style=\"--heat:{:.2f}\">{}</td>", *rate / top, number_text(*rate));
        } else {
          out += "<td class=\"bad\">" + escape_markup(failures_text(**found)) + "</td>";
        }
      }
      out += "</tr>\n";
    }
    out += "</table>\n";
  }
  return shown == 0 ? std::string() : out + "</div></section>\n";
}

}  // namespace bertbench::html
