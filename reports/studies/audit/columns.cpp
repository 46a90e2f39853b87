// How a heading is read: precision words and units make way, what is left names the role.
#include "reports/studies/audit/columns.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "parsers/core/text.h"

namespace bertbench::audit {
namespace {

struct VariantWord {
  std::string_view word, variant;
};
// Longest first: "mixed precision" before "mixed".
constexpr VariantWord kVariants[] = {{"mixed precision", "mixed"},
                                     {"half precision", "mixed"},
                                     {"single precision", "fp32"},
                                     {"phase 1", "phase1"},
                                     {"phase 2", "phase2"},
                                     {"phase1", "phase1"},
                                     {"phase2", "phase2"},
                                     {"tf32", "tf32"},
                                     {"fp32", "fp32"},
                                     {"bf16", "bf16"},
                                     {"fp16", "mixed"},
                                     {"mixed", "mixed"},
                                     {"fp8", "fp8"}};

std::string normal(std::string_view text) {
  std::string out = " ";
  for (char c : lower(text.substr(0, 400))) {
    if (c == '*' || c == '`' || c == '\\') continue;
    if (c == '_' || c == '-' || std::isspace(static_cast<unsigned char>(c))) c = ' ';
    if (c == ' ' && (out.back() == ' ' || out.back() == '/')) continue;
    if (c == '/' && out.back() == ' ') out.pop_back();
    out += c;
  }
  return std::string(trim(out));
}

// The words that joined two precisions are left at the ends once those are gone; inside they
// belong to the name ("time to train").
std::string without_connectors(std::string_view text) {
  const auto joins_none = [](std::string_view word) { return !word.empty() && !joins_words(word); };
  const std::vector<std::string_view> words = split(text, ' ');
  const auto first = std::ranges::find_if(words, joins_none);
  const auto last = std::find_if(words.rbegin(), std::reverse_iterator(first), joins_none).base();
  const std::string out = normal(fmt::format("{}", fmt::join(first, last, " ")));
  return out.substr(0, out.find_last_not_of(" /,:") + 1);
}

constexpr std::string_view kReplicates[] = {"seed", "run", "trial", "repeat", "replicate"};

// "seed 3", "run#2", "trial 10": one of several measurements of the same thing.
bool is_replicate(std::string_view text) {
  for (const std::string_view word : kReplicates) {
    if (!text.starts_with(word)) continue;
    const std::string_view rest = trim(text.substr(word.size()));
    return to_int(trim(rest.substr(rest.starts_with('#') ? 1 : 0))).has_value();
  }
  return false;
}

}  // namespace

bool is_role(std::string_view heading) { return read_heading(heading).role != Role::none; }

bool same_heading(std::string_view a, std::string_view b) {
  return lower(trim(a)) == lower(trim(b));
}

bool joins_words(std::string_view word) {
  constexpr std::string_view kJoints[] = {"and", "to", "vs", "vs.",          "over",
                                          "&",   "/",  "-",  "\xE2\x80\x93", "\xE2\x80\x94",
                                          ",",   ":",  "|"};
  return std::ranges::count(kJoints, lower(word)) > 0;
}

bool is_variant(std::string_view text) {
  const std::string words = normal(text);
  return std::any_of(std::begin(kVariants), std::end(kVariants),
                     [&](const VariantWord& each) { return each.word == words; });
}

bool begins_heading(std::string_view word) {
  static const std::unordered_set<std::string_view> known = [] {
    std::unordered_set<std::string_view> out;
    const auto first_word = [&](std::string_view words) {
      out.insert(words.substr(0, words.find(' ')));
    };
    for (const std::string_view words : known_words()) first_word(words);
    for (const VariantWord& each : kVariants) first_word(each.word);
    for (const std::string_view each : kReplicates) out.insert(each);
    return out;
  }();
  const std::string plain = normal(word);
  const std::string_view first = std::string_view(plain).substr(0, plain.find_first_of(" ([,:"));
  return known.contains(first) ||
         known.contains(first.substr(0, first.find_last_not_of("0123456789#") + 1));  // "run#2"
}

Heading read_heading(std::string_view text) {
  Heading heading;
  std::string plain = normal(text);
  if ((heading.role = role_of_words(plain)) != Role::none) return heading;  // "fp mode", "phase"
  if (is_replicate(plain)) {
    heading.role = Role::replicate;
    return heading;
  }
  // Precision words, in the order they stand, make way.
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const VariantWord& each : kVariants) {
    for (std::size_t at = 0; (at = plain.find(each.word, at)) != std::string::npos;) {
      found.emplace_back(at, each.variant);
      plain.replace(at, each.word.size(), std::string(each.word.size(), ' '));
    }
  }
  std::sort(found.begin(), found.end());
  for (const auto& [at, variant] : found) {
    if (std::find(heading.variants.begin(), heading.variants.end(), variant) ==
        heading.variants.end()) {
      heading.variants.emplace_back(variant);
    }
  }
  // Parentheses hold a unit, or nothing more once the precisions are gone.
  for (std::size_t open; (open = plain.find_first_of("([")) != std::string::npos;) {
    const std::size_t close = std::min(plain.find_first_of(")]", open), plain.size());
    heading.unit = without_connectors(plain.substr(open + 1, close - open - 1));
    plain.erase(open, close - open + 1);
  }
  const std::string words = without_connectors(plain);
  heading.role = role_of_words(words);
  // "TF32 (sequences/sec)": the unit shows what it is.
  if (heading.role == Role::none) heading.role = role_of_words(trim(words + " " + heading.unit));
  if (words.ends_with('%')) {
    heading.role = role_of_words(trim(std::string_view(words).substr(0, words.size() - 1)));
    heading.unit = "%";
  }
  if (heading.role == Role::speedup && heading.variants.size() >= 2) {
    heading.role = Role::precision_speedup;
  }
  return heading;
}

}  // namespace bertbench::audit
