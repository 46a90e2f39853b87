// What both programs of this folder assume of a grid, and their options for it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace bertbench {

struct GridModel {
  int grids = 5000;  ///< of each kind
  std::uint64_t seed = 1;
  int cells = 24;
  double loss = 0;
  double hit_share = 0.02, hit_low = 0.03, hit_high = 0.15;
  double part_cv = 0;         ///< of a part of the step beyond the step's; 0: no parts
  double optimizer_loss = 0;  ///< above 0: the slowed cell's optimizer alone loses it
};

inline void add_grid_options(CLI::App& app, GridModel& model) {
  app.add_option("--grids", model.grids, "Grids of each kind")->check(CLI::Range(1, 10'000'000));
  app.add_option("--seed", model.seed, "Of the random numbers");
  app.add_option("--cells", model.cells, "Of a grid")->check(CLI::Range(1, 10'000));
  app.add_option("--loss", model.loss, "Of the slowed cell")->check(CLI::Range(0.0, 0.9));
  app.add_option("--part-cv", model.part_cv, "Of a part beyond the step's; 0: trials have no parts")
      ->check(CLI::Range(0.0, 0.5));
  app.add_option("--optimizer-loss", model.optimizer_loss,
                 "In place of --loss: the slowed cell's optimizer, a tenth of its step, loses it")
      ->check(CLI::Range(0.0, 0.9));
}

}  // namespace bertbench
