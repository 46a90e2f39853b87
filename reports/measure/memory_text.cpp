#include "reports/measure/memory_text.h"

#include <cctype>
#include <cmath>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

std::optional<double> unit_of(std::string_view word) {
  if (word == "bytes" || word == "B") return 1.0;
  if (word == "KiB") return 1024.0;
  if (word == "MiB" || word == "MB") return 1048576.0;  // PyTorch's "MB" of before 1.8 is 2^20 too
  if (word == "GiB" || word == "GB") return 1073741824.0;
  return std::nullopt;
}

/// "15.78 GiB" at the beginning of `text`.
std::optional<double> amount_at(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && (std::isdigit(static_cast<unsigned char>(text[n])) || text[n] == '.')) {
    ++n;
  }
  const auto number = to_double(text.substr(0, n));
  if (!number || n >= text.size() || text[n] != ' ') return std::nullopt;
  text.remove_prefix(n + 1);
  std::size_t end = 0;
  while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
  const auto unit = unit_of(text.substr(0, end));
  const double bytes = unit ? *number * *unit : 0;
  return unit && bytes < 9e15 ? std::optional(bytes) : std::nullopt;
}

std::optional<double> amount_after(std::string_view text, std::string_view words) {
  const auto at = text.find(words);
  return at == std::string_view::npos ? std::nullopt : amount_at(text.substr(at + words.size()));
}

/// The amount whose text ends right before `words`: "15.78 GiB total capacity".
std::optional<double> amount_before(std::string_view text, std::string_view words) {
  const auto at = text.find(words);
  if (at == std::string_view::npos || at < 2) return std::nullopt;
  std::size_t begin = text.rfind(' ', at - 1);  // before the unit
  if (begin == std::string_view::npos || begin == 0) return std::nullopt;
  while (begin > 0 &&
         (std::isdigit(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '.')) {
    --begin;
  }
  return amount_at(text.substr(begin));
}

}  // namespace

std::optional<MemoryRecord> memory_of_failure(std::string_view text) {
  const auto record = [](double peak, double capacity) {
    return MemoryRecord{std::llround(peak), std::llround(capacity), "log"};
  };
  const auto needs = amount_after(text, " needs ");
  const auto available = amount_before(text, " are available");
  if (needs && available) return record(*needs, *available);
  const auto wanted = amount_after(text, "Tried to allocate ");
  auto capacity = amount_before(text, " total capacity");
  if (!capacity) capacity = amount_after(text, "total capacity of ");
  auto held = amount_before(text, " already allocated");
  if (!held) held = amount_before(text, " memory in use");
  if (wanted && capacity) return record(held.value_or(0) + *wanted, *capacity);
  return std::nullopt;
}

}  // namespace bertbench
