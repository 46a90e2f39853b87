// PlacementLabels: where the attempts of each cell ran, as warnings for the report.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "harness/sweep/execute/open_sweep.h"

namespace bertbench {

class PlacementLabels {
 public:
  explicit PlacementLabels(const OpenSweep& sweep) : sweep_(sweep) {}
  /// `nodes`: "node host" a line, of an attempt of this cell. What is new is a notice at once.
  void add(std::size_t cell, const std::string& nodes);
  /// Empty where the cell ran as it was planned.
  [[nodiscard]] const std::vector<Notice>& of(std::size_t cell) const;

  [[nodiscard]] bool emulated(std::size_t cell) const;

 private:
  const OpenSweep& sweep_;
  std::map<std::size_t, std::vector<Notice>> warnings_;
};

}  // namespace bertbench
