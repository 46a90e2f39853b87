#include "workloads/bert/data/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "workloads/bert/data/random.h"

namespace bert {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kExampleStream = 5, kWindowStream = 6;
constexpr std::size_t kHeldOutShare = 10;      // one example of so many
constexpr std::int64_t kSpecialTokens = 3;     // [CLS] and two [SEP]
constexpr std::int64_t kLongestQuestion = 64;  // tokens, as in BERT's run_squad.py

const Json& member(const Json& object, const char* name) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(name);
  return found == object.end() ? kNone : *found;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// Byte of the character `count` of valid UTF-8; npos beyond its end.
std::size_t byte_of_character(std::string_view text, std::int64_t count) {
  std::size_t at = 0;
  for (; count > 0 && at < text.size(); --count) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  }
  return count == 0 ? at : std::string_view::npos;
}

/// Nothing where the file has no answer; an error where it has one that its context has not.
Result<std::optional<LabelledText::Item>> question_of(const Json& qa, const std::string& context) {
  LabelledText::Item item;
  item.first = text_of(member(qa, "question"));
  item.second = context;
  const Json& answers = member(qa, "answers");
  if (!answers.is_array() || answers.empty()) return std::optional<LabelledText::Item>();
  const std::string answer = text_of(member(answers.front(), "text"));
  const Json& start = member(answers.front(), "answer_start");
  const std::int64_t character = start.is_number_integer() ? start.get<std::int64_t>() : -1;
  const std::size_t begin =
      character < 0 ? std::string::npos : byte_of_character(context, character);
  if (item.first.empty() || answer.empty() || begin == std::string::npos ||
      context.compare(begin, answer.size(), answer) != 0) {
    return usage_error(
        fmt::format("the answer of question {} does not stand in its context at "
                    "answer_start",
                    text_of(member(qa, "id"))));
  }
  item.answer_begin = begin;
  item.answer_end = begin + answer.size();
  return std::optional(std::move(item));
}

std::vector<std::string_view> cells_of(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t tab = line.find('\t');
    cells.push_back(line.substr(0, tab));
    if (tab == line.npos) return cells;
    line.remove_prefix(tab + 1);
  }
}

/// Column of the first of the names that is there; -1: none is.
std::ptrdiff_t column(const std::vector<std::string_view>& head,
                      std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = std::ranges::find(head, name);
    if (found != head.end()) return found - head.begin();
  }
  return -1;
}

/// Drops tokens at the ends of the longer one, as BERT's scripts do.
void truncate_pair(std::vector<std::int32_t>& first, std::vector<std::int32_t>& second,
                   std::size_t room) {
  while (first.size() + second.size() > room) {
    (first.size() > second.size() ? first : second).pop_back();
  }
}

class ExampleSource final : public SequenceSource {
 public:
  ExampleSource(const DataOptions& options, const LabelledText& text, const WordPiece& words,
                const std::string& vocabulary_text)
      : seed_(options.seed), spans_(text.spans) {
    std::map<std::string_view, std::vector<Piece>> contexts;  // many questions share one
    for (const auto& item : text.items) {
      Example& one = examples_.emplace_back();
      for (const Piece& piece : words.pieces(item.first)) one.first.push_back(piece.token);
      auto [known, fresh] = contexts.try_emplace(item.second);
      if (fresh) known->second = words.pieces(item.second);
      for (const Piece& piece : known->second) one.second.push_back(piece.token);
      one.label = item.label;
      if (spans_ && !find_answer(item, known->second, options, one)) examples_.pop_back();
    }
    const std::size_t left_out = text.items.size() - examples_.size();
    description_ = fmt::format("{}, {} {}, {}", options.source, examples_.size(),
                               spans_ ? "questions" : "sentences", vocabulary_text);
    if (left_out > 0) description_ += fmt::format(", {} left out", left_out);
  }

  [[nodiscard]] std::size_t size() const { return examples_.size(); }

  [[nodiscard]] Example example(std::uint64_t index, std::int64_t tokens) const override {
    Example out = examples_[number_of(index)];
    const auto room = static_cast<std::size_t>(tokens);
    if (!spans_) {
      truncate_pair(out.first, out.second, room);
      return out;
    }
    out.first.resize(
        std::min({out.first.size(), room / 2, static_cast<std::size_t>(kLongestQuestion)}));
    const std::size_t left = room - out.first.size();
    if (out.second.size() <= left) return out;
    // A window of the context that holds the answer, anywhere in it.
    const auto answer_end = static_cast<std::size_t>(out.answer_last) + 1;
    const std::size_t least = answer_end > left ? answer_end - left : 0;
    const std::size_t most =
        std::min(static_cast<std::size_t>(out.answer_first), out.second.size() - left);
    KeyedRandom random(seed_, kWindowStream, index);
    const auto begin = static_cast<std::ptrdiff_t>(least) +
                       random.below(static_cast<std::int64_t>(most - std::min(least, most)) + 1);
    out.second.assign(out.second.begin() + begin,
                      out.second.begin() + begin + static_cast<std::ptrdiff_t>(left));
    out.answer_first -= static_cast<std::int32_t>(begin);
    out.answer_last -= static_cast<std::int32_t>(begin);
    return out;
  }

  [[nodiscard]] bool labelled() const override { return true; }
  [[nodiscard]] std::int64_t held_out() const override {
    return static_cast<std::int64_t>(examples_.size() - trained());
  }
  [[nodiscard]] SegmentPair pair(std::uint64_t, std::int64_t) const override {
    throw std::logic_error("labelled sequences are examples");
  }
  [[nodiscard]] std::vector<std::int32_t> text(std::uint64_t, std::int64_t) const override {
    throw std::logic_error("labelled sequences are examples");
  }
  [[nodiscard]] std::string description() const override { return description_; }

 private:
  [[nodiscard]] std::size_t trained() const {
    return examples_.size() - std::max<std::size_t>(1, examples_.size() / kHeldOutShare);
  }

  /// Sequences in [kHeldOut, kOtherSequence) are those held out, in turn; any other is drawn from
  /// the rest.
  [[nodiscard]] std::size_t number_of(std::uint64_t index) const {
    const auto held = static_cast<std::uint64_t>(kHeldOut);
    if (index >= held && index < kOtherSequence) {
      return trained() + static_cast<std::size_t>((index - held) % (examples_.size() - trained()));
    }
    KeyedRandom random(seed_, kExampleStream, index);
    return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(trained())));
  }

  /// The tokens of the answer; false where no sequence has room for it.
  static bool find_answer(const LabelledText::Item& item, const std::vector<Piece>& context,
                          const DataOptions& options, Example& out) {
    const auto first = std::ranges::find_if(
        context, [&](const Piece& piece) { return piece.end > item.answer_begin; });
    const auto end = std::ranges::find_if(
        context, [&](const Piece& piece) { return piece.begin >= item.answer_end; });
    if (first >= end) return false;
    out.answer_first = static_cast<std::int32_t>(first - context.begin());
    out.answer_last = static_cast<std::int32_t>(end - context.begin()) - 1;
    // The question takes at most half of the room.
    return end - first <= (options.sequence_length - kSpecialTokens) / 2;
  }

  std::uint64_t seed_;
  bool spans_;
  std::vector<Example> examples_;
  std::string description_;
};

}  // namespace

std::string LabelledText::all_text() const {
  std::string text;
  std::set<std::string_view> seen;
  for (const Item& item : items) {
    for (const std::string* part : {&item.first, &item.second}) {
      if (seen.insert(*part).second) text += *part + '\n';
    }
  }
  return text;
}

Result<LabelledText> read_squad(const std::string& json) {
  const Json all = Json::parse(json, nullptr, false);
  const Json& data = member(all, "data");
  if (!data.is_array()) {
    return usage_error("is no JSON of SQuAD 1.1, an object with the list \"data\"");
  }
  LabelledText out;
  out.spans = true;
  for (const Json& article : data) {
    for (const Json& paragraph : member(article, "paragraphs")) {
      const std::string context = text_of(member(paragraph, "context"));
      for (const Json& qa : member(paragraph, "qas")) {
        auto item = question_of(qa, context);
        if (!item) return tl::unexpected(item.error());
        if (*item) out.items.push_back(std::move(**item));
      }
    }
  }
  return out;
}

bool is_labelled_table(std::string_view text) {
  const auto head = cells_of(take_line(text));
  return head.size() > 1 && column(head, {"label", "Quality"}) >= 0;
}

Result<LabelledText> read_labelled_table(std::string_view text) {
  const auto head = cells_of(take_line(text));
  const auto label = column(head, {"label", "Quality"});
  const auto first = column(head, {"sentence", "sentence1", "#1 String"});
  const auto second = column(head, {"sentence2", "#2 String"});
  if (label < 0 || first < 0) {
    return usage_error(
        "line 1 must name the columns label (or Quality) and sentence, or sentence1 and sentence2");
  }
  LabelledText out;
  for (std::int64_t number = 2; !text.empty(); ++number) {
    const auto cells = cells_of(take_line(text));
    if (cells.size() == 1 && cells[0].empty()) continue;
    if (cells.size() != head.size()) {
      return usage_error(fmt::format("line {} has {} columns, line 1 names {}", number,
                                     cells.size(), head.size()));
    }
    const auto cell = [&](std::ptrdiff_t at) {
      return std::string(at < 0 ? std::string_view() : cells[static_cast<std::size_t>(at)]);
    };
    LabelledText::Item& item = out.items.emplace_back();
    item.first = cell(first);
    item.second = cell(second);
    const std::string word = cell(label);
    if (word != "0" && word != "1") {
      return usage_error(fmt::format("line {}: the label must be 0 or 1", number));
    }
    item.label = word == "1" ? 1 : 0;
  }
  return out;
}

Result<std::unique_ptr<SequenceSource>> make_example_source(const DataOptions& options,
                                                            const LabelledText& text,
                                                            const WordPiece& words,
                                                            const std::string& vocabulary_text) {
  auto source = std::make_unique<ExampleSource>(options, text, words, vocabulary_text);
  if (source->size() < 2) {
    return usage_error(fmt::format(
        "--data {}: {} usable of its {} examples; one is trained on and one held out at least",
        options.source, source->size(), text.items.size()));
  }
  return source;
}

void fill_examples(const SequenceSource& source, const DataOptions& options, Batch& batch) {
  const auto length = static_cast<std::size_t>(options.sequence_length);
  const auto rows = static_cast<std::size_t>(batch.sequences);
  batch.tokens.assign(rows * length, SpecialTokens::kPad);
  batch.segments.assign(rows * length, 0);
  batch.lengths.clear();
  batch.next_sentence.clear();
  batch.spans.clear();
  batch.masked.clear();
  batch.labels.clear();
  for (std::size_t row = 0; row < rows; ++row) {
    const auto index = static_cast<std::uint64_t>(batch.first_sequence) + row;
    const std::int64_t room = options.sequence_length - kSpecialTokens;
    const Example one = source.example(index, room);
    std::size_t at = row * length;
    const auto put = [&](std::int32_t token, std::int32_t segment) {
      batch.tokens[at] = token;
      batch.segments[at++] = segment;
    };
    put(SpecialTokens::kCls, 0);
    for (const std::int32_t token : one.first) put(token, 0);
    put(SpecialTokens::kSep, 0);
    const auto context = static_cast<std::int32_t>(at - row * length);
    for (const std::int32_t token : one.second) put(token, 1);
    if (!one.second.empty()) put(SpecialTokens::kSep, 1);
    batch.lengths.push_back(static_cast<std::int32_t>(at - row * length));
    const Example labelled =
        options.shuffle_labels ? source.example(index + kOtherSequence, room) : one;
    batch.next_sentence.push_back(options.questions ? 0 : labelled.label);
    if (!options.questions) continue;
    // The places of another answer, as far as this context goes.
    const auto last = context + static_cast<std::int32_t>(one.second.size()) - 1;
    batch.spans.push_back(std::min(context + labelled.answer_first, last));
    batch.spans.push_back(std::min(context + labelled.answer_last, last));
  }
}

}  // namespace bert
