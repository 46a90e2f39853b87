#include "tests/fuzz/same_runs.h"

#include <cmath>
#include <optional>

#include "parsers/core/each_fact.h"
#include "parsers/core/text.h"

namespace bertbench::fuzz {
namespace {

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool same(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}
template <class T>
bool same(const Fact<T>& a, const Fact<T>& b) {
  return a.value == b.value;
}

bool same(const Record& a, const Record& b) {
  return a.step == b.step && a.iterations == b.iterations && a.line == b.line &&
         a.merged == b.merged && same(a.seconds, b.seconds) && same(a.time_s, b.time_s) &&
         same(a.first_time_s, b.first_time_s) && same(a.printed_rate, b.printed_rate) &&
         same(a.printed_first, b.printed_first) && same(a.loss, b.loss) &&
         same(a.rank_spread, b.rank_spread);
}

bool same(const Facts& a, const Facts& b) {
  bool all = same(a.world_size, b.world_size) && same(a.global_batch_size, b.global_batch_size) &&
             a.axes == b.axes && a.versions == b.versions;
  for_each_fact(a, b, [&](const char*, const auto& one, const auto& other) {
    all = all && same(one, other);
  });
  return all;
}

bool same(const std::optional<Stated>& a, const std::optional<Stated>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return same(a->value, b->value) && a->unit == b->unit && a->line == b->line;
}

bool same(const Totals& a, const Totals& b) {
  return same(a.training_s, b.training_s) && same(a.wall_s, b.wall_s) &&
         a.iterations == b.iterations && a.optimizer_steps == b.optimizer_steps &&
         a.skipped_steps == b.skipped_steps && a.sequences == b.sequences;
}

std::string difference_of(const RunLog& a, const RunLog& b) {
  if (a.format != b.format) return "format " + a.format + " | " + b.format;
  if (a.kind != b.kind || a.first_line != b.first_line) return "kind or first line";
  if (a.iteration_unit != b.iteration_unit || a.rate_unit != b.rate_unit) return "units";
  if (!(a.outcome == b.outcome)) {
    return "outcome '" + detail_text(a.outcome) + "' | '" + detail_text(b.outcome) + "'";
  }
  if (a.first_nan_step != b.first_nan_step) return "first NaN";
  if (!same(a.facts, b.facts)) return "facts";
  if (!same(a.summary, b.summary) || !same(a.totals, b.totals)) return "statements";
  if (!same(a.clock_resolution_s, b.clock_resolution_s) || a.clock_is_wall != b.clock_is_wall) {
    return "clock";
  }
  if (a.notices != b.notices) return "notices";
  if (a.records_seen != b.records_seen || a.records.size() != b.records.size()) {
    return std::to_string(a.records_seen) + " records | " + std::to_string(b.records_seen);
  }
  for (std::size_t i = 0; i < a.records.size(); ++i) {
    if (!same(a.records[i], b.records[i])) {
      return "record " + std::to_string(i) + " of line " + std::to_string(a.records[i].line);
    }
  }
  return {};
}

}  // namespace

std::string difference_of(const std::vector<RunLog>& a, const std::vector<RunLog>& b) {
  if (a.size() != b.size()) {
    return std::to_string(a.size()) + " runs | " + std::to_string(b.size());
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string what = difference_of(a[i], b[i]);
    if (!what.empty()) return "run " + std::to_string(i) + ": " + what;
  }
  return {};
}

}  // namespace bertbench::fuzz
