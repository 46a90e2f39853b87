#include "reports/store/store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>
#include <tuple>

#include "parsers/core/text.h"
#include "reports/model/cell_match.h"
#include "reports/model/result_io.h"
#include "reports/output/html/sections.h"
#include "reports/output/value_text.h"
#include "reports/stats/change_points.h"
#include "reports/stats/power.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

/// One prepared SQLite statement. Text is bound, never pasted into SQL.
class Statement {
 public:
  Statement(sqlite3* db, std::string_view sql) {
    if (sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr) !=
        SQLITE_OK) {
      statement_ = nullptr;
    }
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::string_view text) {
    sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_TRANSIENT,
                        SQLITE_UTF8);
    return *this;
  }
  Statement& bind(std::int64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  /// SQLITE_ROW, SQLITE_DONE, or an error; an error too when it could not be prepared.
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }

  [[nodiscard]] std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr
               ? std::string()
               : std::string(bytes,
                             static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }
  [[nodiscard]] std::int64_t integer(int column) const {
    return sqlite3_column_int64(statement_, column);
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

constexpr std::int64_t kApplication = 0x62627374;  // "bbst"
constexpr std::int64_t kVersion = 1;
constexpr int kWaitMs = 30'000;
constexpr std::string_view kMagic = "SQLite format 3";

constexpr const char* kTables = R"sql(
CREATE TABLE IF NOT EXISTS run(
  id INTEGER PRIMARY KEY AUTOINCREMENT, added TEXT NOT NULL, created TEXT NOT NULL,
  machine TEXT NOT NULL, commit_id TEXT NOT NULL, label TEXT NOT NULL, result TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cell(
  run INTEGER NOT NULL REFERENCES run(id), key TEXT NOT NULL, PRIMARY KEY(run, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS cell_key ON cell(key, run);
CREATE INDEX IF NOT EXISTS run_created ON run(created);
)sql";

std::string field(const nlohmann::ordered_json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end()) return {};
  return at->is_string() ? at->get<std::string>() : at->dump();
}

}  // namespace

struct Store::State {
  sqlite3* db = nullptr;
  std::string path;

  ~State() { sqlite3_close_v2(db); }

  [[nodiscard]] Error error(const std::string& doing) const {
    const int code = sqlite3_errcode(db);
    const char* hint = code == SQLITE_BUSY       ? "another program keeps it locked"
                       : code == SQLITE_READONLY ? "check the permissions of file and folder"
                       : code == SQLITE_FULL     ? "the disk is full"
                                                 : "";
    return {path, fmt::format("cannot {}: {}", doing, sqlite3_errmsg(db)), hint};
  }
  bool execute(const char* sql) const {
    return sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  std::int64_t number(const char* sql) const {
    Statement query(db, sql);
    return query.step() == SQLITE_ROW ? query.integer(0) : 0;
  }
};

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

std::string machine_text(const nlohmann::ordered_json& environment) {
  if (!environment.is_object()) return "unknown";
  std::string out = field(environment, "cpu");
  const std::string cores = field(environment, "cores_usable");
  if (!cores.empty()) out += fmt::format("{}{} cores", out.empty() ? "" : ", ", cores);
  const auto gpus = environment.find("gpus");
  if (gpus != environment.end() && gpus->is_array() && !gpus->empty() && gpus->at(0).is_object()) {
    out +=
        fmt::format("{}{} x {}", out.empty() ? "" : ", ", gpus->size(), field(gpus->at(0), "name"));
  }
  return out.empty() ? "unknown" : out;
}

bool is_database(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  char head[16] = {};
  return in.read(head, sizeof head) && std::string_view(head) == kMagic;
}

Result<Store> Store::open(const std::string& path, Mode mode) {
  constexpr const char* kBegins = "`bertbench store add RESULT --db FILE` begins a store";
  if (path.empty()) return fail("the store", "has an empty name", "name a file");
  auto state = std::make_unique<State>();
  state->path = path;
  const int flags = SQLITE_OPEN_READWRITE | (mode == Mode::create ? SQLITE_OPEN_CREATE : 0);
  // Names such as ":memory:" are databases that go with the process; a path from a folder is none.
  const std::string file = std::filesystem::path(".") / path;
  if (sqlite3_open_v2(file.c_str(), &state->db, flags, nullptr) != SQLITE_OK) {
    return fail(path, fmt::format("cannot be opened: {}", sqlite3_errmsg(state->db)), kBegins);
  }
  sqlite3_busy_timeout(state->db, kWaitMs);
  constexpr const char* kTablesInIt = "SELECT count(*) FROM sqlite_schema";
  if (mode == Mode::create) {
    if (!state->execute("BEGIN IMMEDIATE")) return tl::unexpected(state->error("begin"));
    const bool fresh = state->number(kTablesInIt) == 0;
    const bool made =
        !fresh || (state->execute(kTables) &&
                   state->execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}",
                                              kApplication, kVersion)
                                      .c_str()));
    if (!made || !state->execute("COMMIT")) {
      const Error error = state->error("make the tables");
      return tl::unexpected(error);
    }
  }
  // The first read of the file: here it shows that it is no database at all.
  Statement first(state->db, "PRAGMA application_id");
  if (first.step() != SQLITE_ROW) return tl::unexpected(state->error("read"));
  if (first.integer(0) != kApplication) {
    if (state->number(kTablesInIt) == 0) return fail(path, "is empty", kBegins);
    return fail(path, "is a database of another program", "name another file");
  }
  if (state->number("PRAGMA user_version") > kVersion) {
    return fail(path, "was written by a newer bertbench", "use that one");
  }
  return Store(std::move(state));
}

Result<Added> Store::add(const ResultSet& results, const AddOptions& options) {
  const std::string text = to_text(results);
  if (!state_->execute("BEGIN IMMEDIATE")) return tl::unexpected(state_->error("begin"));
  const auto give_up = [&]() -> Result<Added> {
    const Error error = state_->error("store the result");
    state_->execute("ROLLBACK");
    return tl::unexpected(error);
  };
  {
    Statement same(state_->db, "SELECT id FROM run WHERE created=? AND result=?");
    same.bind(results.created).bind(text);
    const int code = same.step();
    if (code != SQLITE_ROW && code != SQLITE_DONE) return give_up();
    if (code == SQLITE_ROW) {
      const Added added{same.integer(0), false};
      state_->execute("ROLLBACK");
      return added;
    }
  }
  Statement run(state_->db,
                "INSERT INTO run(added, created, machine, commit_id, label, result) "
                "VALUES(?, ?, ?, ?, ?, ?)");
  run.bind(utc_now()).bind(results.created).bind(machine_text(*results.environment));
  run.bind(options.commit.empty() ? results.tool.commit : options.commit).bind(options.label);
  run.bind(text);
  if (run.step() != SQLITE_DONE) return give_up();
  const std::int64_t id = sqlite3_last_insert_rowid(state_->db);
  for (const Cell& cell : results.cells) {
    Statement insert(state_->db, "INSERT OR IGNORE INTO cell(run, key) VALUES(?, ?)");
    insert.bind(id).bind(cell.key);
    if (insert.step() != SQLITE_DONE) return give_up();
  }
  if (!state_->execute("COMMIT")) return give_up();
  return Added{id, true};
}

Result<std::vector<StoredRun>> Store::list() const {
  Statement query(state_->db,
                  "SELECT id, added, created, machine, commit_id, label, "
                  "(SELECT count(*) FROM cell WHERE cell.run=run.id) FROM run "
                  "ORDER BY coalesce(julianday(created), julianday(added)), id");
  std::vector<StoredRun> out;
  int code = query.step();
  for (; code == SQLITE_ROW; code = query.step()) {
    out.push_back({query.integer(0), query.text(1), query.text(2), query.text(3), query.text(4),
                   query.text(5), query.integer(6)});
  }
  if (code != SQLITE_DONE) return tl::unexpected(state_->error("read"));
  return out;
}

Result<ResultSet> Store::load(std::int64_t id) const {
  Statement query(state_->db, "SELECT result FROM run WHERE id=?");
  query.bind(id);
  const int code = query.step();
  if (code == SQLITE_DONE) {
    return fail(state_->path, fmt::format("holds no run {}", id), "see `bertbench store list`");
  }
  if (code != SQLITE_ROW) return tl::unexpected(state_->error("read"));
  return result_set_from_text(query.text(0), fmt::format("{} run {}", state_->path, id));
}

namespace {

/// Leaves of each trial what gives its cell's noise. The rest, telemetry above all, is some nine
/// tenths of a run in memory.
void keep_rates(ResultSet& run) {
  for (Cell& cell : run.cells) {
    for (Trial& trial : cell.trials) {
      Trial kept;
      kept.trial = trial.trial;
      kept.window = std::move(trial.window);
      for (const RateUnit unit : kRateUnits) kept.rate_in(unit) = trial.rate_in(unit);
      kept.estimator = std::move(trial.estimator);
      kept.parts = std::move(trial.parts);
      trial = std::move(kept);
    }
  }
}

}  // namespace

Result<std::vector<ResultSet>> Store::baseline(const ResultSet& results,
                                               const std::vector<std::string>& allowed) const {
  const auto runs = list();
  if (!runs) return tl::unexpected(runs.error());
  std::set<std::int64_t> with_cell;
  for (const Cell& cell : results.cells) {
    Statement query(state_->db, "SELECT run FROM cell WHERE key=?");
    query.bind(cell.key);
    int code = query.step();
    for (; code == SQLITE_ROW; code = query.step()) with_cell.insert(query.integer(0));
    if (code != SQLITE_DONE) return tl::unexpected(state_->error("read"));
  }
  const auto may_differ = [&](const ContextDifference& difference) {
    return !difference.blocking || std::ranges::any_of(allowed, [&](const std::string& name) {
      return name == difference.key || name == "all";
    });
  };
  std::vector<ResultSet> same;
  std::vector<ResultSet> newest;                                 // of whatever machine
  for (const StoredRun& stored : *runs | std::views::reverse) {  // newest first
    if (!with_cell.contains(stored.id)) continue;
    auto run = load(stored.id);
    if (!run) return tl::unexpected(run.error());
    if (std::ranges::all_of(context_differences(*results.environment, *run->environment),
                            may_differ)) {
      same.push_back(std::move(*run));
      if (same.size() > kRunsOfBaseline) keep_rates(same.back());
      if (same.size() == kRunsOfHistory) break;
    } else if (newest.empty()) {
      newest.push_back(std::move(*run));
    }
  }
  std::vector<ResultSet>& chosen = same.empty() ? newest : same;
  std::ranges::reverse(chosen);
  return std::move(chosen);
}

namespace {

std::vector<ContextDifference> machine_changes(const ResultSet& before, const ResultSet& now) {
  std::vector<ContextDifference> out = context_differences(*before.environment, *now.environment);
  std::erase_if(out, [](const ContextDifference& one) {
    return one.a.empty() || one.b.empty() || one.key == "bertbench";
  });
  return out;
}

}  // namespace

std::string machine_changes_text(const TrendPoint& point) {
  constexpr std::size_t kMostText = 60;  // of a value: lists of libraries are long
  std::string out;
  for (const auto& [key, a, b, blocking] : point.machine_changes) {
    const bool brief = a.size() <= kMostText && b.size() <= kMostText;
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", key,
                       brief ? fmt::format(" {} -> {}", a, b) : " changed");
  }
  return out;
}

std::vector<Trend> trends(std::span<const std::pair<StoredRun, ResultSet>> runs) {
  std::map<std::tuple<std::string, WorkKind, std::string, std::string>, Trend> by_cell;
  std::map<const Trend*, const ResultSet*> newest;
  for (const auto& [stored, results] : runs) {
    for (const Cell& cell : results.cells) {
      const CellSample sample = sample_of(cell);
      if (sample.values.empty()) continue;
      Trend& trend = by_cell[{cell.key, cell.kind, stored.machine, sample.unit}];
      trend.key = cell.key;
      trend.kind = cell.kind;
      trend.machine = stored.machine;
      trend.unit = sample.unit;
      trend.points.push_back(
          {stored, median(sample.values), static_cast<int>(sample.values.size()), {}});
      const ResultSet*& before = newest[&trend];
      if (before != nullptr) {
        trend.points.back().machine_changes = machine_changes(*before, results);
      }
      before = &results;
    }
  }
  std::vector<Trend> out;
  for (auto& [name, trend] : by_cell) {
    std::vector<double> series;
    for (const TrendPoint& point : trend.points) series.push_back(point.median);
    auto edges = change_points(without_spikes(series));
    edges.push_back(series.size());
    std::size_t begin = 0;
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
      const std::span<const double> all(series);
      const double before = median(all.subspan(begin, edges[i] - begin));
      const double after = median(all.subspan(edges[i], edges[i + 1] - edges[i]));
      trend.shifts.push_back({edges[i], before, after, after / before - 1});
      begin = edges[i];
    }
    out.push_back(std::move(trend));
  }
  return out;
}

namespace {

constexpr std::size_t kMostPlots = 40;

plot::Figure figure_of(const Trend& trend, std::size_t number) {
  plot::Figure figure;
  figure.id = fmt::format("trend-{}", number);
  figure.title = key_with_kind(trend.key, trend.kind) + ", " + trend.machine;
  figure.width = 420;
  figure.height = 230;
  figure.x.label = "stored run";
  figure.y.label = trend.unit;
  plot::Series medians{"median of a run", 0, plot::Mark::line_and_points, {}};
  plot::Series changed{"the machine changed", 2, plot::Mark::points, {}};
  double low = trend.points.front().median, high = low;
  for (std::size_t i = 0; i < trend.points.size(); ++i) {
    const TrendPoint& point = trend.points[i];
    low = std::min(low, point.median);
    high = std::max(high, point.median);
    medians.points.push_back(
        {static_cast<double>(i + 1),
         point.median,
         {},
         fmt::format("run {}: {} {}, n = {}{}", point.run.id, number_text(point.median), trend.unit,
                     point.n, point.run.commit.empty() ? "" : ", " + point.run.commit)});
    if (point.machine_changes.empty()) continue;
    changed.points.push_back(
        {static_cast<double>(i + 1),
         point.median,
         {},
         fmt::format("run {}: {}", point.run.id, machine_changes_text(point))});
  }
  plot::Series levels{"level", 1, plot::Mark::dashed, {}};
  std::size_t begin = 0;
  const auto level = [&](std::size_t from, std::size_t to, double value) {
    levels.points.push_back({static_cast<double>(from) + 0.6, value, {}, {}});
    levels.points.push_back({static_cast<double>(to) + 0.4, value, {}, {}});
  };
  for (const TrendShift& shift : trend.shifts) {
    level(begin, shift.at, shift.before);
    begin = shift.at;
  }
  if (!trend.shifts.empty()) {
    level(begin, trend.points.size(), trend.shifts.back().after);
    figure.series.push_back(std::move(levels));
  }
  figure.series.push_back(std::move(medians));
  if (!changed.points.empty()) figure.series.push_back(std::move(changed));
  const double room = std::max((high - low) * 0.15, high * 0.01);
  figure.x.low = 0.5;
  figure.x.high = static_cast<double>(trend.points.size()) + 0.5;
  figure.y.low = std::max(0.0, low - room);
  figure.y.high = high + room;
  return figure;
}

}  // namespace

Table trend_table(std::span<const Trend> trends, const std::function<std::string(double)>& number) {
  Table table{columns_of(
      {"cell", ">runs", ">first", ">newest", ">change", "shifts", "machine changes", "machine"})};
  for (const Trend& trend : trends) {
    std::string shifts;
    for (const TrendShift& shift : trend.shifts) {
      const StoredRun& run = trend.points[shift.at].run;
      shifts +=
          fmt::format("{}{} at run {}{}", shifts.empty() ? "" : ", ", change_text(shift.change),
                      run.id, run.commit.empty() ? "" : " (" + run.commit.substr(0, 12) + ")");
    }
    if (shifts.empty()) {
      shifts = trend.points.size() < kLeastForChangePoints ? "too few runs" : "none";
    }
    std::string changes;
    for (const TrendPoint& point : trend.points) {
      if (point.machine_changes.empty()) continue;
      changes += fmt::format("{}run {}: {}", changes.empty() ? "" : "; ", point.run.id,
                             machine_changes_text(point));
    }
    const double first = trend.points.front().median, newest = trend.points.back().median;
    table.rows.push_back({key_with_kind(trend.key, trend.kind), std::to_string(trend.points.size()),
                          number(first), number(newest), change_text(newest / first - 1), shifts,
                          changes, trend.machine});
  }
  return filled_columns(table);
}

std::string trend_html(std::vector<Trend> trends, const std::string& title) {
  std::ranges::stable_sort(trends, {}, [](const Trend& trend) { return trend.shifts.empty(); });
  std::string plots;
  const std::size_t drawn = std::min(trends.size(), kMostPlots);
  for (std::size_t i = 0; i < drawn; ++i)
    plots += html::figure_element(figure_of(trends[i], i + 1));
  std::string body = html::section(
      "Medians of the stored runs",
      html::small(
          fmt::format("Dashed: levels between change points, looked for in at least {} runs "
                      "of a cell; of steady series at most 2.3 % have one. A mark of its own: the "
                      "machine's environment changed with that run.",
                      kLeastForChangePoints)) +
          "<div class=\"panels\">" + plots + "</div>\n" +
          html::first_of(drawn, trends.size(), "cells"));
  body += html::section("Cells", html::sortable_table({trend_table(trends, number_text), "cells"}));
  return html::page_of(title, body);
}

}  // namespace bertbench
