// What error is to be expected of an estimate of a window's throughput.
//
// An estimate is the window's work over a time; its expected error is the standard deviation of
// that time over the time, by the model of where the time comes from. Independent parts are added
// in quadrature; what is known to lean to one side counts in full. docs/numbers.md has the table,
// with predicted errors next to the true ones of logs that were clocked from outside.
#pragma once

#include <optional>
#include <span>

#include "parsers/core/run_log.h"

namespace bertbench {

/// Expected errors below this (relative) count as equal: a log cannot show which of two such
/// estimates is the better one, since the time between its lines (logging, loading, from a step's
/// end to its stamp) is in no model.
inline constexpr double kEqualErrors = 0.005;

/// Of a mean by work of values that are each printed once, `Record::seconds` or
/// `Record::printed_rate`:
///   - digits: the values are multiples of a power of ten (found from them where they differ), so
///   each is off by a
///     uniform half of it, and n of them by that over the root of n;
///   - spread: a record of k iterations may state its last one only (a timer read every k
///     steps), so that the n records are a sample of k n: the coefficient of variation of the times
///     that they imply, over the root of n, times the root of 1 - 1/k. A record of one iteration
///     has no such part. Where the values are of all k iterations, they hardly differ and the part
///     is small by itself;
///   - gaps: the work of records without the value takes as long as the others' on the average, the
///     coefficient of variation times its share over the root of its records. Those before the
///     first value are not counted: a window of records begins with the time that no log states.
/// Unknown when no record has the value.
[[nodiscard]] double error_of_printed(std::span<const Record> window, double Record::*value);

/// Of the rates of a bar that smooths them with tqdm's default of 0.3: their harmonic mean trails
/// the window, as the sum of the times is that of the smoothed ones and 0.7/0.3 times the
/// difference of the smoothed time between the window's ends; and the rounding of the rates.
/// `before`: the record before the window, null when there is none.
[[nodiscard]] double error_of_smoothed(const Record* before, std::span<const Record> window);

/// By how much the arithmetic mean of rates is above their mean by work over time.
[[nodiscard]] double excess_of_mean(std::span<const Record> window, double Record::*rate);

}  // namespace bertbench
