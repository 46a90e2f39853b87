#include "tests/parsers/corpus/answers.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bertbench::corpus {

double log_summary(const RunLog& run) { return run.summary ? run.summary->value : kUnknown; }
double printed(const RunLog& run) {
  double sum = 0, n = 0;
  for (const Record& record : run.records) {
    if (std::isnan(record.printed_rate)) continue;
    sum += record.printed_rate;
    n += 1;
  }
  return sum / n;
}
double printed_without_first(const RunLog& run, int n) {
  RunLog rest = run;
  rest.records.erase(rest.records.begin(), rest.records.begin() + n);
  return printed(rest);
}
double printed_without_first_10(const RunLog& run) { return printed_without_first(run, 10); }
double last_counter(const RunLog& run) {
  return run.records.empty() ? kUnknown : static_cast<double>(run.records.back().step);
}
double sequences_per_iteration(const RunLog& run) {
  const auto n = run.iteration_unit == IterationUnit::optimizer_step
                     ? run.facts.sequences_per_optimizer_step()
                     : run.facts.sequences_per_micro_step();
  return n ? static_cast<double>(*n) : kUnknown;
}
double counter_clock(const RunLog& run) {
  return last_counter(run) * sequences_per_iteration(run) / run.records.back().time_s;
}
double iterations_per_second(const RunLog& run) {
  return last_counter(run) / run.records.back().time_s;
}
double median_step_rate(const RunLog& run) {
  std::vector<double> rates;
  for (const Record& record : run.records) rates.push_back(record.printed_rate);
  std::ranges::nth_element(rates, rates.begin() + static_cast<long>(rates.size() / 2));
  return rates[rates.size() / 2];
}

double step_time(const RunLog& run) {
  double iterations = 0, seconds = 0;
  for (const Record& record : run.records) {
    if (std::isnan(record.seconds)) continue;
    iterations += static_cast<double>(record.iterations);
    seconds += record.seconds;
  }
  return iterations / seconds * sequences_per_iteration(run);
}
double median_step_seconds(const RunLog& run) {
  std::vector<double> seconds;
  for (const Record& record : run.records) {
    if (!std::isnan(record.seconds)) {
      seconds.push_back(record.seconds / static_cast<double>(record.iterations));
    }
  }
  std::ranges::sort(seconds);
  return (seconds[(seconds.size() - 1) / 2] + seconds[seconds.size() / 2]) / 2;
}

double seconds_per_step(const RunLog& run, std::int64_t after_step) {
  double seconds = 0, steps = 0;
  for (const Record& record : run.records) {
    if (record.step <= after_step || std::isnan(record.seconds)) continue;
    seconds += record.seconds;
    steps += static_cast<double>(record.iterations);
  }
  return seconds / steps;
}
double training_seconds(const RunLog& run) { return run.totals.training_s.value_or(kUnknown); }

const std::vector<Expected>& all_answers() {
  static const std::vector<Expected> list = [] {
    std::vector<Expected> out;
    for (auto* family :
         {nvidia_answers, tensorflow_answers, huggingface_answers, pytorch_answers, mxnet_answers,
          paddle_answers, nanogpt_answers, megatron_answers, mlperf_answers}) {
      for (Expected& row : family()) out.push_back(std::move(row));
    }
    return out;
  }();
  return list;
}

}  // namespace bertbench::corpus
