// What a checkpoint holds, read without the trainer's own reader.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/workloads/driver/process.h"
#include "workloads/bert/train/checkpoint.h"

namespace bert::testing {

struct State {
  nlohmann::json header;
  std::vector<float> values;  // weights, first moments, second moments
};

inline State newest_state(const std::string& folder) {
  const std::string bytes = read_file(newest_checkpoint(folder));
  State state;
  std::uint64_t size = 0;
  if (bytes.size() < 16) {
    ADD_FAILURE() << "no checkpoint in " << folder;
    return state;
  }
  std::memcpy(&size, bytes.data() + 8, 8);
  state.header = nlohmann::json::parse(bytes.substr(16, size));
  state.values.resize(state.header["elements"].get<std::size_t>() * 3);
  std::memcpy(state.values.data(), bytes.data() + 16 + size, state.values.size() * 4);
  return state;
}

/// |a - b| / |a| over one array of all parameters: 0 weights, 1 first moments, 2 second moments.
inline double whole_difference(const State& a, const State& b, std::size_t array) {
  const std::size_t n = a.values.size() / 3;
  double difference = 0, norm = 0;
  for (std::size_t i = array * n; i < (array + 1) * n; ++i) {
    const double x = static_cast<double>(a.values[i]), y = static_cast<double>(b.values[i]);
    difference += (x - y) * (x - y);
    norm += x * x;
  }
  return std::sqrt(difference / norm);
}

}  // namespace bert::testing
