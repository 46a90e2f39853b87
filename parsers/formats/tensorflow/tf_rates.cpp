#include "parsers/formats/tensorflow/tf_rates.h"

#include <algorithm>
#include <cmath>

namespace bertbench {

void TfRates::see_steps(const TfMessage& message, double rate, double time_s, std::int64_t line,
                        std::int64_t end_byte, const DraftAt& draft) {
  if (waiting_.set && waiting_.text == message.text && !waiting_.twice &&
      waiting_.absl != message.absl) {
    waiting_.twice = true;  // the same message from the other logger
    if (message.absl) waiting_.time_s = time_s;
    return;
  }
  put_waiting(draft);
  waiting_ = {};
  waiting_.set = true;
  waiting_.rate = rate;
  waiting_.time_s = time_s;
  waiting_.text = message.text;
  waiting_.absl = message.absl;
  waiting_.line = line;
  waiting_.end_byte = end_byte;
}

void TfRates::see_examples(double rate) {
  if (!waiting_.set) return;
  waiting_.examples = rate;
  if (!(waiting_.rate > 0) || !(rate > 0)) return;
  constexpr double kDigits = 1e-5;  // six digits of each
  const double least = rate / waiting_.rate * (1 - kDigits);
  const double most = rate / waiting_.rate * (1 + kDigits);
  least_batch_ = rated_ ? std::max(least_batch_, least) : least;
  most_batch_ = rated_ ? std::min(most_batch_, most) : most;
  rated_ = true;
}

std::optional<std::int64_t> TfRates::batch() const {
  const double whole = std::ceil(least_batch_);
  if (!rated_ || !(whole >= 1 && whole < 1e9) || whole > most_batch_ || whole + 1 <= most_batch_) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(whole);
}

void TfRates::put(const Line& from, std::int64_t steps, bool first, const DraftAt& draft) {
  Sample sample;
  step_ += std::max<std::int64_t>(1, steps);
  sample.step = step_;
  sample.iterations = std::max<std::int64_t>(1, steps);
  // The first interval holds the building of the graph: no step time.
  if (steps > 0 && from.rate > 0 && !first) {
    sample.seconds = static_cast<double>(steps) / from.rate;
  }
  sample.time_s = from.time_s;
  RunDraft& run = draft(from.line);
  if (!std::isnan(from.examples)) {
    run.log.rate_unit = RateUnit::sequences_per_second;
    sample.rate = from.examples;
  } else if (run.log.rate_unit != RateUnit::sequences_per_second) {
    run.log.rate_unit = RateUnit::iterations_per_second;
    sample.rate = from.rate;
  }
  sample.line = from.line;
  sample.end_byte = from.end_byte;
  run.add(sample);
}

void TfRates::put_waiting(const DraftAt& draft) {
  if (!waiting_.set) return;
  const std::int64_t steps = tf_steps_in(waiting_.rate, waiting_.time_s - time_s_);
  if (std::isnan(time_s_) && !first_.set && !std::isnan(waiting_.time_s)) {
    first_ = waiting_;  // its own number of steps is that of the next line
  } else {
    if (first_.set) put(first_, steps, true, draft);
    first_.set = false;
    put(waiting_, steps, false, draft);
  }
  time_s_ = waiting_.time_s;
  waiting_ = {};
}

void TfRates::end(const DraftAt& draft) {
  put_waiting(draft);
  if (first_.set) {
    waiting_ = first_;  // a single line: nothing says how many steps it covers
    first_ = {};
    waiting_.time_s = time_s_ = kUnknown;
    put_waiting(draft);
  }
  *this = TfRates();
}

}  // namespace bertbench
