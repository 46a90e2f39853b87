// Reads the golden files of make_gradients.py, make_gpt2.py and make_optimizers.py, and repeats
// formula.py.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "workloads/bert/core/batch.h"
#include "workloads/bert/model/parameters.h"

namespace bert::oracle {

inline constexpr std::uint64_t kWeights = 0, kProjection = 1, kGradients = 2, kTokens = 3;
inline constexpr std::uint64_t kCase = 1ULL << 30;

inline std::uint64_t splitmix64(std::uint64_t counter) {
  std::uint64_t z = (counter + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

inline double uniform(std::uint64_t stream, std::uint64_t counter) {
  return static_cast<double>(splitmix64((stream << 40) + counter) >> 40) / 8388608.0 - 1.0;
}

inline std::vector<double> weights(const ParameterLayout& layout) {
  std::vector<double> out;
  for (const Parameter& parameter : layout.parameters) {
    const bool norm = parameter.initial == Parameter::Initial::ones;
    for (std::int64_t i = 0; i < parameter.size; ++i) {
      const double u = uniform(kWeights, static_cast<std::uint64_t>(parameter.offset + i));
      out.push_back(static_cast<double>(static_cast<float>(norm ? 1.0 + u / 4 : u / 8)));
    }
  }
  return out;
}

inline double projection(std::uint64_t index, std::int64_t offset) {
  return uniform(kProjection, index * kCase + static_cast<std::uint64_t>(offset)) < 0 ? -1.0 : 1.0;
}

struct Tensor {
  std::string name;
  bool full = true;
  std::vector<double> values;
};

struct Golden {
  std::map<std::string, std::vector<std::string>> fields;
  std::vector<std::pair<std::string, std::vector<std::string>>> cases;
  std::vector<Tensor> tensors;
  std::vector<double> data;

  [[nodiscard]] std::int64_t number(const std::string& key) const {
    return std::stoll(fields.at(key).at(0));
  }
  [[nodiscard]] std::vector<std::int32_t> numbers(const std::string& key) const {
    std::vector<std::int32_t> out;
    for (const std::string& text : fields.at(key)) out.push_back(std::stoi(text));
    return out;
  }
  [[nodiscard]] bool is_gpt2() const { return fields.contains("family"); }
  [[nodiscard]] ModelConfig model() const {
    ModelConfig config;
    if (is_gpt2()) config = *named_model("gpt2");
    config.name = "golden";
    config.layers = number("layers");
    config.hidden = number("hidden");
    config.heads = number("heads");
    config.intermediate = number("intermediate");
    config.vocabulary = number("vocabulary");
    config.max_positions = number("positions");
    config.hidden_dropout = config.attention_dropout = 0;
    return config;
  }
  [[nodiscard]] Batch batch() const {
    Batch batch;
    batch.sequences = number("sequences");
    batch.sequence_length = number("length");
    if (is_gpt2()) {
      batch.masked_per_sequence = batch.sequence_length;
      batch.tokens = numbers("tokens");
      batch.labels = numbers("labels");
      batch.lengths.assign(static_cast<std::size_t>(batch.sequences),
                           static_cast<std::int32_t>(batch.sequence_length));
      return batch;
    }
    batch.masked_per_sequence = number("masked");
    batch.tokens = numbers("tokens");
    batch.segments = numbers("segments");
    batch.lengths = numbers("lengths");
    batch.masked = numbers("positions-masked");
    batch.labels = numbers("labels");
    batch.next_sentence = numbers("next-sentence");
    return batch;
  }
};

inline Golden read(const std::string& path) {
  static_assert(std::endian::native == std::endian::little);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  Golden golden;
  std::string line;
  std::vector<std::size_t> counts;
  while (std::getline(file, line) && line != "data") {
    std::istringstream words(line);
    std::string key, word;
    words >> key;
    std::vector<std::string> values;
    while (words >> word) values.push_back(word);
    if (key == "tensor") {
      golden.tensors.push_back({values.at(0), values.at(1) == "full", {}});
      counts.push_back(std::stoul(values.at(2)));
    } else if (key == "case") {
      golden.cases.emplace_back(values.at(0),
                                std::vector<std::string>(values.begin() + 1, values.end()));
    } else {
      golden.fields[key] = values;
    }
  }
  const auto begin = file.tellg();
  file.seekg(0, std::ios::end);
  const auto bytes = static_cast<std::size_t>(file.tellg() - begin);
  file.seekg(begin);
  golden.data.resize(bytes / sizeof(double));
  file.read(reinterpret_cast<char*>(golden.data.data()), static_cast<std::streamsize>(bytes));
  std::size_t at = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    golden.tensors[i].values.assign(
        golden.data.begin() + static_cast<std::ptrdiff_t>(at),
        golden.data.begin() + static_cast<std::ptrdiff_t>(at + counts[i]));
    at += counts[i];
  }
  return golden;
}

/// ||g - expected|| / ||expected|| over one tensor. For a projected tensor the numerator is
/// estimated from the projections: their mean square is that of the difference's norm.
template <typename Real>
double error(const Tensor& expected, const Parameter& parameter, const Real* gradients) {
  const Real* g = gradients + parameter.offset;
  double difference = 0;
  if (expected.full) {
    double norm = 0;
    for (std::int64_t i = 0; i < parameter.size; ++i) {
      const double want = expected.values.at(static_cast<std::size_t>(i));
      difference += (static_cast<double>(g[i]) - want) * (static_cast<double>(g[i]) - want);
      norm += want * want;
    }
    return std::sqrt(difference / norm);
  }
  const std::size_t count = expected.values.size() - 1;
  for (std::size_t k = 0; k < count; ++k) {
    double inner = 0;
    for (std::int64_t i = 0; i < parameter.size; ++i) {
      inner += static_cast<double>(g[i]) * projection(k, parameter.offset + i);
    }
    const double off = inner - expected.values[k + 1];
    difference += off * off / static_cast<double>(count);
  }
  return std::sqrt(difference) / expected.values[0];
}

}  // namespace bert::oracle
