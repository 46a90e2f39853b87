#include <algorithm>
#include <cmath>
#include <utility>

#include "parsers/lines/cursor.h"
#include "parsers/lines/decimal.h"
#include "parsers/rules/fact_rules.h"

namespace bertbench {
namespace {

constexpr double kMiB = 1 << 20, kGiB = 1 << 30, kGB = 1e9;

struct Rule {
  std::string_view anchor;
  double unit;
};

// Of the Trainer's keys one literal each; the CPU's keys have another middle.
constexpr std::string_view kTrainer = "_mem_gpu";
constexpr std::string_view kNvidiaSmi = "MiB / ";  // "| N/A 45C P0 44W / 300W | 0MiB / 32510MiB |"

// What PyTorch calls max_memory_allocated, as the trainers print it; units as they divide.
constexpr Rule kRules[] = {
    {", MaxMemAllocated=", kGiB},              // DeepSpeed's timer, "22.95GB"
    {"| max allocated: ", kMiB},               // Megatron, "memory (MB)"
    {"| mem-max-allocated-gigabytes: ", kGB},  // Megatron-Bridge divides by 1.0e9
    {"peak memory allocated: ", kMiB},         // modded-nanogpt, parameter-golf
    {"peak memory consumption: ", kMiB},       // modded-nanogpt
    {", memory: ", kMiB},                      // mmcv, per GPU
    {", max_memory_allocated: ", kGiB},        // PaddleNLP 3
    {", max_mem_allocated: ", kMiB},           // PaddleDetection
    {"device memory usage: ", kMiB},           // llm.c, "12345 MiB / 81559 MiB"
    {kTrainer, 0},                             // these two are read by functions of their own
    {kNvidiaSmi, 0},
};

constexpr auto kAnchors = literals_of(kRules, &Rule::anchor);

constexpr std::size_t kMaxStatements = 4096;  // hostile input
constexpr double kMostBytes = 1e15;           // more is a damaged number

/// The number of a key: `'key': 123`, `'key': '123'`, `"key": 123,`, `  key   =   123MB`.
std::optional<double> bytes_of(const Line& line, std::string_view key) {
  Cursor cursor(line);
  if (!cursor.skip_past(key)) return std::nullopt;
  std::string_view rest = cursor.rest();
  const auto value = rest.find_first_not_of("'\": =\t");
  if (value == std::string_view::npos) return std::nullopt;
  cursor.move_to(cursor.at() + value);
  const auto number = cursor.number();
  if (!number || !(std::abs(*number) < kMostBytes)) return std::nullopt;
  return *number * (cursor.literal("MB") ? kMiB : 1);
}

}  // namespace

std::span<const std::string_view> MemoryRules::anchors() { return kAnchors; }

void MemoryRules::see(const Line& line) {
  const std::string_view literal = line.text.substr(line.at, line.end - line.at);
  if (literal == kTrainer) return read_trainer(line);
  if (literal == kNvidiaSmi) return read_nvidia_smi(line);
  const double unit = std::ranges::find(kRules, literal, &Rule::anchor)->unit;
  Cursor cursor = Cursor::after(line);
  double used = 0, all = 0;
  if (!cursor.read(used) || !(used > 0 && used * unit < kMostBytes)) return;
  Statement found{line.number, {static_cast<std::int64_t>(used * unit), 0}};
  if (cursor.read(" MiB / ", all) && all >= used && all < 1e9) {
    found.use.capacity_bytes = static_cast<std::int64_t>(all * unit);
  }
  state(found);
}

void MemoryRules::state(const Statement& statement) {
  const bool known = !statements_.empty() &&
                     statement.use.peak_bytes == statements_.back().use.peak_bytes &&
                     statement.moment == statements_.back().moment;
  if (!known && statements_.size() < kMaxStatements) statements_.push_back(statement);
}

// The Trainer's closing dict states all in one line, which holds the rates as well; its table and
// files have a line a key, by the alphabet, so that train_..._peaked_delta is the last one of them.
void MemoryRules::read_trainer(const Line& line) {
  const auto take = [&](std::string_view key, std::optional<double>& to) {
    const auto bytes = bytes_of(line, key);
    if (bytes) to = bytes;
    return bytes.has_value();
  };
  take("before_init_mem_gpu", stages_.before);
  take("init_mem_gpu_alloc_delta", stages_.init_alloc);
  take("init_mem_gpu_peaked_delta", stages_.init_peaked);
  take("train_mem_gpu_alloc_delta", stages_.train_alloc);
  if (!take("train_mem_gpu_peaked_delta", stages_.train_peaked)) return;
  const Stages stated = std::exchange(stages_, {});
  // A Trainer that trains again does not print what it began with: that is no peak.
  if (!stated.init_alloc || !stated.train_alloc) return;
  const double begin = stated.before.value_or(0);
  const double init = begin + *stated.init_alloc + stated.init_peaked.value_or(0);
  const double train = begin + *stated.init_alloc + *stated.train_alloc + *stated.train_peaked;
  const double peak = std::max(init, train);
  if (peak > 0 && peak < kMostBytes) state({line.number, {static_cast<std::int64_t>(peak), 0}});
}

void MemoryRules::read_nvidia_smi(const Line& line) {
  if (line.text.find('|') > line.at) return;
  Cursor cursor(line);
  cursor.move_to(digits_before(line.text, line.at));
  double used = 0, all = 0;
  if (!cursor.read(used, kNvidiaSmi, kBlanks, all, "MiB |") || !(all > 0 && all < 1e9) ||
      all < used) {
    return;
  }
  const auto bytes = [](double mib) { return static_cast<std::int64_t>(mib * kMiB); };
  state({line.number, {bytes(used), bytes(all)}, true});
}

void MemoryRules::set_memory(RunLog& run, std::int64_t first_record, std::int64_t end_line) const {
  // A trainer's own statement is a peak, nvidia-smi's is of a moment: the first kind that there is.
  std::optional<MemoryUse> own;
  std::optional<Statement> seen;
  std::int64_t capacity = 0;
  for (const Statement& statement : statements_) {
    if (statement.line >= end_line) break;
    capacity = std::max(capacity, statement.use.capacity_bytes);
    if (!statement.moment) {
      if (!own || statement.use.peak_bytes > own->peak_bytes) own = statement.use;
    } else if (statement.line >= first_record && statement.use.peak_bytes > 0) {
      if (!seen || statement.use.peak_bytes > seen->use.peak_bytes) seen = statement;
    }
  }
  if (!own && seen) {
    own = seen->use;
    run.note(NoticeCode::memory_of_nvidia_smi, seen->line);
  }
  if (own && own->capacity_bytes == 0) own->capacity_bytes = capacity;
  run.memory = own;
}

}  // namespace bertbench
