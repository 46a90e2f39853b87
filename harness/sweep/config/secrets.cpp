#include "harness/sweep/config/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <optional>
#include <utility>

#include "harness/sweep/config/config.h"
#include "harness/sweep/config/placeholders.h"
#include "parsers/core/config_reader.h"
#include "parsers/core/sha256.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr std::string_view kOpen = "<secret:";

bool is_marker(std::string_view text) {
  return text.starts_with(kOpen) && text.find('>') == text.size() - 1;
}

bool is_plain_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// A text with its escapes of JSON undone, and where each of its bytes begins in the text, with
/// the text's end at last.
struct Unescaped {
  std::string text;
  std::vector<std::size_t> begins;
};

/// The code unit of "XXXX" in "\uXXXX" at this place.
std::optional<char32_t> escaped_unit(std::string_view text, std::size_t at) {
  constexpr std::size_t kLength = 6;
  unsigned unit = 0;
  const auto digits = text.substr(std::min(at, text.size()), kLength);
  if (digits.size() < kLength || !digits.starts_with("\\u")) return std::nullopt;
  const auto [end, error] = std::from_chars(digits.data() + 2, digits.data() + kLength, unit, 16);
  if (error != std::errc() || end != digits.data() + kLength) return std::nullopt;
  return unit;
}

Unescaped unescaped(std::string_view text) {
  constexpr std::string_view kEscapes = "nrtbf\"\\/";
  constexpr std::string_view kMeanings = "\n\r\t\b\f\"\\/";
  Unescaped out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 1;
    const auto escape = text[at] == '\\' && at + 1 < text.size() ? kEscapes.find(text[at + 1])
                                                                 : std::string_view::npos;
    if (auto unit = escaped_unit(text, at)) {
      length = 6;
      const auto low =
          *unit >= 0xd800 && *unit < 0xdc00 ? escaped_unit(text, at + 6) : std::nullopt;
      if (low && *low >= 0xdc00 && *low < 0xe000) {
        unit = 0x10000 + ((*unit - 0xd800) << 10) + (*low - 0xdc00);
        length = 12;
      }
      append_utf8(out.text, *unit);
    } else if (escape != std::string_view::npos) {
      length = 2;
      out.text += kMeanings[escape];
    } else {
      out.text += text[at];
    }
    out.begins.resize(out.text.size(), at);
    at += length;
  }
  out.begins.push_back(text.size());
  return out;
}

/// Replaces a piece wherever the text has it, as it is or with escapes of JSON; `alone`: where no
/// letter or digit stands next to it.
void replace_forms(std::string& text, std::string_view piece, std::string_view marker, bool alone) {
  const auto is_plain = [&](std::size_t at) { return at < text.size() && is_plain_char(text[at]); };
  const auto replace = [&](std::size_t from, std::size_t to) {
    const bool wanted = !alone || ((from == 0 || !is_plain(from - 1)) && !is_plain(to));
    if (wanted) text.replace(from, to - from, marker);
    return wanted;
  };
  for (auto at = text.find(piece); at != text.npos;) {
    at = text.find(piece, at + (replace(at, at + piece.size()) ? marker.size() : 1));
  }
  if (text.find('\\') == text.npos) return;
  const auto plain = unescaped(text);
  // From the back, so that the places before stay what they are.
  for (auto at = plain.text.rfind(piece); at != plain.text.npos;) {
    replace(plain.begins[at], plain.begins[at + piece.size()]);
    if (at < piece.size()) break;
    at = plain.text.rfind(piece, at - piece.size());
  }
}

/// What an escaped string of JSON is between its quotes.
std::string inside_quotes(const std::string& text) {
  const auto quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

/// Markers in place of the values in the texts of one configuration.
class Concealer {
 public:
  Concealer(Secrets& secrets, const std::vector<std::string>& further)
      : secrets_(secrets), further_(further) {}

  void variables(std::map<std::string, std::string>& all) {
    for (auto& [name, value] : all) {
      if (is_secret(name)) value = secrets_.conceal(name, value);
    }
  }

  /// `filled`: words in which braces are placeholders.
  void words(std::vector<std::string>& all, bool filled) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto& word = all[i];
      const bool option = word.starts_with('-') && word.find_first_of("= ") == word.npos;
      if (option && is_secret(word) && i + 1 < all.size() && !may_be_flag(word, all[i + 1])) {
        ++i;
        all[i] = marker(word, all[i], filled);
      } else {
        word = assignments(word, "=", filled);
      }
    }
  }

  void file(FileText& file) {
    if (!file.json) {
      file.text = assignments(file.text, "=:", true);
      return;
    }
    auto json = Json::parse(file.text);
    members(json);
    file.text = json.dump();
  }

 private:
  [[nodiscard]] bool is_secret(std::string_view name) const {
    return is_secret_name(name, further_);
  }

  /// Whether what follows an option is another one. A password may begin with '-'; an option such
  /// as
  /// --use-auth-token may be a flag.
  static bool may_be_flag(std::string_view option, std::string_view next) {
    const bool of_token = option.ends_with("token") || option.ends_with("TOKEN");
    return next.starts_with("--") || (of_token && next.starts_with('-'));
  }

  /// A value that a placeholder makes is no secret of the configuration.
  std::string marker(std::string_view name, const std::string& value, bool filled) {
    if (!filled) return secrets_.conceal(name, value);
    if (!placeholders_in(value).empty()) return value;
    std::string plain = value;
    replace_all(plain, "{{", "{");
    replace_all(plain, "}}", "}");
    return secrets_.conceal(name, plain);
  }

  void members(Json& json) {
    if (!json.is_structured()) return;
    for (auto it = json.begin(); it != json.end(); ++it) {
      if (json.is_object() && it->is_string() && is_secret(it.key())) {
        *it = marker(it.key(), it->get<std::string>(), true);
      } else if (json.is_object() && it->is_number() && is_secret(it.key())) {
        *it = secrets_.conceal_number(it.key(), it->dump());
      } else {
        members(*it);
      }
    }
  }

  /// Conceals what follows a secret's name and a separator. A name at the beginning of a word or a
  /// line has all the rest as its value; further on (`sh -c 'export HF_TOKEN=x; ...'`) the value
  /// ends at a blank, a semicolon or its closing quote. In a list or in quotes (`{token: x,
  /// "token": x}`, `environ["TOKEN"] = x`) blanks may stand around the separator.
  std::string assignments(const std::string& text, std::string_view separators, bool filled) {
    std::string out;
    std::size_t done = 0;
    for (auto at = text.find_first_of(separators); at != text.npos;
         at = text.find_first_of(separators, std::max(at + 1, done))) {
      auto name_end = at;
      while (name_end > done && std::string_view(" \t]\"'").find(text[name_end - 1]) != text.npos) {
        --name_end;
      }
      const bool quoted = text.find_first_of("\"'", name_end) < at;
      auto begin = name_end;
      while (begin > done && is_plain_char(text[begin - 1])) --begin;
      const auto name = text.substr(begin, name_end - begin);
      if (name.empty() || !is_secret(name)) continue;
      const auto line = text.find_last_of('\n', begin);
      const auto first = begin == 0 || line == text.npos ? 0 : line + 1;
      const bool leads = text.find_first_not_of(" \t+", first) == begin;
      const auto before = begin == first ? text.npos : text.find_last_not_of(" \t", begin - 1);
      const bool listed = before != text.npos && before >= first &&
                          std::string_view("{,[-").find(text[before]) != text.npos;
      auto value = text.find_first_not_of(" \t", at + 1);
      // In a command of a shell no blank stands next to the equals sign.
      const bool blanks_allowed = leads || listed || quoted;
      if (value == text.npos || (!blanks_allowed && (value != at + 1 || name_end != at))) continue;
      auto end = text.find('\n', value);
      const char quote = text[value];
      if (quote == '"' || quote == '\'') {
        end = text.find(quote, ++value);
        while (end != text.npos && text[end - 1] == '\\') end = text.find(quote, end + 1);
      } else if (listed || quoted) {
        end = text.find_first_of("\n,}]", value);
      } else if (!leads) {
        end = text.find_first_of(" \t\n;&|\"'", value);
      }
      end = std::min(end, text.size());
      if (end == value) continue;
      out +=
          text.substr(done, value - done) + marker(name, text.substr(value, end - value), filled);
      done = end;
    }
    return out + text.substr(done);
  }

  Secrets& secrets_;
  const std::vector<std::string>& further_;
};

}  // namespace

std::string Secrets::conceal(std::string_view name, const std::string& value) {
  if (is_marker(value)) {
    values_.emplace(value, value);
    return value;
  }
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string plain;  // of the member of a file, which may have any name
  for (const char c : name) plain += is_plain_char(c) ? c : '_';
  for (int number = 1;; ++number) {
    auto marker = number == 1 ? fmt::format("{}{}>", kOpen, plain)
                              : fmt::format("{}{}:{}>", kOpen, plain, number);
    if (values_.try_emplace(marker, value).first->second == value) return marker;
  }
}

std::string Secrets::conceal_number(std::string_view name, const std::string& value) {
  auto marker = conceal(name, value);
  numbers_.insert(marker);
  return marker;
}

std::string Secrets::reveal(std::string text) const {
  for (const auto& [marker, value] : values_) {
    if (marker != value) replace_all(text, marker, value);
  }
  return text;
}

std::string Secrets::reveal_json(std::string text) const {
  for (const auto& [marker, value] : values_) {
    if (marker == value) continue;
    if (numbers_.contains(marker)) replace_all(text, '"' + marker + '"', value);
    replace_all(text, marker, inside_quotes(value));
  }
  return text;
}

ProcessSpec Secrets::reveal(ProcessSpec spec) const {
  for (auto& word : spec.argv) word = reveal(std::move(word));
  for (auto& word : spec.input) word = reveal(std::move(word));
  for (auto& [name, value] : spec.set) value = reveal(std::move(value));
  return spec;
}

std::string Secrets::conceal_values(std::string text) const {
  return conceal_forms(std::move(text), false);
}

std::string Secrets::conceal_word(std::string word) const {
  return conceal_forms(std::move(word), true);
}

std::string Secrets::conceal_forms(std::string text, bool short_ones) const {
  constexpr std::size_t kShortestFound = 6;  // bytes
  // The longest come first, as one value may begin with another.
  std::vector<std::pair<std::string, std::string_view>> pieces;
  for (const auto& [marker, value] : values_) {
    if (marker == value || value.empty()) continue;
    std::string braces = value;
    replace_all(braces, "{", "{{");
    replace_all(braces, "}", "}}");
    for (const auto& form : {value, braces}) pieces.emplace_back(form, marker);
    // What is quoted of a log is one line: each line of a value is looked for.
    for (const auto line : split(value, '\n')) {
      if (line.size() >= kShortestFound) pieces.emplace_back(line, marker);
    }
  }
  std::ranges::stable_sort(pieces, std::greater<>(),
                           [](const auto& one) { return one.first.size(); });
  for (const auto& [piece, marker] : pieces) {
    const bool is_short = piece.size() < kShortestFound;
    if (!is_short || short_ones) replace_forms(text, piece, marker, is_short);
  }
  return text;
}

bool Secrets::held_by(std::string_view text) const {
  return text.find(kOpen) != text.npos && std::ranges::any_of(values_, [&](const auto& one) {
           return text.find(one.first) != text.npos;
         });
}

std::string Secrets::digests_of(std::string_view text, std::string_view salt) const {
  std::string out;
  for (const auto& [marker, value] : values_) {
    if (text.find(marker) == text.npos) continue;
    out += fmt::format("\n{} {}", marker, sha256(fmt::format("{}:{}", salt, value)));
  }
  return out;
}

std::vector<std::string> Secrets::missing() const {
  std::vector<std::string> out;
  for (const auto& [marker, value] : values_) {
    if (marker == value) out.push_back(marker);
  }
  return out;
}

bool is_secret_name(std::string_view name, const std::vector<std::string>& further) {
  constexpr std::string_view kWords[] = {"SECRET", "PASSWORD",  "PASSWD",     "PASSPHRASE",
                                         "APIKEY", "ACCESSKEY", "PRIVATEKEY", "CREDENTIALS"};
  // Of a tokenizer, as in --mask-token; an access token is the last word of its name.
  constexpr std::string_view kOfText[] = {"PAD", "MASK", "EOS", "BOS",     "UNK",
                                          "CLS", "SEP",  "END", "SPECIAL", "PER"};
  const auto bare = name.substr(std::min(name.find_first_not_of("-+"), name.size()));
  for (const std::string_view other : further) {
    if (bare == other.substr(std::min(other.find_first_not_of('-'), other.size()))) return true;
  }
  std::string before, word;
  for (std::size_t i = 0; i <= bare.size(); ++i) {
    const char c = i < bare.size() ? bare[i] : '_';
    if (c != '_' && c != '-' && c != '.') {
      word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      continue;
    }
    const std::string pair = before + word;  // API_KEY, ACCESS_KEY
    if (std::ranges::any_of(kWords, [&](auto w) { return w == word || w == pair; })) return true;
    if (word == "TOKEN" && i == bare.size() &&
        std::ranges::find(kOfText, before) == std::end(kOfText)) {
      return true;
    }
    before = std::exchange(word, {});
  }
  return false;
}

void conceal_secrets(SweepConfig& config) {
  Concealer concealer(config.secrets, config.secret);
  concealer.variables(config.env);
  concealer.words(config.args, false);
  for (auto& variant : config.variants) {
    concealer.variables(variant.env);
    concealer.words(variant.args, false);
  }
  auto& hooks = config.hooks;
  concealer.words(hooks.setup, false);
  concealer.words(hooks.cleanup, false);
  concealer.words(hooks.trial_setup, true);
  concealer.words(hooks.trial_cleanup, true);
  if (!config.command) return;
  concealer.words(config.command->launch.front().words, true);
  for (auto& [name, file] : config.command->files) concealer.file(file);
}

}  // namespace bertbench
