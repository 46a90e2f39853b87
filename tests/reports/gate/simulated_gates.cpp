// simulated_gates: how often the gate of `check` fails a clean grid and misses a slowed one.
//
// Draws grids of 24 cells and judges them by the very functions that `bertbench check` calls. What
// is drawn is an assumption, stated in the output: each cell has its own cv between 0.3 and 1.4 %
// (the trials of seed 004), 2 % of trials are hit by a slow-down of 3 to 15 %, and every run of a
// cell has a shift of its own of 0.5 % sd.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "reports/cells/summarize.h"
#include "reports/gate/verdicts.h"
#include "tests/reports/gate/grid_model.h"
#include "tests/reports/gate/parts_model.h"
#include "tests/reports/gate/share.h"

namespace {

using bertbench::GateOptions;
using bertbench::GateReport;
using bertbench::ResultSet;

struct Model : bertbench::GridModel {
  Model() { loss = 0.05; }
  int trials = 7, runs = 5;
  double cv_low = 0.003, cv_high = 0.014;
  double shift_sd = 0.005;
  double common_sd = 0;  ///< of a shift that all cells of a run share
  double probe_sd = -1;  ///< of the error of the harness's probe of it; below 0: not probed
};

struct GridCell {
  double rate = 0, cv = 0;
};

class Simulator {
 public:
  Simulator(const Model& model, std::uint64_t seed)
      : model_(model), random_(seed), parts_(model.part_cv, model.optimizer_loss, seed) {}

  std::vector<GridCell> draw_grid() {
    std::vector<GridCell> grid;
    for (int i = 0; i < model_.cells; ++i) {
      grid.push_back({uniform(100, 5000), uniform(model_.cv_low, model_.cv_high)});
    }
    return grid;
  }

  /// Of a run: of each cell, then what the probe reads.
  std::vector<double> draw_shifts() {
    std::vector<double> shifts;
    const bool shared = model_.common_sd > 0;
    const double common = shared ? 1 + model_.common_sd * normal() : 1;
    for (int i = 0; i < model_.cells; ++i) {
      shifts.push_back(common * (1 + model_.shift_sd * normal()));
    }
    shifts.push_back(shared ? common * (1 + std::max(0.0, model_.probe_sd) * normal()) : 1);
    return shifts;
  }

  /// A run of the grid; `slowed` (or -1) loses model.loss.
  ResultSet draw_run(const std::vector<GridCell>& grid, const std::vector<double>& shifts,
                     int slowed) {
    ResultSet set;
    for (std::size_t c = 0; c < grid.size(); ++c) {
      bertbench::Cell& cell = set.cells.emplace_back();
      cell.identity.model = fmt::format("cell-{}", c);
      const bool slower = static_cast<int>(c) == slowed;
      const bool whole = model_.optimizer_loss == 0;
      const double loss = slower && whole ? 1 - model_.loss : 1;
      for (int t = 1; t <= model_.trials; ++t) {
        double rate = grid[c].rate * shifts[c] * loss * (1 + grid[c].cv * normal());
        if (uniform(0, 1) < model_.hit_share) rate *= 1 - uniform(model_.hit_low, model_.hit_high);
        bertbench::Trial& trial = cell.trials.emplace_back();
        trial.trial = t;
        trial.window = {"all", "user", true, {}, {}};
        trial.outcome.status = bertbench::Status::completed;
        trial.estimator = "step_time";
        trial.sequences_per_second = rate;
        parts_.add(trial, slower && !whole);
      }
    }
    if (model_.probe_sd >= 0) {
      for (bertbench::Cell& cell : set.cells) {
        *cell.trials[0].telemetry = {{"probe", {{"before", {{"gflops", 50 * shifts.back()}}}}}};
      }
    }
    (void)bertbench::summarize(set);
    return set;
  }

  int draw_cell() {
    return std::min(model_.cells - 1, static_cast<int>(uniform(0, 1) * model_.cells));
  }

 private:
  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(random_() >> 11) * 0x1p-53);
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform(0, 1)));
    return radius * std::cos(6.283185307179586 * uniform(0, 1));
  }

  const Model& model_;
  std::mt19937_64 random_;
  bertbench::PartsModel parts_;
};

struct Counts {
  int failed_once = 0;      ///< by the first measurement alone
  int failed = 0;           ///< after one confirmation whose shift is drawn anew
  int failed_same_day = 0;  ///< after one confirmation under the shift of the first
};

enum class Baseline { store, file };

/// Clean grids: any regression counts. Slowed grids: only the slowed cell's.
Counts simulate(const Model& model, Baseline baseline, bool slow) {
  Simulator draw(model, model.seed + (slow ? 1 : 0));
  const GateOptions options;
  Counts counts;
  for (int g = 0; g < model.grids; ++g) {
    const auto grid = draw.draw_grid();
    std::vector<ResultSet> runs;
    const int stored = baseline == Baseline::store ? model.runs : 1;
    for (int r = 0; r < stored; ++r) runs.push_back(draw.draw_run(grid, draw.draw_shifts(), -1));
    const int slowed = slow ? draw.draw_cell() : -1;
    const auto shifts = draw.draw_shifts();
    const ResultSet now = draw.draw_run(grid, shifts, slowed);
    const GateReport first = check(now, runs, options);
    const auto fails = [&](const GateReport& report) {
      if (!slow) return report.exit_status == 1;
      const auto& cell = report.cells[static_cast<std::size_t>(slowed)];
      return cell.verdict == bertbench::Verdict::regression;
    };
    if (!fails(first)) continue;
    ++counts.failed_once;
    const ResultSet rerun = draw.draw_run(grid, draw.draw_shifts(), slowed);
    if (fails(confirm(first, rerun, runs, options))) ++counts.failed;
    const ResultSet same_day = draw.draw_run(grid, shifts, slowed);
    if (fails(confirm(first, same_day, runs, options))) ++counts.failed_same_day;
  }
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  Model model;
  bool bounds = false, json = false;
  double cv = 0;
  CLI::App app("Simulated: false alarms and power of the gate of `bertbench check`.");
  add_grid_options(app, model);
  app.add_option("--trials", model.trials, "Trials of a cell in each run")
      ->check(CLI::Range(2, 100));
  app.add_option("--stored", model.runs, "Runs that the store holds")->check(CLI::Range(1, 100));
  app.add_option("--shift", model.shift_sd, "Sd of a run's shift")->check(CLI::Range(0.0, 0.5));
  app.add_option("--cv", cv, "Of every cell, in place of one each")->check(CLI::Range(0.0, 0.5));
  app.add_option("--common", model.common_sd, "Sd of a shift that all cells of a run share")
      ->check(CLI::Range(0.0, 0.5));
  app.add_option("--probe", model.probe_sd,
                 "Sd of the error with which a probe of the machine reads that shift")
      ->check(CLI::Range(0.0, 0.5));
  app.add_flag("--json", json, "Print the numbers of grids against the store alone, as JSON");
  app.add_flag("--bounds", bounds,
               "Status 1 unless clean grids fail in at most 1 % and slowed cells are found in at "
               "least 98 %, against the store with one confirmation");
  CLI11_PARSE(app, argc, argv);
  if (cv > 0) model.cv_low = model.cv_high = cv;
  if (json) {
    const Counts clean = simulate(model, Baseline::store, false);
    const Counts slow = simulate(model, Baseline::store, true);
    fmt::print(R"({{"store": {{"clean": {}, "found": {}}}, "store, confirmed": {{"clean": {}, )"
               R"("found": {}}}}})"
               "\n",
               clean.failed_once, slow.failed_once, clean.failed, slow.failed);
    return 0;
  }
  fmt::print(
      "simulated: {} clean and {} slowed grids of {} cells, {} trials, cv {:.1f} to {:.1f} %, "
      "{:.0f} % of trials hit by {:.0f} to {:.0f} %, shift between runs sd {:.1f} % of a cell and "
      "{:.1f} % of all; one cell of a slowed grid loses {:.0f} %\nshare of grids (95 % interval, "
      "Clopper-Pearson), gate with its "
      "defaults, seed {}\n\n",
      model.grids, model.grids, model.cells, model.trials, 100 * model.cv_low, 100 * model.cv_high,
      100 * model.hit_share, 100 * model.hit_low, 100 * model.hit_high, 100 * model.shift_sd,
      100 * model.common_sd, 100 * model.loss, model.seed);
  fmt::print("{:24} {:34} {:28} {:28}\n", "baseline", "decided by", "clean grid fails",
             "slowed cell found");
  Counts store_clean, store_slow;
  for (const Baseline baseline : {Baseline::store, Baseline::file}) {
    const Counts clean = simulate(model, baseline, false);
    const Counts slow = simulate(model, baseline, true);
    if (baseline == Baseline::store) {
      store_clean = clean;
      store_slow = slow;
    }
    const std::string name = baseline == Baseline::store
                                 ? fmt::format("store of {} runs", model.runs)
                                 : std::string("file of one run");
    const auto row = [&](const char* by, int c, int s) {
      fmt::print("{:24} {:34} {:28} {:28}\n", name, by, bertbench::share_text(c, model.grids),
                 bertbench::share_text(s, model.grids));
    };
    row("first measurement", clean.failed_once, slow.failed_once);
    row("one confirmation", clean.failed, slow.failed);
    row("one confirmation, same shift", clean.failed_same_day, slow.failed_same_day);
  }
  const bool met =
      store_clean.failed <= 0.01 * model.grids && store_slow.failed >= 0.98 * model.grids;
  fmt::print("\nbounds (clean at most 1 %, found at least 98 %; store, one confirmation): {}\n",
             met ? "met" : "NOT met");
  return bounds && !met ? 1 : 0;
}
