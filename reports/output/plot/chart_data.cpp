#include "reports/output/plot/chart_data.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "parsers/core/text.h"

namespace bertbench::plot {
namespace {

using Json = nlohmann::ordered_json;

/// Pixels need no more; a page of many points becomes half as large.
double short_number(double value) {
  return to_double(fmt::format("{:.6g}", value)).value_or(value);
}

Json number(double value) { return std::isfinite(value) ? Json(short_number(value)) : Json(); }

Json axis_data(const Axis& axis) {
  Json json{{"label", axis.label},       {"low", number(axis.low)},
            {"high", number(axis.high)}, {"log", axis.scale == Scale::log2},
            {"percent", axis.percent},   {"ticks", Json::array()}};
  for (const double tick : axis.ticks) json["ticks"].push_back(number(tick));
  if (!axis.rows.empty()) json["rows"] = axis.rows;
  return json;
}

const char* name_of(Mark mark) {
  switch (mark) {
    case Mark::line:
      return "line";
    case Mark::dashed:
      return "dashed";
    case Mark::points:
      return "points";
    case Mark::line_and_points:
      return "line_and_points";
    case Mark::faint_points:
      return "faint_points";
    case Mark::bars:
      return "bars";
    case Mark::spans:
      return "spans";
  }
  return "points";
}

Json point_data(const Point& point) {
  Json json = Json::array({number(point.x), number(point.y)});
  if (point.interval || !point.tip.empty()) {
    json.push_back(point.interval ? number(point.interval->first) : Json());
    json.push_back(point.interval ? number(point.interval->second) : Json());
  }
  // A canvas shows any character; what would be invisible or turn text around is escaped here.
  if (!point.tip.empty()) json.push_back(escape_for_terminal(point.tip));
  return json;
}

}  // namespace

Json chart_data(Figure figure) {
  settle(figure);
  for (std::string& row : figure.y.rows) row = escape_for_terminal(row);
  Json json{{"id", figure.id},
            {"title", escape_for_terminal(figure.title)},
            {"x", axis_data(figure.x)},
            {"y", axis_data(figure.y)},
            {"series", Json::array()},
            {"bands", Json::array()},
            {"references", Json::array()}};
  for (const Series& series : figure.series) {
    Json points = Json::array();
    for (const Point& point : series.points) points.push_back(point_data(point));
    json["series"].push_back({{"name", escape_for_terminal(series.name)},
                              {"colour", series.colour % kColours},
                              {"mark", name_of(series.mark)},
                              {"group", series.group},
                              {"points", std::move(points)}});
  }
  if (!figure.groups.empty()) {
    json["groups"] = Json::array();
    for (const std::string& name : figure.groups)
      json["groups"].push_back(escape_for_terminal(name));
    json["groups_shown"] = figure.groups_shown;
  }
  for (const Band& band : figure.bands) {
    json["bands"].push_back(Json::array({number(band.from), number(band.to),
                                         escape_for_terminal(band.label), band.colour % kColours}));
  }
  for (const Reference& line : figure.references) {
    json["references"].push_back(Json::array({number(line.at), escape_for_terminal(line.label)}));
  }
  return json;
}

}  // namespace bertbench::plot
