#include "parsers/generic/line_shapes.h"

#include <algorithm>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/described/printed_value.h"
#include "parsers/generic/loop_words.h"
#include "parsers/generic/stated_counts.h"
#include "parsers/lines/decoration.h"
#include "parsers/rules/mark_rules.h"
#include "parsers/scan/byte_search.h"

namespace bertbench {
namespace {

constexpr std::size_t kLongestLine = 2'000;  ///< bytes; what follows is not looked at
constexpr std::size_t kMostShapes = 256;

/// `text` with one blank for each run of blanks, none at its ends.
std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ' ' || c == '\t') {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else {
      out += c;
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

bool is_time_or_rate(const LineNumber& number) {
  return number.meaning == Meaning::rate || number.meaning == Meaning::per_iteration ||
         number.meaning == Meaning::duration;
}

std::string key_of(std::string_view line, const LineNumber& number, bool with_unit = true) {
  std::string out = squeezed(line.substr(number.begin, number.value_begin - number.begin));
  out += '#';
  if (!with_unit && is_time_or_rate(number)) return out + '\n';
  out += static_cast<char>('a' + static_cast<int>(number.meaning));
  if (number.own_unit) return out + "+\n";  // in whatever unit
  if (number.meaning == Meaning::clock) {
    // The layout of the stamp.
    for (std::size_t i = number.value_begin; i < number.value_end; ++i) {
      const char c = line[i];
      const char kind = c >= '0' && c <= '9' ? '0' : c;
      if (kind != '0' || out.back() != '0') out += kind;
    }
    return out;
  }
  const std::string_view value =
      line.substr(number.value_begin, number.value_end - number.value_begin);
  if (value.find(':') != std::string_view::npos) out += ':';
  if (number.has_total()) {
    out += squeezed(line.substr(number.value_end, number.total_begin - number.value_end)) + '#';
    out += squeezed(line.substr(number.total_end, number.end - number.total_end));
  } else {
    const std::size_t unit = number.value_end + number.gap;
    out += squeezed(line.substr(unit, number.end - unit));
  }
  return out + '\n';
}

bool any_counts(const std::vector<LineNumber>& numbers) {
  return std::ranges::any_of(numbers, &LineNumber::counts);
}

/// Lines with and without it are of one shape.
bool is_no_part_of_shape(Meaning meaning) {
  return meaning == Meaning::loss || meaning == Meaning::left || meaning == Meaning::mean;
}

bool any_is(const std::vector<LineNumber>& numbers, Meaning meaning) {
  return std::ranges::find(numbers, meaning, &LineNumber::meaning) != numbers.end();
}

/// Of tqdm with its rate, and not "[ 15.0%|###-----] step 1830/12200 ..." of a script, nor the
/// "[25/128]  20%|##   , loss=1.2 [00:03<00:09]" of ignite, which no named format reads.
bool is_bar(std::string_view line) {
  const auto at = line.find("%|");
  if (at == line.npos) return false;
  const auto bracket = line.find_last_of("[]", at);
  if (bracket != line.npos && line[bracket] == '[') return false;
  return line.find("/s", at) != line.npos || line.find("s/", at) != line.npos;
}

/// "2026-11-29 21:26:04.614826", as print(datetime.now()) writes it before or after a step.
bool is_stamp(std::string_view text, const std::vector<LineNumber>& numbers) {
  return numbers.size() == 1 && numbers[0].meaning == Meaning::clock &&
         trim(text.substr(0, numbers[0].begin)).empty() &&
         trim(text.substr(numbers[0].end)).empty();
}

/// "[0/166] 0%|   [00:00<?]": no step is done.
bool is_bar_at_0(const std::vector<LineNumber>& numbers) {
  return std::ranges::any_of(numbers, &LineNumber::of_bar) &&
         std::ranges::any_of(numbers, [](const LineNumber& number) {
           return number.meaning == Meaning::place && number.value == 0;
         });
}

/// "Generate: " before "step 10/60": another loop than that of "step 10/100". A label with digits
/// is that of a process.
std::string_view label_of_line(std::string_view front) {
  const auto end = std::ranges::find_if_not(front, is_letter);
  const std::string_view word(front.begin(), end);
  return !word.empty() && front.substr(word.size()) == ": " ? word : std::string_view{};
}

/// "Batch 0/100", "Batch 0/200" ... "Batch 1/100": the first number stands still while the second
/// grows, which no total of it does but by the two lengths that processes may have.
bool is_epoch_and_step(const LineShape& shape, std::size_t i) {
  constexpr int kRisesThatShow = 3;
  int rises = 0, most = 0;  // within an epoch
  const LineNumber* before = nullptr;
  for (const ShapeLine& line : shape.examples) {
    const LineNumber& now = line.at(i);
    if (!now.whole || !now.has_total()) return false;
    if (before) {
      const bool falls = now.total < before->total;
      if (now.value < before->value || falls != (now.value > before->value)) return false;
      rises = falls ? 0 : rises + (now.total > before->total ? 1 : 0);
      most = std::max(most, rises);
    }
    before = &now;
  }
  return most >= kRisesThatShow;
}

/// Makes two counters of each number that is an epoch and its step.
void part_epoch_and_step(LineShape& shape) {
  for (std::size_t i = 0; i < shape.examples.front().key.size(); ++i) {
    if (!is_epoch_and_step(shape, i)) continue;
    for (ShapeLine& line : shape.examples) {
      const std::size_t at = line.key[i];
      LineNumber& epoch = line.numbers[at];
      LineNumber step = epoch;
      step.meaning = Meaning::counter;
      step.value = epoch.total;
      step.begin = epoch.value_end;
      step.value_begin = epoch.total_begin;
      step.value_end = epoch.total_end;
      epoch.meaning = Meaning::epoch;
      epoch.end = epoch.value_end;
      for (LineNumber* number : {&epoch, &step}) {
        number->total = 0;
        number->total_begin = number->total_end = 0;
      }
      line.numbers.insert(line.numbers.begin() + static_cast<std::ptrdiff_t>(at) + 1, step);
      for (std::size_t& place : line.key) place += place > at ? 1 : 0;
      line.key.insert(line.key.begin() + static_cast<std::ptrdiff_t>(i) + 1, at + 1);
    }
  }
}

}  // namespace

std::vector<double> values_of(const LineShape& shape, std::size_t i) {
  std::vector<double> out;
  for (const ShapeLine& line : shape.examples) out.push_back(line.at(i).value * line.at(i).scale);
  return out;
}

bool LineShape::is_coarse(std::size_t place) const {
  constexpr double kCoarse = 0.1;  // half of the last digit, as a share
  return std::ranges::all_of(examples, [&](const ShapeLine& line) {
    std::string text(line.text_of(place));
    if (!line.at(place).whole) std::ranges::replace(text, ',', '.');  // "0,101"
    return last_digit(text) / 2 > kCoarse * line.at(place).value;
  });
}

std::optional<std::size_t> LineShape::place_of(Meaning meaning) const {
  const ShapeLine& first = examples.front();
  for (std::size_t i = 0; i < first.key.size(); ++i) {
    if (first.at(i).meaning == meaning) return i;
  }
  return std::nullopt;
}

void LineShapes::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (std::exchange(returned_, false)) {
      line(rest_, bytes[0] != '\n');
      rest_.clear();
    }
    const std::size_t end = find_line_break(bytes, 0);
    const std::string_view part = bytes.substr(0, end);
    if (rest_.size() < kLongestLine) rest_.append(part.substr(0, kLongestLine - rest_.size()));
    if (end == std::string_view::npos) return;
    if (bytes[end] == '\n') {
      line(rest_, false);
      rest_.clear();
      ++number_;
    } else {
      returned_ = true;
    }
    bytes.remove_prefix(end + 1);
  }
}

void LineShapes::finish() {
  // A last line without an end may be cut: it must not take from the others what they all have.
  constexpr std::size_t kLinesThatShow = 3;
  const bool enough = std::ranges::any_of(
      shapes_, [](const LineShape& shape) { return shape.examples.size() >= kLinesThatShow; });
  if (!enough) line(std::exchange(rest_, {}), false);
  for (LineShape& shape : shapes_) part_epoch_and_step(shape);
}

void LineShapes::line(std::string_view text, bool redrawn) {
  redrawn_ = redrawn;
  rank_ = -1;
  coloured_ = text.find('\x1b') == text.npos ? std::string_view{} : text;
  if (!of_training_) {
    // "Inference(pytorch) Perf", "latency p50 31.20 ms", "Top1 Acc: 0.76": an accuracy alone shows
    // no training there.
    infers_ = infers_ || lower(word_of_evaluation(text)) == "inference" ||
              find_text(lower(text), "latency") != text.npos;
    of_training_ = names_training(text, !infers_);
  }
  note_counts(text);
  if (is_bar(text)) return;  // tqdm's
  // They count, but are no records.
  if (find_text(text, RankTimeRules::kAnchor) != text.npos) return;
  // MLPerf and DLLogger count epochs of anything, games too: their formats know which train.
  if (find_text(text, ":::MLLOG {") != text.npos || find_text(text, "DLLL {") != text.npos) return;
  // Without a digit nothing is counted, but columns may be named.
  const bool counts = std::ranges::any_of(text, is_digit);
  if (counts && is_bare(text)) return piece(text);
  clean_line(text, ansi_, pieces_);
  for (const Piece& one : pieces_) {
    rank_ = one.rank;
    counts ? piece(one.text, one.whole) : void(row(one.text));
  }
}

void LineShapes::note_counts(std::string_view text) {
  constexpr std::int64_t kHead = 1'000;  // lines before which programs state their data
  if (number_ > kHead) return;
  const auto note = [](std::optional<double>& known, double count) {
    if (count > 0) known = known.value_or(count) == count ? count : 0;
  };
  if (text.find("rain") != text.npos) note(set_, training_set_of(text));
  note(epoch_steps_, epoch_steps_of(text));
  note(gpus_, gpus_of(text));
  // What the facts of a log may state in other words goes before that: of two nodes with four each.
  constexpr std::string_view kOthers[] = {"orld", "ORLD", "node", "Node", "nproc", "ntasks"};
  if (std::ranges::any_of(kOthers, [&](std::string_view word) {
        return text.find(word) != text.npos && std::ranges::any_of(text, is_digit);
      })) {
    gpus_ = 0;
  }
}

/// The head of a table, or a row of the newest one. Between rows lines may be of something else,
/// between a head and its first row none but redraws of a bar.
bool LineShapes::row(std::string_view text, std::string_view whole) {
  if (!head_ && !may_head_table(text)) return false;  // no row without a head, and no head
  ShapeLine found;
  found.text = std::string(without_front(text));
  if (is_rule_of_table(found.text)) {
    if (head_ && !has_rows_) take_places(*head_, text);
    return false;
  }
  if (head_ && !has_rows_ && join_second_row(*head_, text)) return false;
  const bool placed = head_ && !head_->places.empty();  // cells stand where they do on the line
  if (head_ && !placed) found.numbers = row_numbers(*head_, found.text);
  if (head_ && found.numbers.empty()) {
    // "| PPO_1 | RUNNING | 3 |" is a row, though its status looks like the level of a logger.
    found.numbers = row_numbers(*head_, text);
    if (!found.numbers.empty()) found.text = std::string(text);
  }
  if (found.numbers.empty()) {
    // "E    #   LOSS TAGGER": the name of the first column looks like a level.
    const bool one_letter = text.size() > 2 && is_letter(text[0]) && text.substr(1, 2) == "  ";
    auto other = table_head(one_letter ? text : std::string_view(found.text));
    if (other || (!has_rows_ && !redrawn_)) {
      head_ = std::move(other);
      has_rows_ = false;
    }
    return false;
  }
  has_rows_ = true;
  stamp_row(found, whole.empty() ? text : whole);
  std::string key = "\ntable";
  for (const std::string& name : head_->names) key += ' ' + name;
  bool learns = names_training(head_->text);
  for (std::size_t i = 0; i < found.numbers.size(); ++i) {
    const LineNumber& number = found.numbers[i];
    learns = learns || number.meaning == Meaning::loss;
    if (is_no_part_of_shape(number.meaning)) continue;
    found.key.push_back(i);
    key += '\n' + std::to_string(number.column) + key_of(found.text, number);
  }
  const bool lists = found.text.find('[') != std::string::npos;
  LineShape& shape = shape_of(std::move(key));
  shape.whole = !whole.empty() && found.text.size() > text.size();
  const bool had_lists = shape.head && shape.head->lists;
  const bool varies =
      head_->varies || (shape.head && (shape.head->varies || shape.head->text != head_->text));
  shape.head = head_;
  shape.head->lists = lists || had_lists;
  shape.head->varies = varies;
  add(shape, std::move(found), learns);
  return true;
}

/// The stamp that a logger put before a row, which `all` has, is its clock.
void LineShapes::stamp_row(ShapeLine& found, std::string_view all) const {
  if (!all.ends_with(found.text)) return;
  const std::size_t front = all.size() - found.text.size();
  auto before = numbers_of(all.substr(0, front), commas_);
  if (before.size() != 1 || before[0].meaning != Meaning::clock) return;
  for (LineNumber& number : found.numbers) number.move(static_cast<std::ptrdiff_t>(front));
  before[0].begin = before[0].value_begin;
  before[0].end = before[0].value_end;
  found.numbers.insert(found.numbers.begin(), before[0]);
  found.text = std::string(all);
}

void LineShapes::piece(std::string_view text, std::string_view whole) {
  if (row(text, whole)) return;
  bool left_out = false;
  auto numbers = numbers_of(text, commas_, &left_out);
  left_out_ = left_out_ || left_out;
  if (any_is(numbers, Meaning::clock)) {
    // One saved model may be the result of other work; one of a step or an epoch is none.
    constexpr int kSavesThatShow = 2;
    const bool saves = saves_model(text);
    if (saves) saves_ += may_name_counter(text) ? kSavesThatShow : 1;
    if ((saves && saves_ >= kSavesThatShow) || announces_training(text)) announced_ = number_;
  }
  bool of_whole = false;
  if (!whole.empty()) {
    auto more = numbers_of(whole, commas_);
    of_whole = (any_is(more, Meaning::clock) && !any_is(numbers, Meaning::clock)) ||
               (any_counts(more) && !any_counts(numbers));
    if (of_whole) {
      numbers = std::move(more);
      text = whole;
      rank_ = -1;  // what looked like its label is the trainer's own
    }
  }
  ShapeLine found;
  std::string key, plain_key;
  bool after_counter = false;
  std::size_t first_counter = text.size(), first_number = text.size(), after_rate = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const LineNumber& number = numbers[i];
    const Meaning meaning = number.meaning;
    if (number.counts() && first_counter == text.size()) {
      first_counter = number.begin;
      after_counter = evaluation_follows(text, number.end);
    } else if (meaning == Meaning::rate && first_counter == text.size()) {
      after_rate = number.end;  // "fps step and policy inference: 1370 fps total: 960 epoch: 3"
    }
    const bool other = meaning == Meaning::clock || meaning == Meaning::rank ||
                       meaning == Meaning::left || meaning == Meaning::mean;
    if (!other && first_number == text.size()) first_number = number.begin;
    if (is_no_part_of_shape(meaning)) continue;
    found.key.push_back(i);
    key += key_of(text, number);
    plain_key += key_of(text, number, false);
  }
  const bool any = first_number < text.size() || is_stamp(text, numbers);
  if (!any || is_bar_at_0(numbers)) return;
  // Only a training counts iterations of an epoch.
  of_training_ =
      of_training_ || (any_is(numbers, Meaning::epoch) && any_is(numbers, Meaning::counter));
  if (key.empty()) {  // losses alone
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      found.key.push_back(i);
      key += key_of(text, numbers[i]);
    }
  }
  if (first_counter == text.size()) first_counter = first_number;
  if (after_rate > first_counter) after_rate = 0;
  constexpr std::size_t kBytesThatName = 40;  // bytes before the counter that name what it counts
  const std::size_t near =
      std::max(after_rate, first_counter - std::min(first_counter, kBytesThatName));
  const bool evaluation = names_evaluation(text.substr(near, first_counter - near));
  if (evaluation) key += "evaluation";
  // "[EPOCH 3] Test Acc: 0.75" next to "[EPOCH 3] Train Loss: 0.2": what is left is alike.
  const bool counters_alone = std::ranges::none_of(numbers, [](const LineNumber& number) {
    return number.meaning != Meaning::clock && number.meaning != Meaning::rank && !number.counts();
  });
  const bool of_evaluation = after_counter || (counters_alone && names_evaluation(text));
  if (of_evaluation) key += "of evaluation";
  if (of_whole) key += "whole";
  const std::string_view label = label_of_line(text.substr(0, first_number));
  key += label;
  plain_key += label;
  LineShape& shape = shape_of(std::move(key));
  shape.whole = of_whole;
  if (!evaluation && !of_evaluation) shape.plain_key = std::move(plain_key);
  shape.evaluation = evaluation;
  shape.after_counter = after_counter;
  found.text = std::string(text);
  found.numbers = std::move(numbers);
  const bool learns = any_is(found.numbers, Meaning::loss) || names_training(text);
  add(shape, std::move(found), learns);
}

void LineShapes::add(LineShape& shape, ShapeLine found, bool learns) {
  ++shape.lines;
  shape.last_line = number_;
  shape.of_ranks = shape.of_ranks || (rank_ >= 0 && shape.rank >= 0 && rank_ != shape.rank);
  if (shape.examples.size() >= kExamples) return;
  // Processes that run apart count each for itself: how a counter goes on is shown by those of one.
  if (shape.examples.empty()) shape.rank = rank_;
  if (rank_ != shape.rank) return;
  if (learns) ++shape.learning;
  found.line = number_;
  found.coloured = coloured_;
  shape.examples.push_back(std::move(found));
  if (shape.examples.size() < kExamples) return;
  part_epoch_and_step(shape);
  filled_ = true;
}

LineShape& LineShapes::shape_of(std::string key) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) return *found->second;
  if (shapes_.size() >= kMostShapes) {
    // One that was met once makes room, so that a list of odd lines does not hide a loop. A row
    // stays: hundreds of redraws may stand before the next one.
    const auto rare = std::ranges::min_element(shapes_, {}, [](const LineShape& shape) {
      return std::pair(shape.head.has_value(), shape.lines);
    });
    by_key_.erase(rare->key);
    shapes_.erase(rare);
  }
  LineShape& shape = shapes_.emplace_back();
  shape.key = std::move(key);
  by_key_.emplace(shape.key, &shape);
  return shape;
}

}  // namespace bertbench
