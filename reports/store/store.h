// Store: the history of results in one SQLite file. Several processes may write at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "parsers/core/error.h"
#include "reports/model/cell_match.h"
#include "reports/model/result_set.h"
#include "reports/output/table.h"

namespace bertbench {

struct StoredRun {
  std::int64_t id = 0;
  std::string added;    ///< when it was stored, RFC 3339 UTC
  std::string created;  ///< when it was measured, as the result states it
  std::string machine;  ///< machine_text() of its environment
  std::string commit;   ///< what was measured
  std::string label;
  std::int64_t cells = 0;
};

struct AddOptions {
  std::string commit;  ///< empty: that of the tool that measured
  std::string label;
};

struct Added {
  std::int64_t id = 0;
  bool is_new = false;  ///< false: the very same result was there already
};

/// "cpu model, 8 cores, 2 x NVIDIA ..." of an environment; "unknown" where it names none.
[[nodiscard]] std::string machine_text(const nlohmann::ordered_json& environment);

/// True for a file that begins as SQLite databases do.
[[nodiscard]] bool is_database(const std::string& path);

class Store {
 public:
  enum class Mode { existing, create };
  [[nodiscard]] static Result<Store> open(const std::string& path, Mode mode);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// One transaction; waits up to 30 s for another writer.
  [[nodiscard]] Result<Added> add(const ResultSet& results, const AddOptions& options = {});
  /// In the order in which they were measured, by `created`; where that is no time, by `added`.
  [[nodiscard]] Result<std::vector<StoredRun>> list() const;
  /// The result as it was stored, to the byte of its JSON.
  [[nodiscard]] Result<ResultSet> load(std::int64_t id) const;
  /// The newest kRunsOfHistory runs of the machine of `results` (by the context that a comparison
  /// needs) that hold one of its cells, oldest first as in list(). Context keys in `allowed` may
  /// differ. Of runs before the newest kRunsOfBaseline only the trials' rates and parts of a step
  /// are there. Where no run is of this machine, those of the newest machine, so that the gate can
  /// name what differs.
  [[nodiscard]] Result<std::vector<ResultSet>> baseline(
      const ResultSet& results, const std::vector<std::string>& allowed) const;

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Trend: each cell's medians over the stored runs, and where their level shifted.

struct TrendPoint {
  StoredRun run;
  double median = 0;  ///< of the trials that count
  int n = 0;
  /// Of the environment, what is known of this run (b) and of the one before (a) and differs: a new
  /// kernel, driver, governor, library.
  std::vector<ContextDifference> machine_changes;
};

struct TrendShift {
  std::size_t at = 0;            ///< index of the first point of the new level
  double before = 0, after = 0;  ///< medians of the levels
  double change = 0;             ///< after / before - 1
};

struct Trend {
  std::string key, machine, unit;
  WorkKind kind = WorkKind::training;
  std::vector<TrendPoint> points;  ///< oldest first
  std::vector<TrendShift> shifts;  ///< only with kLeastForChangePoints points
};

/// "kernel 6.1 -> 6.2, driver 550 -> 560"; empty where nothing changed.
[[nodiscard]] std::string machine_changes_text(const TrendPoint& point);

/// One trend a cell, its kind of work, machine and unit, as rates of different ones have no common
/// level. Shifts are the change points of the medians without spikes
/// (reports/stats/change_points.h): of steady series of 20 to 200 runs at most 2.3 % have any.
[[nodiscard]] std::vector<Trend> trends(std::span<const std::pair<StoredRun, ResultSet>> runs);

/// A row a trend: cell, runs, medians of the first and the newest run as `number` writes them, the
/// change between them, shifts, machine; where a machine changed, with which run it did.
[[nodiscard]] Table trend_table(std::span<const Trend> trends,
                                const std::function<std::string(double)>& number);

/// A page: a plot a cell of the medians of its runs and its levels, and a table. Cells whose level
/// shifted come first; plots of at most 40 cells, the table has all.
[[nodiscard]] std::string trend_html(std::vector<Trend> trends, const std::string& title);

}  // namespace bertbench
