// A trial as few bytes: what a result of very many logs keeps of each until it is written. Binary
// JSON (CBOR) would name every member in every trial.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reports/model/result_set.h"

namespace bertbench {

/// Texts that many trials share (names of formats, rules, notices), by number. Bounded: beyond its
/// room a text is not taken in, and stands in the trial itself.
class Words {
 public:
  /// The number of a text, -1 when there is no room for it.
  [[nodiscard]] std::int64_t number_of(const std::string& text);
  /// Empty for a number that was never given.
  [[nodiscard]] const std::string& text_of(std::int64_t number) const;

 private:
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::vector<const std::string*> texts_;
  std::size_t bytes_ = 0;
};

/// Appends everything but the telemetry to `out`.
void pack_trial(const Trial& trial, Words& words, std::string& out);
/// What pack_trial wrote with the same words; false when the bytes are others.
[[nodiscard]] bool unpack_trial(std::string_view bytes, const Words& words, Trial& trial);

}  // namespace bertbench
