#include <algorithm>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/described/printed_value.h"
#include "parsers/generic/line_shapes.h"
#include "parsers/generic/loop_words.h"
#include "parsers/lines/spelled_duration.h"

namespace bertbench {
namespace {

constexpr std::string_view kPaddings = " \t";

struct Cell {
  std::size_t begin = 0;
  std::string_view text;  ///< without blanks around it
};

Cell trimmed(std::string_view line, std::size_t begin, std::size_t end) {
  while (begin < end && kPaddings.find(line[begin]) != std::string_view::npos) ++begin;
  return {begin, trim(line.substr(begin, end - begin))};
}

/// The end of the list that begins at `at`, "[1.2e-01, 3.4e-01]"; `at` where none does.
std::size_t list_end(std::string_view line, std::size_t at) {
  if (line[at] != '[') return at;
  const std::size_t close = line.find_first_of("[]", at + 1);
  return close != std::string_view::npos && line[close] == ']' ? close + 1 : at;
}

/// Blanks part cells where there is no mark: those of at least `width`.
std::vector<Cell> cells_of(std::string_view line, char mark, std::size_t width) {
  std::vector<Cell> out;
  if (mark == ' ') {
    for (std::size_t at = line.find_first_not_of(kPaddings); at < line.size();) {
      // The blanks of a list part no cells.
      std::size_t end = list_end(line, at), next = end;
      while (next - end < width && end < line.size()) {
        end = std::min(line.find_first_of(kPaddings, next), line.size());
        next = std::min(line.find_first_not_of(kPaddings, end), line.size());
        if (next == line.size()) break;
      }
      out.push_back({at, line.substr(at, end - at)});
      at = next;
    }
    return out;
  }
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(mark, at), line.size());
    out.push_back(trimmed(line, at, end));
    at = end + 1;
  }
  // "| 1 | 0.5 |": the marks at the ends part nothing.
  if (mark == '|' && !out.empty() && out.front().text.empty()) out.erase(out.begin());
  if (mark == '|' && !out.empty() && out.back().text.empty()) out.pop_back();
  return out;
}

/// "#" heads the steps of spaCy's table, next to "LOSS TAGGER".
std::string_view spelled_out(std::string_view name) {
  return name == "#" ? "step" : lower(name) == "timestamp" ? "time" : name;
}

bool is_name(std::string_view text) {
  if (text == "#") return true;
  constexpr std::size_t kLongest = 32;                  // bytes: a name and no sentence
  constexpr std::string_view kMarks = "_-/.()@%#[]| ";  // also of "mean|TD|"
  return !text.empty() && text.size() <= kLongest && std::ranges::any_of(text, is_letter) &&
         std::ranges::count(text, ' ') < 3 && std::ranges::all_of(text, [&](char c) {
           return is_letter(c) || is_digit(c) || kMarks.find(c) != std::string_view::npos;
         });
}

/// "time (s)", "step_time_ms"; skorch's "dur" is in seconds.
bool names_unit(std::string_view name) {
  const auto is_unit = [](const std::string& word) { return seconds_of_unit(word).has_value(); };
  return name == "dur" || std::ranges::any_of(words_of(name), is_unit);
}

/// What a cell says under a name, as if the two stood on one line.
std::optional<LineNumber> number_under(std::string_view name, const Cell& cell) {
  const std::string front = std::string(spelled_out(name)) + ": ";
  auto numbers = numbers_of(front + std::string(cell.text));
  if (numbers.size() != 1 || numbers[0].value_begin != front.size()) return std::nullopt;
  LineNumber out = numbers[0];
  out.move(static_cast<std::ptrdiff_t>(cell.begin) - std::ssize(front));
  out.begin = out.value_begin;
  const bool timed = out.meaning == Meaning::duration || out.meaning == Meaning::per_iteration;
  const bool unit = names_unit(name) || cell.text.find(':') != std::string_view::npos ||
                    std::ranges::any_of(cell.text, is_letter);
  out.no_unit = timed && !unit;
  return out;
}

bool is_counter(Meaning meaning) {
  return meaning == Meaning::epoch || meaning == Meaning::counter;
}

/// In a table its size.
bool is_batch(std::string_view name) {
  const std::string word = lower(name);
  return word == "batch" || word == "batches";
}

/// "0.55    s": a unit apart from its number belongs to it.
void join_units(std::string_view line, std::vector<Cell>& cells) {
  for (std::size_t i = 1; i < cells.size();) {
    Cell& before = cells[i - 1];
    if (!is_digit(before.text.back()) || !seconds_of_unit(cells[i].text)) {
      ++i;
      continue;
    }
    before.text = line.substr(before.begin, cells[i].begin + cells[i].text.size() - before.begin);
    cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// One cell for each column, empty ones too, where each of `cells` stands below the dashes of one
/// and of no other; else they are left as they are.
bool put_in_places(const TableHead& head, std::vector<Cell>& cells) {
  std::vector<Cell> out(head.places.size());
  for (const Cell& cell : cells) {
    const auto below = [&](const auto& one) {
      return cell.begin < one.second && cell.begin + cell.text.size() > one.first;
    };
    const auto place = std::ranges::find_if(head.places, below);
    if (place == head.places.end() || std::any_of(place + 1, head.places.end(), below)) {
      return false;
    }
    Cell& of_place = out[static_cast<std::size_t>(place - head.places.begin())];
    if (!of_place.text.empty()) return false;
    of_place = cell;
  }
  if (out.empty() || out.front().text.empty()) return false;
  cells = std::move(out);
  return true;
}

/// "1   0.0857   0.0726   *": the star of the best row so far is under no name.
void leave_out_star(const TableHead& head, std::vector<Cell>& cells) {
  const bool star = cells.size() == head.names.size() + 1 &&
                    cells.back().text.find_first_not_of("*+") == std::string_view::npos;
  if (star && head.mark == ' ') cells.pop_back();
}

/// "1   0.085720   0.072679   (00:18)": the last cell is a time under no name. The head gets one
/// for it, and the cell loses its brackets.
void take_bracketed_time(TableHead& head, std::vector<Cell>& cells) {
  if (cells.empty() || head.mark != ' ') return;
  Cell& last = cells.back();
  const std::string_view text = last.text;
  if (text.size() < 3 || !text.starts_with('(') || !text.ends_with(')')) return;
  if (!head.ends_in_brackets && cells.size() != head.names.size() + 1) return;
  if (!is_digit(text[1])) return;
  if (!std::exchange(head.ends_in_brackets, true)) head.names.emplace_back("time");
  last = {last.begin + 1, text.substr(1, text.size() - 2)};
}

std::optional<TableHead> head_by(std::string_view line, char mark, std::size_t width) {
  constexpr std::size_t kMostColumnsOfATable = 24;
  if (!may_head_table(line)) return std::nullopt;
  const auto cells = cells_of(line, mark, width);
  if (cells.size() < 2 || cells.size() > kMostColumnsOfATable) return std::nullopt;
  if (!std::ranges::all_of(cells, is_name, &Cell::text)) return std::nullopt;
  const bool counts = std::ranges::any_of(cells, [](const Cell& cell) {
    const auto number = number_under(cell.text, {0, "3"});
    return number && is_counter(number->meaning) && !is_batch(cell.text);
  });
  const bool amounts = !counts && std::ranges::none_of(line, is_digit) &&
                       std::ranges::any_of(cells, [](const Cell& cell) {
                         const auto number = number_under(cell.text, {0, "3"});
                         return number && number->meaning == Meaning::amount;
                       });
  const bool learns = std::ranges::any_of(
      cells, [](std::string_view text) { return names_training(text); }, &Cell::text);
  const bool numbered =
      std::ranges::any_of(cells, [](const Cell& cell) { return cell.text == "#"; });
  // "#" also numbers the parts of a model.
  if (!(counts || (amounts && learns)) || (numbered && !learns)) return std::nullopt;
  TableHead out;
  out.mark = mark;
  out.amounts = amounts;
  for (const Cell& cell : cells) out.names.emplace_back(cell.text);
  const Cell& last = cells.back();
  out.text = line.substr(cells[0].begin, last.begin + last.text.size() - cells[0].begin);
  // The marks of a drawn box are "|" and two blanks here, and something else in the log.
  out.varies = mark == '|' && out.text.find("|  ") != std::string::npos;
  return out;
}

}  // namespace

std::optional<TableHead> table_head(std::string_view line) {
  constexpr std::size_t kLongest = 400;  // bytes
  const auto holds = [&](char mark) { return line.find(mark) != std::string_view::npos; };
  if (line.size() > kLongest || holds(':') || holds('=')) return std::nullopt;
  for (const char mark : {'|', '\t', ';', ','}) {
    if (!holds(mark)) continue;
    if (auto head = head_by(line, mark, 1)) return head;
  }
  const auto text = trim(line);
  return head_by(line, ' ', text.find("  ") != std::string_view::npos ? 2 : 1);
}

bool is_rule_of_table(std::string_view line) {
  return std::ranges::none_of(line, [](char c) { return is_letter(c) || is_digit(c); });
}

void take_places(TableHead& head, std::string_view rule) {
  if (head.mark != ' ' || rule.find_first_not_of("- ") != std::string_view::npos) return;
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const Cell& cell : cells_of(rule, ' ', 1)) {
    places.emplace_back(cell.begin, cell.begin + cell.text.size());
  }
  if (places.size() == head.names.size()) head.places = std::move(places);
}

bool join_second_row(TableHead& head, std::string_view line) {
  if (head.mark == ' ' || std::ranges::any_of(line, is_digit)) return false;
  const auto cells = cells_of(line, head.mark, 1);
  if (cells.size() != head.names.size()) return false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (is_name(cells[i].text)) head.names[i] += ' ' + std::string(cells[i].text);
  }
  return true;
}

std::vector<LineNumber> row_numbers(TableHead& head, std::string_view line) {
  auto cells = cells_of(line, head.mark, 1);
  if (head.mark == ' ') join_units(line, cells);
  leave_out_star(head, cells);
  const bool placed = put_in_places(head, cells);
  take_bracketed_time(head, cells);
  if (cells.size() != head.names.size()) return {};
  std::vector<LineNumber> out;
  bool counts = false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].text.empty()) continue;
    auto number = number_under(head.names[i], cells[i]);
    if (!number || number->meaning == Meaning::other) continue;
    const bool amount = number->meaning == Meaning::amount;
    if (amount && !head.amounts) continue;
    number->column = static_cast<int>(i);
    counts = counts || amount || is_counter(number->meaning);
    out.push_back(*number);
  }
  for (std::size_t i = 0; placed && counts && i < cells.size(); ++i) {
    head.blank.resize(cells.size());
    head.blank[i] = head.blank[i] || cells[i].text.empty();
  }
  return counts ? std::move(out) : std::vector<LineNumber>();
}

std::string row_pattern(const TableHead& head, const std::vector<std::string>& groups) {
  const bool blanks = head.mark == ' ';
  const std::string mark = head.mark == '|'    ? "\\|"
                           : head.mark == '\t' ? "\\t"
                                               : std::string(1, head.mark);
  const std::string rest = blanks ? "\\S*(?: +[a-zA-Z]+)?" : "[^" + mark + "]*";
  const std::string any = head.lists ? "(?:\\[[^\\]]*\\]|\\S+)" : "\\S+";
  std::string out = head.mark == '|' ? "^ *\\|?" : "^ *";
  for (std::size_t i = 0; i < head.names.size(); ++i) {
    const bool may_lack = i > 0 && i < head.blank.size() && head.blank[i];
    if (may_lack) out += "(?:";
    if (i > 0) out += blanks ? "[ \\t]+" : mark;
    if (head.ends_in_brackets && i + 1 == head.names.size()) out += "\\(";
    if (!groups[i].empty()) {
      out += (blanks ? "" : " *") + groups[i] + rest;
    } else {
      out += blanks ? any + rest.substr(3) : rest;
    }
    if (may_lack) out += ")?";
  }
  return out + (head.mark == '|' ? "\\|? *$" : blanks ? "[ \\t]*[*+]*[ \\t]*$" : "[ \\t]*$");
}

}  // namespace bertbench
