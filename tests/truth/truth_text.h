// All that one log gives, as a text that a reviewer reads and a test compares.
#pragma once

#include <string>

namespace bertbench::truth {

/// Reads and measures the log `file` with default options. In the text it is called `name`, which
/// is also the path that facts are read from, so that no machine's folder shows. A log that cannot
/// be read gives the text of its error.
///
/// Every member of RunLog, Record, Facts, MeasuredLog and Trial stands in the text or follows from
/// it; unknown ones are left out. A new member is a compile error in truth_text.cpp.
[[nodiscard]] std::string text_of_log(const std::string& file, const std::string& name);

/// The lines that differ between two texts, with "-" and "+" and the line before each difference;
/// at most `most` lines. Empty when the texts are equal.
[[nodiscard]] std::string changed_lines(const std::string& before, const std::string& after,
                                        std::size_t most);

}  // namespace bertbench::truth
