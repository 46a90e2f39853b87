// How a heading is read: precision words and units make way, what is left names the role.
#include "reports/studies/audit/columns.h"

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
  std::string out;
  for (std::size_t at = 0; at < text.size() && at < 400; ++at) {
    char c = static_cast<char>(std::tolower(static_cast<unsigned char>(text[at])));
    if (c == '*' || c == '`' || c == '$' || c == '\\') continue;
    if (c == '_' || c == '-' || std::isspace(static_cast<unsigned char>(c))) c = ' ';
    if (c == ' ' && (out.empty() || out.back() == ' ' || out.back() == '/')) continue;
    if (c == '/' && !out.empty() && out.back() == ' ') out.pop_back();
    out += c;
  }
  return std::string(trim(out));
}

bool is_connector(std::string_view word) {
  for (const std::string_view each : {"and", "to", "vs", "vs.", "over", "&", "/", ",", ":"}) {
    if (word == each) return true;
  }
  return word.empty();
}

// The words that joined two precisions are left at the ends once those are gone; inside they
// belong to the name ("time to train").
std::string without_connectors(std::string_view text) {
  std::vector<std::string_view> words = split(text, ' ');
  while (!words.empty() && is_connector(words.back())) words.pop_back();
  std::size_t first = 0;
  while (first < words.size() && is_connector(words[first])) ++first;
  std::string out;
  for (std::size_t n = first; n < words.size(); ++n) {
    if (words[n].empty()) continue;
    if (!out.empty()) out += ' ';
    out += words[n];
  }
  while (!out.empty() && (out.back() == '/' || out.back() == ',' || out.back() == ':')) {
    out.pop_back();
  }
  return std::string(trim(out));
}

constexpr std::string_view kReplicates[] = {"seed", "run", "trial", "repeat", "replicate"};

// "seed 3", "run#2", "trial 10": one of several measurements of the same thing.
bool is_replicate(std::string_view text) {
  for (const std::string_view word : kReplicates) {
    if (text.substr(0, word.size()) != word) continue;
    std::string_view rest = trim(text.substr(word.size()));
    if (!rest.empty() && rest.front() == '#') rest = trim(rest.substr(1));
    return to_int(rest).has_value();
  }
  return false;
}

}  // namespace

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
  constexpr std::size_t kLongestWord = 48;  // bytes, with emphasis and a unit in parentheses
  if (word.size() > kLongestWord) return false;
  const std::string plain = normal(word);
  std::string_view first = std::string_view(plain).substr(0, plain.find_first_of(" ([,:"));
  if (known.contains(first)) return true;
  while (!first.empty() && is_digit(first.back())) first.remove_suffix(1);  // "seed0", "run#2"
  while (!first.empty() && first.back() == '#') first.remove_suffix(1);
  return known.contains(first);
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
    const std::size_t close = plain.find_first_of(")]", open);
    const std::string inside =
        plain.substr(open + 1, close == std::string::npos ? close : close - open - 1);
    const std::string unit = without_connectors(inside);
    if (!unit.empty()) heading.unit = unit;
    plain.erase(open, close == std::string::npos ? close : close - open + 1);
  }
  const std::string words = normal(without_connectors(plain));
  heading.role = role_of_words(words);
  if (heading.role == Role::none && !heading.unit.empty()) {
    // "TF32 (sequences/sec)": the unit shows what it is.
    if (words.empty()) heading.role = role_of_words(heading.unit);
    if (heading.role == Role::none) heading.role = role_of_words(words + " " + heading.unit);
  }
  if (heading.role == Role::none && !words.empty() && words.back() == '%') {
    heading.role = role_of_words(trim(std::string_view(words).substr(0, words.size() - 1)));
    heading.unit = "%";
  }
  if (heading.role == Role::speedup && heading.variants.size() >= 2) {
    heading.role = Role::precision_speedup;
  }
  if (heading.role == Role::time_speedup && heading.variants.empty()) heading.role = Role::speedup;
  return heading;
}

}  // namespace bertbench::audit
