#include "parsers/rules/memory_rules.h"

#include <algorithm>
#include <array>

#include "parsers/text/cursor.h"

namespace bertbench {
namespace {

constexpr double kMiB = 1 << 20, kGiB = 1 << 30, kGB = 1e9;

struct Rule {
  std::string_view anchor;
  double unit;
};

// What PyTorch calls max_memory_allocated, as the trainers print it; units as they divide.
constexpr Rule kRules[] = {
    {", MaxMemAllocated=", kGiB},              // DeepSpeed's timer, "22.95GB"
    {"| max allocated: ", kMiB},               // Megatron, "memory (MB)"
    {"| mem-max-allocated-gigabytes: ", kGB},  // Megatron-Bridge divides by 1.0e9
    {"peak memory allocated: ", kMiB},         // modded-nanogpt and its kin
    {"peak memory consumption: ", kMiB},       // likewise
    {", memory: ", kMiB},                      // mmcv, per GPU
    {", max_memory_allocated: ", kGiB},        // PaddleNLP 3
    {", max_mem_allocated: ", kMiB},           // PaddleDetection
    {"device memory usage: ", kMiB},           // llm.c, "12345 MiB / 81559 MiB"
};

constexpr auto kAnchors = [] {
  std::array<std::string_view, std::size(kRules)> out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kRules[i].anchor;
  return out;
}();

constexpr std::size_t kMaxStatements = 4096;

}  // namespace

std::span<const std::string_view> MemoryRules::anchors() { return kAnchors; }

bool MemoryRules::see(const Line& line) {
  for (const Rule& rule : kRules) {
    Cursor cursor(line);
    if (!cursor.skip_past(rule.anchor)) continue;
    const auto used = cursor.number();
    if (!used || !(*used > 0 && *used * rule.unit < 1e15)) return true;
    Statement found{line.number, {static_cast<std::int64_t>(*used * rule.unit), 0}};
    if (cursor.literal(" MiB / ")) {
      if (const auto all = cursor.number(); all && *all >= *used && *all < 1e9) {
        found.use.capacity_bytes = static_cast<std::int64_t>(*all * rule.unit);
      }
    }
    const bool more =
        statements_.empty() || found.use.peak_bytes != statements_.back().use.peak_bytes;
    if (more && statements_.size() < kMaxStatements) statements_.push_back(found);
    return true;
  }
  return false;
}

std::optional<MemoryUse> MemoryRules::most(std::int64_t begin_line, std::int64_t end_line) const {
  std::optional<MemoryUse> out;
  for (const Statement& statement : statements_) {
    if (statement.line < begin_line || statement.line >= end_line) continue;
    if (!out || statement.use.peak_bytes > out->peak_bytes) out = statement.use;
  }
  return out;
}

}  // namespace bertbench
