// What the table of collected logs (tests/parsers/corpus_test.cpp) is made of: one file per family
// of frameworks, here the estimators that its rows name and the shape of a row.
#pragma once

#include <functional>
#include <vector>

#include "parsers/core/run_log.h"

namespace bertbench::corpus {

/// Relative tolerance of an answer with six printed digits.
inline constexpr double kDigits = 1e-6;

/// Ways to one number of a run log, named as the estimators.
double log_summary(const RunLog& run);
double printed(const RunLog& run);
double printed_without_first(const RunLog& run, int n);
double printed_without_first_10(const RunLog& run);
double last_counter(const RunLog& run);
double sequences_per_iteration(const RunLog& run);
double counter_clock(const RunLog& run);
double iterations_per_second(const RunLog& run);
double median_step_rate(const RunLog& run);
double step_time(const RunLog& run);
double median_step_seconds(const RunLog& run);
double seconds_per_step(const RunLog& run, std::int64_t after_step);
double training_seconds(const RunLog& run);

struct Answer {
  const char* what;
  std::function<double(const RunLog&)> ours;
  double answer;
  double tolerance;  ///< relative; half a unit of the printed digit, or the clock's resolution
};

struct Expected {
  const char* file;
  std::vector<Answer> answers;
};

std::vector<Expected> nvidia_answers();
std::vector<Expected> tensorflow_answers();
std::vector<Expected> huggingface_answers();
std::vector<Expected> pytorch_answers();
std::vector<Expected> mxnet_answers();
std::vector<Expected> paddle_answers();
std::vector<Expected> nanogpt_answers();
std::vector<Expected> megatron_answers();
std::vector<Expected> mlperf_answers();
const std::vector<Expected>& all_answers();

}  // namespace bertbench::corpus
