#include "parsers/lines/decoration.h"

#include <algorithm>

#include "parsers/core/text.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kLongestName = 64;

bool is_name(char c) { return is_name_char(c) || c == '.' || c == '-'; }

/// Bytes at the front of `text` that look like `shape`: '0' is a digit, all else itself.
bool has_shape(std::string_view text, std::string_view shape) {
  if (text.size() < shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == '0' ? !is_digit(text[i]) : text[i] != shape[i]) return false;
  }
  return true;
}

std::size_t names_at(std::string_view text, std::size_t at) {
  std::size_t n = 0;
  while (at + n < text.size() && n < kLongestName && is_name(text[at + n])) ++n;
  return n;
}

std::size_t blanks_at(std::string_view text, std::size_t at) {
  std::size_t n = 0;
  while (at + n < text.size() && text[at + n] == ' ') ++n;
  return n;
}

/// Length of a date with its time, or of a time of day, and of the zone after it; 0 if `text`
/// begins with neither.
std::size_t stamp_length(std::string_view text) {
  auto stamp = any_stamp_or_time(text);
  if (!stamp) stamp = any_stamp_or_time(text, true);
  if (!stamp) return 0;
  for (const std::string_view zone : {"Z", "+00:00", "-00:00", "+0000"}) {
    if (has_shape(text.substr(stamp->length), zone)) return stamp->length + zone.size();
  }
  return stamp->length;
}

/// After what parts a decoration from the text: one blank, " - ", " | ", ": ". Further blanks are
/// the text's own, as it may be a line of a traceback. Null if nothing parts them.
std::string_view after_separator(std::string_view text) {
  std::string_view rest = text;
  rest.remove_prefix(blanks_at(rest, 0));
  for (const std::string_view sign : {"- ", "| ", ": "}) {
    if (rest.starts_with(sign)) return rest.substr(sign.size());
  }
  if (text.starts_with(' ')) return text.substr(1);
  if (text.starts_with('[')) return text;  // "[stamp][name][INFO] - "
  return {};
}

constexpr std::string_view kLevels[] = {"INFO",     "WARNING", "WARN", "ERROR", "DEBUG",
                                        "CRITICAL", "FATAL",   "info", "error", "warning"};

/// Length of a level at the front of `text`, as a whole word.
std::size_t level_length(std::string_view text) {
  for (const std::string_view level : kLevels) {
    if (text.starts_with(level) && (text.size() == level.size() || !is_name(text[level.size()]))) {
      return level.size();
    }
  }
  return 0;
}

// "2024-05-01T10:00:00.123Z " of docker, kubectl and GitHub, with "stdout F " of a container's
// file; "[2024-05-01T10:00:00.123Z] " of Jenkins.
std::string_view after_iso(std::string_view text) {
  const bool bracket = text.starts_with('[');
  const std::string_view stamp = text.substr(bracket ? 1 : 0);
  if (!has_shape(stamp, "0000-00-00T")) return {};
  const std::size_t length = stamp_length(stamp);
  if (length == 0) return {};
  std::string_view rest = stamp.substr(length);
  if (bracket && !rest.starts_with(']')) return {};
  if (bracket) rest.remove_prefix(1);
  if (rest.empty() || rest.front() != ' ') return {};
  rest.remove_prefix(1);
  for (const std::string_view stream : {"stdout F ", "stderr F ", "stdout P ", "stderr P "}) {
    if (rest.starts_with(stream)) return rest.substr(stream.size());
  }
  return rest;
}

// "(train pid=123) ", "(RayTrainWorker pid=123, ip=10.0.0.2) ".
std::string_view after_ray(std::string_view text) {
  const auto end = text.substr(0, 2 * kLongestName).find(") ");
  if (end == npos) return {};
  const auto pid = text.substr(0, end).find(" pid=");
  if (pid == npos || !has_shape(text.substr(pid + 5), "0")) return {};
  return text.substr(end + 2);
}

// "trainer-1  | " and "trainer_1  | " of docker compose; any name where a stamp of a container
// follows.
std::string_view after_compose(std::string_view text) {
  const std::size_t name = names_at(text, 0);
  const std::size_t blanks = blanks_at(text, name);
  if (name < 3 || blanks == 0 || !text.substr(name + blanks).starts_with("| ")) return {};
  const std::string_view rest = text.substr(name + blanks + 2);
  if (!after_iso(rest).empty()) return rest;
  if (is_digit(text[0])) return {};  // "2024-05-01 | "
  std::size_t digits = 0;
  while (digits < name && is_digit(text[name - 1 - digits])) ++digits;
  if (digits == 0 || digits + 1 >= name) return {};
  const char before = text[name - 1 - digits];
  return before == '-' || before == '_' ? rest : std::string_view{};
}

// "[pod/worker-0/pytorch] " of kubectl --prefix, "[127.0.0.1.10000::stdout] " of kungfu-run.
std::string_view after_pod(std::string_view text) {
  const auto end = text.substr(0, 3 * kLongestName).find("] ");
  if (end == npos) return {};
  const std::string_view label = text.substr(0, end);
  const bool pod = label.starts_with("[pod/");
  const bool kungfu = label.ends_with("::stdout") || label.ends_with("::stderr");
  return pod || kungfu ? text.substr(end + 2) : std::string_view{};
}

// "[2024-05-01 10:00:00,123] ", "[INFO] ", "[bert.trainer] ", "[worker-0 pytorch] ", "[05/01
// 10:00:00 d2.utils]: ".
std::string_view after_bracket(std::string_view text) {
  const auto end = text.substr(0, kLongestName).find(']');
  if (end == npos || end < 2) return {};
  std::string_view inside = text.substr(1, end - 1);
  inside.remove_prefix(blanks_at(inside, 0));
  const bool stamp = stamp_length(inside) > 0;
  const bool words = std::ranges::none_of(
      inside, [](char c) { return is_digit(c) || c == '=' || c == '[' || c == '"'; });
  const auto blank = inside.find(' ');
  const bool container = blank != npos && inside.substr(0, blank).find('-') != npos &&
                         blank + 1 + names_at(inside, blank + 1) == inside.size();
  if (!stamp && !words && !container) return {};
  return after_separator(text.substr(end + 1));
}

// "I0501 17:11:00.381370 140421 file.py:48] " of absl and glog.
std::string_view after_absl(std::string_view text) {
  if (text.size() < 15 || !has_shape(text.substr(1), "0000 00:00:00")) return {};
  const auto end = text.substr(0, 2 * kLongestName).find("] ");
  return end != npos ? text.substr(end + 2) : std::string_view{};
}

// "May  1 10:00:00 ", with the host and "process[123]: " of syslog after it.
std::string_view after_syslog(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const auto month = text.size() < 16 ? npos : kMonths.find(text.substr(0, 3));
  if (month == npos || month % 3 != 0) return {};
  if (!has_shape(text.substr(3), " 00 00:00:00 ") && !has_shape(text.substr(3), "  0 00:00:00 ")) {
    return {};
  }
  const std::string_view rest = text.substr(16);
  const std::size_t host = names_at(rest, 0);
  if (host == 0 || !rest.substr(host).starts_with(' ')) return rest;
  const std::size_t process = names_at(rest, host + 1);
  const std::size_t at = host + 1 + process;
  if (process == 0 || !rest.substr(at).starts_with('[')) return rest;
  const auto close = rest.find("]: ", at);
  return close != npos && close - at < 12 ? rest.substr(close + 3) : rest;
}

// "INFO:root:", "INFO - ", "INFO     | ", "trainer.py:42 - ", "__main__:train:42 - ", "root - ",
// "job\tstep\t" of `gh run view --log`.
std::string_view after_word(std::string_view text) {
  if (const std::size_t level = level_length(text); level > 0) {
    const std::string_view rest = text.substr(level);
    if (!rest.starts_with(':')) return after_separator(rest);
    const std::size_t name = names_at(rest, 1);
    if (name > 0 && rest.substr(1 + name).starts_with(':')) return rest.substr(name + 2);
    return after_separator(rest);
  }
  std::size_t at = names_at(text, 0);
  if (at == 0) return {};
  const std::size_t name = at;
  for (int part = 0; part < 2 && text.substr(at).starts_with(':'); ++part) {
    const std::size_t more = names_at(text, at + 1);
    if (more == 0) break;
    at += 1 + more;
  }
  std::string_view rest = text.substr(at);
  if (at > name && (rest.starts_with("] ") || rest.starts_with(": "))) return rest.substr(2);
  rest.remove_prefix(blanks_at(rest, 0));
  if (rest.size() < text.size() - at && rest.starts_with("- ")) return rest.substr(2);
  return {};
}

std::string_view after_tabs(std::string_view text) {
  const auto first = text.substr(0, kLongestName).find('\t');
  if (first == npos) return {};
  const auto second = text.substr(0, 3 * kLongestName).find('\t', first + 1);
  if (second == npos || after_iso(text.substr(second + 1)).empty()) return {};
  return text.substr(second + 1);
}

/// After "28.8s<TAB>16<TAB>", seconds and the number of the line, as Kaggle keeps a notebook's log.
std::string_view after_notebook_log(std::string_view text) {
  Cursor cursor(text, false);
  double seconds = 0;
  std::int64_t line = 0;
  if (!cursor.read(seconds, "s\t", line, "\t")) return {};
  return cursor.rest();
}

}  // namespace

std::string_view without_holes(std::string_view text, bool first_line) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  while (text.starts_with('\0')) text.remove_prefix(1);
  if (first_line && text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::string_view without_transport(std::string_view text, std::string_view* stamped) {
  constexpr std::string_view kKnitr = "## ";  // before each line of output in R's documents
  for (int round = 0; round < 2 && !text.empty(); ++round) {
    std::string_view rest;
    if (is_digit(text[0]) || text[0] == '[') {
      rest = after_iso(text);
      if (rest.empty()) rest = after_notebook_log(text);
      if (!rest.empty() && stamped != nullptr && stamped->empty()) *stamped = text;
      if (rest.empty()) rest = text[0] == '[' ? after_pod(text) : after_compose(text);
    } else if (text[0] == '(') {
      rest = after_ray(text);
    } else if (is_letter(text[0])) {
      rest = after_compose(text);
      if (rest.empty()) rest = after_tabs(text);
    } else if (text.starts_with(kKnitr)) {
      rest = text.substr(kKnitr.size());
    }
    if (rest.empty()) return text;
    text = rest;
  }
  return text;
}

std::string_view after_decoration(std::string_view text) {
  if (text.size() < 4) return {};
  if (const std::string_view rest = without_transport(text); rest.size() < text.size()) return rest;
  if (is_digit(text[0])) {
    const std::size_t stamp = stamp_length(text);
    return stamp > 0 ? after_separator(text.substr(stamp)) : after_tabs(text);
  }
  if (text[0] == '[') return after_bracket(text);
  if (text[0] == ' ') {
    // Four blanks are a line of code in a traceback.
    const std::size_t blanks = blanks_at(text, 0);
    return blanks < 4 && blanks < text.size() ? text.substr(blanks) : std::string_view{};
  }
  if (text[0] == '-' || text[0] == '|' || text[0] == '>') {
    return text[1] == ' ' ? text.substr(2) : std::string_view{};
  }
  for (const auto after : {after_absl, after_syslog, after_word, after_tabs}) {
    if (const std::string_view rest = after(text); !rest.empty()) return rest;
  }
  return {};
}

std::string_view without_front(std::string_view text) {
  for (int round = 0; round < 4 && text.size() >= 4; ++round) {
    const bool front = !is_letter(text[0]) || level_length(text) > 0 ||
                       without_transport(text).size() < text.size() || !after_absl(text).empty() ||
                       !after_syslog(text).empty();
    const std::string_view rest = front ? after_decoration(text) : std::string_view{};
    if (rest.empty()) return text;
    text = rest;
  }
  return text;
}

Layers::Layers(std::string_view text) {
  while (count_ < kLayerLimit) {
    text = after_decoration(text);
    if (text.empty()) return;
    texts_[count_++] = text;
  }
}

}  // namespace bertbench
