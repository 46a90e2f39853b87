#include "reports/studies/audit/words.h"

#include <algorithm>
#include <limits>

#include "parsers/core/text.h"
#include "reports/studies/audit/columns.h"
#include "reports/studies/audit/printed.h"

namespace bertbench::audit {
namespace {

constexpr std::size_t kWordsOfName =
    16;  // "Accumulated Batch size / GPU (Phase 1 and Phase 2)": 10
constexpr std::size_t kWordsOfLine = 120;  // a line with more is prose
constexpr std::size_t kWordsOfCell = 8;    // "32 x DGX A100 80GB": 5

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool may_end(std::string_view word) {
  return !joins_words(word) && word.find_last_of("-/(&,:|") != word.size() - 1;
}

bool balanced(std::string_view text) {
  int open = 0;
  for (const char c : text) {
    open += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
  }
  return open == 0;
}

// Without what stands in parentheses at its end: "TF32(sequences/sec)" is the precision TF32.
std::string_view without_unit(std::string_view text) {
  return trim(text.substr(0, text.ends_with(')') ? text.find_last_of('(') : text.size()));
}

// From the beginning of one word of a line to the end of another.
std::string_view joined(std::string_view first, std::string_view last) {
  return {first.data(), static_cast<std::size_t>(last.data() + last.size() - first.data())};
}

// Between blanks; none where there are too many.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    if (words.size() == kWordsOfLine) return {};
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace

bool is_number_cell(std::string_view cell) {
  return !parse_numbers(cell, NumberStyle{.decimal_comma = false, .slash_pairs = true}).empty();
}

bool fits_number_column(std::string_view cell) {
  if (is_number_cell(cell)) return true;
  if (cell.find_first_not_of("-/*?\\") == std::string_view::npos) return true;  // "---"
  return is_one_of(lower(cell), {"\xE2\x80\x93", "\xE2\x80\x94", "n/a", "na", "nan", "inf", "oom",
                                 "none", "null", "tbd", "fail", "failed", "error"});
}

HeadingWords::HeadingWords(std::string_view line, const std::vector<std::string>& names)
    : line_(line), words_(words_of(line)) {
  find_names(names);
  for (const Style style : {leading, trailing}) count_ways(style);
  std::size_t reached = 0;  // words that names cover
  for (std::size_t end = 0; end <= words_.size(); ++end) {
    for (const auto& ways : ways_) {
      for (std::size_t n = 0; n < ways[end].size(); ++n) {
        if (ways[end][n].count == 0) continue;
        if (end > reached) known_before_ = n;
        reached = end;
      }
    }
  }
  if (reached < words_.size()) unknown_ = words_[reached];
}

std::string_view HeadingWords::text(std::size_t from, std::size_t end) const {
  return joined(words_[from], words_[end - 1]);
}

void HeadingWords::find_names(const std::vector<std::string>& names) {
  names_.resize(words_.size());
  std::vector<bool> reached(words_.size() + 1, false);
  reached[0] = true;
  for (std::size_t from = 0; from < words_.size(); ++from) {
    if (!reached[from]) continue;
    const bool known_begin = begins_heading(words_[from]);
    for (std::size_t end = from + 1; end <= std::min(words_.size(), from + kWordsOfName); ++end) {
      const std::string_view words = text(from, end);
      Name name{end};
      const bool stated = std::any_of(names.begin(), names.end(), [&](const std::string& each) {
        return same_heading(each, words);
      });
      if (!stated) {
        if (!known_begin || !may_end(words_[end - 1]) || !balanced(words)) continue;
        const Heading heading = read_heading(words);
        if (heading.role == Role::none) continue;
        // A precision before or after the name, which nothing ties to it.
        const auto bare = [&](std::size_t first, std::size_t last) {
          return is_variant(without_unit(text(first, last)));
        };
        const bool phrase = role_of_words(lower(words)) != Role::none;  // "mixed precision speedup"
        for (std::size_t n = 1; !phrase && n <= 2 && from + n < end; ++n) {
          if (bare(from, from + n)) name.in[trailing] = false;
          if (bare(end - n, end) && !joins_words(words_[end - n - 1])) name.in[leading] = false;
        }
        const bool any_bare = !name.in[leading] || !name.in[trailing];
        if (any_bare && is_count(heading.role)) continue;  // GPUs are of no precision
      }
      names_[from].push_back(name);
      reached[end] = true;
    }
  }
}

void HeadingWords::count_ways(Style style) {
  auto& ways = ways_[style];
  ways.assign(words_.size() + 1, {});
  ways[0].assign(1, Ways{1, 0});
  for (std::size_t from = 0; from < words_.size(); ++from) {
    for (const Name& name : names_[from]) {
      if (!name.in[style]) continue;
      for (std::size_t n = 0; n < ways[from].size() && n < kMostColumns; ++n) {
        if (ways[from][n].count == 0) continue;
        auto& there = ways[name.end];
        if (there.size() < n + 2) there.resize(n + 2);
        there[n + 1].count =
            static_cast<std::uint8_t>(std::min(2, there[n + 1].count + ways[from][n].count));
        there[n + 1].from = static_cast<std::uint16_t>(from);
      }
    }
  }
}

std::vector<std::string> HeadingWords::names_of(Style style, std::size_t columns) const {
  std::vector<std::string> out;
  std::size_t end = words_.size();
  for (std::size_t n = columns; n > 0; --n) {
    const std::size_t from = ways_[style][end][n].from;
    out.insert(out.begin(), std::string(text(from, end)));
    end = from;
  }
  return out;
}

std::optional<HeadingSplit> HeadingWords::split(std::size_t columns) const {
  std::vector<HeadingSplit> found;
  for (const Style style : {leading, trailing}) {
    const auto& all = ways_[style][words_.size()];
    if (columns >= all.size() || all[columns].count == 0) continue;
    HeadingSplit split{names_of(style, columns), all[columns].count > 1};
    if (!found.empty() && found.front().names == split.names) continue;
    found.push_back(std::move(split));
  }
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return found.front();
  // The one in which no name stands both with a precision and without.
  const auto consistent = [](const HeadingSplit& split) {
    std::vector<std::pair<Role, bool>> seen;
    for (const std::string& name : split.names) {
      const Heading heading = read_heading(name);
      const bool labelled = !heading.variants.empty();
      for (const auto& [role, other] : seen) {
        if (role == heading.role && other != labelled) return false;
      }
      seen.emplace_back(heading.role, labelled);
    }
    return true;
  };
  const bool first = consistent(found[0]), second = consistent(found[1]);
  HeadingSplit best = first || !second ? found[0] : found[1];
  best.ambiguous = best.ambiguous || first == second;
  return best;
}

namespace {

// Units that stand apart from their number. Any word may be text of the next column.
bool is_unit(std::string_view word) {
  return is_one_of(lower(word), {"%", "x", "gb", "gib", "mb", "mib", "ms", "s", "sec", "min", "h",
                                 "hrs", "hours", "tflops", "samples/s", "seq/s", "it/s"});
}

// Words, with numbers that are joined to one cell taken together.
std::vector<std::string_view> atoms_of(std::string_view line, bool units) {
  const std::vector<std::string_view> words = words_of(line);
  std::vector<std::string_view> out;
  for (std::size_t n = 0; n < words.size(); ++n) {
    std::size_t end = n;
    if (is_number_cell(words[n])) {
      while (end + 2 < words.size() && is_number_cell(words[end + 2]) &&
             is_one_of(words[end + 1], {"and", "&", "/", "\xC2\xB1", "+-"})) {
        end += 2;
      }
      if (units && end + 1 < words.size() && is_unit(words[end + 1])) ++end;
    }
    out.push_back(joined(words[n], words[end]));
    n = end;
  }
  return out;
}

std::optional<RowSplit> fit(const std::vector<std::string_view>& atoms,
                            const std::vector<bool>& numeric) {
  const std::size_t columns = numeric.size();
  if (atoms.size() < columns) return std::nullopt;
  constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  struct Best {
    std::size_t cost = kNever;
    bool tie = false;
    std::uint16_t from = 0;  // first atom of the last cell
  };
  std::vector<bool> number(atoms.size()), fits(atoms.size());
  for (std::size_t n = 0; n < atoms.size(); ++n) {
    // "80GB" may well be a word of a name, "80" hardly.
    number[n] = atoms[n].find_first_not_of("0123456789.,%") == std::string_view::npos;
    fits[n] = fits_number_column(atoms[n]);
  }
  std::vector<std::vector<Best>> best(columns + 1, std::vector<Best>(atoms.size() + 1));
  best[0][0].cost = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t last = atoms.size() - (columns - column - 1);  // the others need one each
    for (std::size_t from = column; from < last; ++from) {
      const Best& before = best[column][from];
      if (before.cost == kNever) continue;
      std::size_t cost = before.cost;
      const std::size_t longest = numeric[column] ? 1 : kWordsOfCell;
      for (std::size_t end = from + 1; end <= std::min(last, from + longest); ++end) {
        if (numeric[column] && !fits[from]) break;
        if (!numeric[column] && number[end - 1]) ++cost;
        Best& there = best[column + 1][end];
        if (cost < there.cost) {
          there = {cost, before.tie, static_cast<std::uint16_t>(from)};
        } else if (cost == there.cost) {
          there.tie = true;
        }
      }
    }
  }
  const Best& whole = best[columns][atoms.size()];
  if (whole.cost == kNever) return std::nullopt;
  RowSplit out;
  out.numbers_in_text = whole.cost;
  out.ambiguous = whole.tie;
  out.cells.resize(columns);
  std::size_t end = atoms.size();
  for (std::size_t column = columns; column-- > 0;) {
    const std::size_t from = best[column + 1][end].from;
    out.cells[column] = joined(atoms[from], atoms[end - 1]);
    end = from;
  }
  return out;
}

}  // namespace

std::optional<RowSplit> split_row(std::string_view line, const std::vector<bool>& numeric) {
  for (const bool units : {false, true}) {
    if (auto row = fit(atoms_of(line, units), numeric)) return row;
  }
  return std::nullopt;
}

bool looks_like_row(std::string_view line) {
  const std::vector<std::string_view> atoms = atoms_of(line, false);
  const auto numbers = static_cast<std::size_t>(std::count_if(
      atoms.begin(), atoms.end(), [](std::string_view a) { return is_number_cell(a); }));
  return numbers >= 2 && numbers * 2 >= atoms.size();
}

}  // namespace bertbench::audit
