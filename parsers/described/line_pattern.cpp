#include "parsers/described/line_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr std::int64_t kMaxMemory = std::int64_t{1} << 20;
constexpr int kMaxGroups = 31;

/// Whether no part of the pattern takes one digit and not another: of two lines that differ in
/// their digits alone it takes both or none, at the same places. In doubt false.
bool takes_digits_alike(std::string_view pattern) {
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const std::string_view rest = pattern.substr(i + 1);
    if (c == '\\') {
      // A code of a byte beyond ASCII, or "\d" and the like; "\Q" and "\1" are left.
      const bool code = rest.size() > 2 && rest[0] == 'x' && rest[1] >= '8' && rest[1] != '{';
      if (!code && (rest.empty() || is_digit(rest[0]) || rest[0] == 'x' || rest[0] == 'Q')) {
        return false;
      }
      i += code ? 3 : 1;
    } else if (is_digit(c)) {
      const bool all = in_class && c == '0' && rest.starts_with("-9") && pattern[i - 1] != '-';
      if (!all) return false;
      i += 2;
    } else if (in_class) {
      in_class = c != ']';
      if (c == '[' && rest.starts_with(':')) return false;  // "[[:digit:]]"
    } else if (c == '[') {
      in_class = true;
      if (rest.starts_with('^')) ++i;
      if (pattern.substr(i + 1).starts_with(']')) ++i;
    } else if (c == '{' && !rest.empty() && is_digit(rest[0])) {
      const auto end = rest.find_first_not_of("0123456789,");  // "{3}", "{0,2}"
      if (end == std::string_view::npos || rest[end] != '}') return false;
      if (std::ranges::count(rest.substr(0, end), ',') > 1) return false;
      i += 1 + end;
    }
  }
  return true;
}

re2::RE2::Options options() {
  re2::RE2::Options out;
  out.set_encoding(re2::RE2::Options::EncodingLatin1);  // logs are bytes
  out.set_log_errors(false);
  out.set_max_mem(kMaxMemory);
  return out;
}

}  // namespace

struct LinePattern::Compiled {
  explicit Compiled(const std::string& pattern) : re2(pattern, options()) {}
  struct Place {
    int index = 0;
    Field field = Field::step;
  };
  re2::RE2 re2;
  std::vector<Place> groups;
  bool digits_alike = false;
};

LinePattern::LinePattern(std::string pattern, const std::string& literal)
    : pattern_(pattern.empty() ? re2::RE2::QuoteMeta(literal) : std::move(pattern)) {}
LinePattern::~LinePattern() = default;

const LinePattern::Compiled& LinePattern::compiled() const {
  std::call_once(once_, [this] {
    auto out = std::make_unique<Compiled>(pattern_);
    out->digits_alike = takes_digits_alike(pattern_);
    if (out->re2.ok()) {
      for (const auto& [name, index] : out->re2.NamedCapturingGroups()) {
        if (const auto field = parse_field(name)) out->groups.push_back({index, *field});
      }
    }
    std::ranges::sort(out->groups, {}, &Compiled::Place::index);
    compiled_ = std::move(out);
  });
  return *compiled_;
}

std::optional<LinePattern::Problem> LinePattern::problem() const {
  if (pattern_.size() > kMaxBytes) {
    return Problem{fmt::format("is longer than {} bytes", kMaxBytes), ""};
  }
  const re2::RE2& re2 = compiled().re2;
  if (!re2.ok()) {
    return Problem{"is no RE2 pattern: " + re2.error(),
                   "RE2 has neither look-around nor back references, and repeats at most 1000"};
  }
  if (re2.NumberOfCapturingGroups() > kMaxGroups) {
    return Problem{fmt::format("has more than {} groups", kMaxGroups),
                   "write (?:...) where nothing is taken"};
  }
  for (const auto& [name, index] : re2.NamedCapturingGroups()) {
    if (parse_field(name)) continue;
    return Problem{fmt::format("unknown group '{}'", name), name_hint(name, field_names())};
  }
  return std::nullopt;
}

bool LinePattern::has_group(std::string_view name) const {
  return pattern_.find(fmt::format("(?P<{}>", name)) != std::string::npos;
}

LinePattern::Memo::Entry* LinePattern::Memo::entry_of(const LinePattern& pattern,
                                                      std::string_view line, bool& known) {
  constexpr int kFirstLines = 16;  // a table for less would cost more than it saves
  constexpr int kEntryBits = 8;
  if (line.size() < kWord || line.size() > kLongest) return nullptr;
  if (entries_.empty()) {
    if (++lines_ < kFirstLines) return nullptr;
    entries_.resize(std::size_t{1} << kEntryBits);
  }
  // Two rules may have the same lines: their patterns are rarely of one length.
  std::uint64_t hash = (pattern.pattern_.size() << 16u) + line.size();
  std::size_t words = 0;
  const auto put = [&](const char* at) {
    constexpr std::uint64_t kBytes = 0x0101010101010101, kHigh = 0x80 * kBytes;
    std::uint64_t word = 0;
    std::memcpy(&word, at, kWord);
    word ^= '0' * kBytes;  // digits become 0 to 9, and are cleared
    const std::uint64_t others = (((word & ~kHigh) + ('\x7f' - 9) * kBytes) | word) & kHigh;
    word &= (others >> 7u) * 0xff;
    shape_[words++] = word;
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32u;
  };
  const char* const end = line.data() + line.size();
  for (const char* at = line.data(); end - at > static_cast<std::ptrdiff_t>(kWord); at += kWord) {
    put(at);
  }
  put(end - kWord);
  Entry& entry = entries_[hash >> (64 - kEntryBits)];
  const auto shape = shape_.begin() + static_cast<std::ptrdiff_t>(words);
  known = entry.of == &pattern && entry.size == line.size() &&
          std::equal(shape_.begin(), shape, entry.shape.begin());
  if (!known) {
    entry.of = &pattern;
    entry.size = line.size();
    entry.shape.assign(shape_.begin(), shape);
    entry.groups.clear();
  }
  return &entry;
}

bool LinePattern::match(std::string_view line, std::vector<Group>& out, Memo& memo) const {
  bool known = false;
  Memo::Entry* const entry = compiled().digits_alike ? memo.entry_of(*this, line, known) : nullptr;
  if (!known) {
    const std::size_t before = out.size();
    const bool matched = search(line, out);
    if (entry == nullptr) return matched;
    entry->matched = matched;
    for (std::size_t i = before; i < out.size(); ++i) {
      const auto begin = static_cast<std::size_t>(out[i].text.data() - line.data());
      entry->groups.push_back({out[i].field, begin, out[i].text.size()});
    }
    return matched;
  }
  for (const Memo::Entry::Place& group : entry->groups) {
    out.push_back({group.field, line.substr(group.begin, group.size)});
  }
  return entry->matched;
}

bool LinePattern::search(std::string_view line, std::vector<Group>& out) const {
  const Compiled& with = compiled();
  re2::StringPiece found[kMaxGroups + 1];
  const re2::StringPiece text(line.data(), line.size());
  const int n = std::min(kMaxGroups, with.re2.NumberOfCapturingGroups()) + 1;
  if (!with.re2.Match(text, 0, text.size(), re2::RE2::UNANCHORED, found, n)) return false;
  for (const Compiled::Place& group : with.groups) {
    const re2::StringPiece& piece = found[group.index];
    if (piece.data() != nullptr) out.push_back({group.field, {piece.data(), piece.size()}});
  }
  return true;
}

}  // namespace bertbench
