#include "reports/output/iterations.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "parsers/core/text.h"
#include "reports/output/csv.h"

namespace bertbench {
namespace {

double rate_of(const Record& record, std::optional<std::int64_t> sequences, RateUnit unit) {
  if (sequences && record.seconds > 0) {
    return static_cast<double>(*sequences * record.iterations) / record.seconds;
  }
  if (unit == RateUnit::sequences_per_second) return record.printed_rate;
  if (unit == RateUnit::iterations_per_second && sequences) {
    return record.printed_rate * static_cast<double>(*sequences);
  }
  return kUnknown;
}

}  // namespace

std::string iteration_number(double value) { return std::isfinite(value) ? shortest(value) : ""; }

std::string iterations_prefix(std::string_view log, const std::string& trial) {
  return csv_text(log) + "," + trial + ",";
}

void append_iteration(std::string& text, const Record& record,
                      std::optional<std::int64_t> sequences, RateUnit unit) {
  fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{}\n", record.step,
                 iteration_number(record.time_s), iteration_number(record.seconds),
                 iteration_number(rate_of(record, sequences, unit)), iteration_number(record.loss),
                 iteration_number(record.rank_spread));
}

}  // namespace bertbench
