// Facts: what is known about a run in addition to its records, and from where.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "parsers/core/notice.h"

namespace bertbench {

/// Order of trust, best first.
enum class FactSource { command_line, log, path, unknown };

template <class T>
struct Fact {
  std::optional<T> value;
  FactSource source = FactSource::unknown;

  [[nodiscard]] bool known() const { return value.has_value(); }
  void set(T v, FactSource s) {
    value = std::move(v);
    source = s;
  }
  /// Nothing is no statement: the fact stays as it is.
  template <std::same_as<std::optional<T>> Stated>
  void set(const Stated& v, FactSource s) {
    if (v) set(*v, s);
  }
};

/// A product of counts; nothing where it passes 2^53, which no job reaches and a damaged or hostile
/// log may state.
[[nodiscard]] std::optional<std::int64_t> product_of_counts(
    std::initializer_list<std::int64_t> counts);

/// Everything is optional: unknown is unknown, never guessed. Counts are >= 1 when known.
struct Facts {
  Fact<std::string> framework;          ///< "mxnet", "pytorch", "tensorflow", "bert_train" ...
  Fact<std::string> model;              ///< "bert-large" ...
  Fact<std::string> precision;          ///< fp32 tf32 bf16 fp16 fp8
  Fact<std::int64_t> sequence_length;   ///< tokens per sequence
  Fact<std::int64_t> micro_batch_size;  ///< sequences per GPU per micro-step
  Fact<std::int64_t> gradient_accumulation_steps;  ///< micro-steps per optimizer step
  Fact<std::int64_t> nodes;
  Fact<std::int64_t> gpus_per_node;
  Fact<std::int64_t> world_size;                ///< when a log states only the product
  Fact<std::int64_t> global_batch_size;         ///< when a log states only the product
  std::map<std::string, std::string> axes;      ///< further identity: optimizer, env.NAME ...
  std::map<std::string, std::string> versions;  ///< cuda, cudnn, nccl, torch ... and gpu names

  /// nodes * gpus_per_node, else the stated world size.
  [[nodiscard]] std::optional<std::int64_t> world() const;
  /// micro_batch_size * world(): sequences of the whole job per micro-step; else, when the
  /// accumulation is known, global_batch_size / accumulation.
  [[nodiscard]] std::optional<std::int64_t> sequences_per_micro_step() const;
  /// sequences of the whole job per optimizer step.
  [[nodiscard]] std::optional<std::int64_t> sequences_per_optimizer_step() const;
};

/// Joins facts by trust: what `better` knows stays, the rest is taken from `worse`. A fact on
/// which both state and disagree is a notice that names both values and the one used.
[[nodiscard]] Facts merge_facts(const Facts& better, const Facts& worse,
                                std::vector<Notice>& notices);
/// The same where disagreement is expected: a newer statement, or one of a narrower scope.
[[nodiscard]] Facts merge_facts(const Facts& better, const Facts& worse);

/// Facts in a path: "4n8g", "bz32", "bert_b32_fp16_3.log" (model, batch, precision, trial).
/// The trial number is returned apart, as it is not a fact of the run. Only whole path
/// components and '_'-separated words of them count; nothing is read from string positions.
struct PathFacts {
  Facts facts;
  std::optional<int> trial;
};
[[nodiscard]] PathFacts facts_from_path(const std::string& path);

}  // namespace bertbench
