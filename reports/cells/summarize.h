// The numbers of a cell: of its own trials, and against other cells.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/record.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// The figures of a trial from which those of its cell are computed.
struct TrialFigures {
  RateUnit unit = RateUnit::unknown;  ///< unknown: it gives no rate
  double rate = kUnknown;             ///< per second, in that unit
  double energy = kUnknown;           ///< joules a sequence
  Status status = Status::no_data;
  std::string_view estimator;  ///< must live as long
  /// A hash of rate, steps and losses. Two runs never agree in all of them, so trials that do are
  /// one run counted twice. 0: too few records to decide.
  std::uint32_t mark = 0;
  /// By kQualities; NaN where a trial does not state it, or did not complete.
  std::array<double, std::size(kQualities)> quality = unknown_quality();

  static constexpr std::array<double, std::size(kQualities)> unknown_quality() {
    std::array<double, std::size(kQualities)> out{};
    out.fill(kUnknown);
    return out;
  }
  std::int64_t peak_bytes = 0, capacity_bytes = 0;  ///< of memory, 0: unknown
  std::string_view memory_source;                   ///< must live as long
};

[[nodiscard]] TrialFigures figures_of(const Trial& trial);

/// Fills what of a cell follows from its trials alone: n, mean, median, spread, intervals, energy,
/// memory, rate per GPU, warnings (which are replaced). The cell's own trials are not looked at.
void summarize_trials(Cell& cell, std::span<const TrialFigures> trials, bool compat_dlperf);

/// The median of a summarized cell in sequences/s where it is above 0, else NaN.
[[nodiscard]] double rate_of(const Cell& cell);

struct SummaryOptions {
  bool compat_dlperf = false;
  std::string base;             ///< as MeasureOptions::base
  bool strong_scaling = false;  ///< as MeasureOptions::strong_scaling
  /// As MeasureOptions::flops_formula; empty = the one that a cell names already, else the default.
  std::string flops_formula = {};
};

/// Fills everything of every cell that follows from its trials and from the other cells: n, mean,
/// median, spread, intervals, per GPU, speedup, efficiency, precision speedup, FLOPs; and makes
/// keys unique ("#2"). A cell's base is one of its own Cell::result, if that has one. May be called
/// again. Returns notices, for example that the base is unknown.
std::vector<Notice> summarize(ResultSet& results, const SummaryOptions& options = {});

/// A file that contradicts itself: keys that stand twice, or n, rate and spread that do not follow
/// from the trials. Such results are summarized again, so that every command makes the same of
/// them; the notices name what was wrong.
[[nodiscard]] std::vector<Notice> settle(ResultSet& results);

// What a reader states about a result after it was measured, and what follows from it.

struct Assumptions {
  std::optional<double> peak_tflops;      ///< dense peak of one GPU, where the list has none
  std::optional<double> train_sequences;  ///< sequences of a whole training
  std::string flops_formula = {};         ///< a key of flops_formulas(); empty: that of each cell
};

/// TFLOPS, MFU and HFU by the stated formula and against the stated peak (of every cell whose model
/// is known), time to train at the measured rate. Nothing else changes: medians and speedups stay
/// as they were measured.
void apply_assumptions(ResultSet& results, const Assumptions& what);

}  // namespace bertbench
