#include "parsers/reader/format_state.h"

#include <algorithm>
#include <utility>

#include "parsers/lines/decoration.h"
#include "parsers/lines/line_cleaner.h"

namespace bertbench {

void FormatState::make(std::string_view format, std::unique_ptr<LineParser> its_parser,
                       std::unique_ptr<RunBuilder> its_builder) {
  name = format;
  parser = std::move(its_parser);
  builder = std::move(its_builder);
  table = dynamic_cast<const TableParser*>(parser.get());
}

bool FormatState::parse(const Line& line) {
  if (parser->parse(line, *builder)) return true;
  Line behind = line;
  behind.text = behind_host_label(line.text);
  if (!behind.text.empty() && parser->parse(behind, *builder)) return true;
  // In a log without a logger around it, only its front tells an evaluation from training.
  constexpr std::int64_t kFew = 2, kEnough = 300;
  if (matched - decorated_ > kFew + decorated_) return false;
  if (decorated_ == 0 && refused_++ > kEnough) return false;
  const auto parse_text = [&](std::string_view text) {
    behind.text = text;
    if (!parser->parse(behind, *builder)) return false;
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
