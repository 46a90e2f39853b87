#include "parsers/described/line_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr std::int64_t kMaxMemory = std::int64_t{1} << 20;
constexpr int kMaxGroups = 31;

// Whether every match begins at the literal. An alternative or a quantifier after it may mean
// otherwise; then the whole line is searched.
bool begins_with_literal(std::string_view pattern, const std::string& literal) {
  const std::string quoted = re2::RE2::QuoteMeta(literal);
  std::size_t taken = 0;
  if (pattern.starts_with(quoted)) taken = quoted.size();
  const bool plain = std::ranges::none_of(literal, [](char c) {
    return std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos;
  });
  if (plain && pattern.starts_with(literal)) taken = literal.size();
  if (taken == 0 || pattern.find('|') != std::string_view::npos) return false;
  return taken == pattern.size() ||
         std::string_view("*?+{").find(pattern[taken]) == std::string::npos;
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
  bool at_literal = false;  ///< tried only where the literal is
};

LinePattern::LinePattern(std::string pattern, std::string literal)
    : pattern_(pattern.empty() ? re2::RE2::QuoteMeta(literal) : std::move(pattern)),
      literal_(std::move(literal)) {}
LinePattern::~LinePattern() = default;

const LinePattern::Compiled& LinePattern::compiled() const {
  std::call_once(once_, [this] {
    auto out = std::make_unique<Compiled>(pattern_);
    out->at_literal = begins_with_literal(pattern_, literal_);
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
    const std::string near = nearest_name(name, field_names());
    return Problem{fmt::format("unknown group '{}'", name),
                   near.empty() ? fmt::format("known: {}", fmt::join(field_names(), ", "))
                                : fmt::format("did you mean '{}'?", near)};
  }
  return std::nullopt;
}

bool LinePattern::has_group(std::string_view name) const {
  return pattern_.find(fmt::format("(?P<{}>", name)) != std::string::npos;
}

bool LinePattern::match(std::string_view line, std::vector<Group>& out) const {
  const Compiled& with = compiled();
  re2::StringPiece found[kMaxGroups + 1];
  const re2::StringPiece text(line.data(), line.size());
  const int n = std::min(kMaxGroups, with.re2.NumberOfCapturingGroups()) + 1;
  bool matched = false;
  if (with.at_literal) {
    for (auto at = line.find(literal_); at != std::string_view::npos && !matched;
         at = line.find(literal_, at + 1)) {
      matched = with.re2.Match(text, at, text.size(), re2::RE2::ANCHOR_START, found, n);
    }
  } else {
    matched = with.re2.Match(text, 0, text.size(), re2::RE2::UNANCHORED, found, n);
  }
  if (!matched) return false;
  for (const Compiled::Place& group : with.groups) {
    const re2::StringPiece& piece = found[group.index];
    if (piece.data() != nullptr) out.push_back({group.field, {piece.data(), piece.size()}});
  }
  return true;
}

}  // namespace bertbench
