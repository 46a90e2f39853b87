// TableParser: a format whose lines hold no literal once its header has passed (CSV).
#pragma once

#include "parsers/formats/format.h"

namespace bertbench {

class TableParser : public LineParser {
 public:
  /// True between the header and the end of the table: parse() is then given every line. A header
  /// counts on the first line of a log only: chunks of a file are searched without knowing what
  /// stands before them.
  [[nodiscard]] virtual bool wants_every_line() const = 0;
};

}  // namespace bertbench
