// A result next to published values: which rows of a page are about the same work, and the ratios.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/studies/published/published.h"

namespace bertbench {

/// A figure that both have.
struct ComparedValue {
  std::string what;  ///< key of the result set: "tflops_per_gpu", "memory.peak_bytes"
  std::string unit;  ///< "TFLOPS by notebook", "bytes"
  double published = 0, ours = 0;
  [[nodiscard]] double ratio() const { return ours / published; }
};

/// A fact of the system, not of the work, that differs. It is named, and does not keep the row from
/// being compared.
struct StatedDifference {
  std::string fact;  ///< "framework", "gpu"
  std::string published, ours;
};

/// A cell of ours and a row of the page that are of the same work by every fact that both know.
struct ComparedRow {
  std::string key;  ///< of the cell
  WorkKind kind = WorkKind::training;
  bool emulated = false, simulated = false;
  std::size_t table = 0;  ///< index of Published::tables
  PublishedRow row;
  double published = 0;         ///< sequences/s of the whole job
  std::optional<double> ours;   ///< median; absent: no trial of the cell gives one
  int n = 0;                    ///< trials of ours that count
  std::optional<double> ratio;  ///< ours / published
  /// Of the ratio: the interval of ours (ShownInterval) over the published value, which is taken
  /// as exact, as pages state no spread.
  std::optional<Interval> interval;
  /// Over the cell that stands for the page's base: the same work on that many GPUs.
  std::optional<double> speedup_published, speedup_ours;
  std::optional<double> efficiency_published, efficiency_ours;
  std::string speedup_base;                                 ///< "1n1g"
  std::vector<ComparedValue> values;                        ///< further figures
  std::vector<std::string> unknown_to_page, unknown_to_us;  ///< facts that only one side states
  std::vector<StatedDifference> differences;
};

struct PublishedComparison {
  std::vector<ComparedRow> rows;  ///< in the order of our cells, then of the page
  struct Unmatched {
    std::string key, reason;
  };
  std::vector<Unmatched> unmatched;  ///< cells of ours
  /// Rows that are compared with one of ours that has a number.
  [[nodiscard]] std::size_t compared() const;
};

/// Rows are matched by model, precision, sequence length, batch, accumulation, GPUs, and every
/// further axis that both state. Model and GPUs must be known to both. Of several rows that fit a
/// cell those with the most facts in common are taken; all of them, where they are equally near.
/// Framework and GPU are what is compared: they are named where they differ.
[[nodiscard]] PublishedComparison compare_with_published(const ResultSet& ours,
                                                         const Published& page);

/// True when everything that `published` names of a GPU ("V100 32GB") is in the name of ours.
[[nodiscard]] bool same_gpu(const std::string& published, const std::string& ours);

}  // namespace bertbench
