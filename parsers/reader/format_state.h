// FormatState: what one format found in a log.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "parsers/assemble/assembler.h"
#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"

namespace bertbench {

/// Made when the first of the format's lines comes: most formats have none.
struct FormatState {
  std::string_view name;
  std::unique_ptr<RunBuilder> builder;
  std::int64_t matched = 0;           ///< lines that are of the format
  bool json_lines = false;            ///< the first of them holds a JSON object
  std::int64_t unreadable = 0;        ///< lines with broken JSON
  std::int64_t first_unreadable = 0;  ///< number of the first of them

  [[nodiscard]] bool made() const { return builder != nullptr; }
  void make(const Format& its_format, std::unique_ptr<RunBuilder> its_builder);
  void make(std::string_view its_name, std::unique_ptr<LineParser> its_parser,
            std::unique_ptr<RunBuilder> its_builder);
  /// Shows the format a line, also without the label of a host or the front of a logger around it.
  bool parse(const Line& line);
  /// A copy of the line parsed last would change nothing and match again.
  [[nodiscard]] bool settled() const { return parser_ && parser_->settled(); }
  /// The format's lines may hold no literal.
  [[nodiscard]] bool is_table() const {
    return parser_ ? parser_->wants_every_line()
                   : format_ != nullptr && format_->state.row != nullptr;
  }
  [[nodiscard]] bool wants_every_line() const {
    if (parser_) return parser_->wants_every_line();
    return is_table() && format_->state.wants_every_line(state_.get());
  }
  void finish();
  [[nodiscard]] bool has_training_records() const;

 private:
  bool parse_as_is(const Line& line);

  const Format* format_ = nullptr;  ///< one that is a table
  std::unique_ptr<void, void (*)(void*)> state_{nullptr, nullptr};
  std::optional<Assembler> assembler_;
  std::unique_ptr<LineParser> parser_;
  std::int64_t decorated_ = 0, refused_ = 0;  ///< matched after a logger's front, not at all
};

}  // namespace bertbench
