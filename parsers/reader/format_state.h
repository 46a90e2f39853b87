// FormatState: what one format found in a log.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/formats/table_parser.h"

namespace bertbench {

/// Made when the first of the format's lines comes: most formats have none.
struct FormatState {
  std::string_view name;
  std::unique_ptr<RunBuilder> builder;
  std::unique_ptr<LineParser> parser;
  const TableParser* table = nullptr;  ///< the parser, if it is one
  std::int64_t matched = 0;            ///< lines that are of the format

  void make(std::string_view format, std::unique_ptr<LineParser> its_parser,
            std::unique_ptr<RunBuilder> its_builder);
  /// Shows the parser a line, also without the label of a host or the front of a logger around it.
  bool parse(const Line& line);
  [[nodiscard]] bool has_training_records() const;

 private:
  std::int64_t decorated_ = 0, refused_ = 0;  ///< matched behind a logger's front, not at all
};

}  // namespace bertbench
