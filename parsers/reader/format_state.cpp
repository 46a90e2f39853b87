#include "parsers/reader/format_state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "parsers/lines/decoration.h"
#include "parsers/lines/line_cleaner.h"

namespace bertbench {

void FormatState::make(const Format& its_format, std::unique_ptr<RunBuilder> its_builder) {
  if (its_format.make != nullptr) {
    return make(its_format.name, its_format.make(), std::move(its_builder));
  }
  name = its_format.name;
  builder = std::move(its_builder);
  format_ = &its_format;
  state_ = {its_format.state.make(), its_format.state.destroy};
  assembler_.emplace(*builder, its_format.runs,
                     [state = state_.get(), facts_of = its_format.state.facts](Facts& facts) {
                       if (facts_of != nullptr) facts_of(state, facts);
                     });
}

void FormatState::make(std::string_view its_name, std::unique_ptr<LineParser> its_parser,
                       std::unique_ptr<RunBuilder> its_builder) {
  name = its_name;
  builder = std::move(its_builder);
  parser_ = std::move(its_parser);
}

void FormatState::finish() {
  if (parser_) return parser_->finish(*builder);
  if (format_->state.finish != nullptr)
    format_->state.finish(state_.get(), {*assembler_, 0, -1, -1});
  assembler_->finish(format_->framework);
}

bool FormatState::parse_as_is(const Line& line) {
  if (parser_) return parser_->parse(line, *builder);
  constexpr std::size_t kHandlers = 16;  // a line with literals of more shows some of them twice
  std::array<bool (*)(void*, const Line&, Emit), kHandlers> seen{};
  std::size_t count = 0;
  const Emit emit(*assembler_, line.number, line.end_byte, line.rank);
  const bool taken = any_row(line, [&](std::uint32_t row, std::size_t at) {
    const Row& rule = format_->rows[row];
    const auto end = seen.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::find(seen.begin(), end, rule.handle) != end) return false;
    if (count < kHandlers) seen[count++] = rule.handle;
    Line here = line;
    here.at = at;
    here.end = at + rule.literal.size();
    return rule.handle(state_.get(), here, emit);
  });
  return taken || (wants_every_line() && format_->state.row(state_.get(), line, emit));
}

bool FormatState::parse(const Line& line) {
  if (parse_as_is(line)) return true;
  Line undecorated = line;
  undecorated.text = after_host_label(line.text);
  if (!undecorated.text.empty() && parse_as_is(undecorated)) return true;
  // In a log without a logger around it, only its front distinguishes an evaluation from training.
  constexpr std::int64_t kUndecoratedLines = 2, kRefusalLimit = 300;
  if (matched - decorated_ > kUndecoratedLines + decorated_) return false;
  if (decorated_ == 0 && refused_++ > kRefusalLimit) return false;
  const auto parse_text = [&](std::string_view text) {
    undecorated.text = text;
    if (!parse_as_is(undecorated)) return false;
    ++decorated_;
    return true;
  };
  if (std::ranges::any_of(Layers(line.text), parse_text)) return true;
  // A page or a notebook indents the whole log; else so many blanks are no decoration.
  constexpr std::size_t kCode = 4;
  const auto indent = line.text.find_first_not_of(" \t");
  if (indent == std::string_view::npos || indent == 0) return false;
  if (indent < kCode && line.text[0] != '\t') return false;
  const std::string_view text = line.text.substr(indent);
  return parse_text(text) || std::ranges::any_of(Layers(text), parse_text);
}

bool FormatState::has_training_records() const {
  return matched > 0 && std::ranges::any_of(builder->drafts(), [](const auto& draft) {
           return !draft->discard && draft->log.kind == WorkKind::training && draft->count() > 0;
         });
}

}  // namespace bertbench
