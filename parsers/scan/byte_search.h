// Searches that the scanner and hot parsers share, with AVX2 where the processor has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bertbench {

/// text.find(what, from), several times as fast on a line of a few hundred bytes.
[[nodiscard]] std::size_t find_text(std::string_view text, std::string_view what,
                                    std::size_t from = 0);

/// Number of '\n' in `data`.
[[nodiscard]] std::int64_t count_newlines(std::string_view data);

/// Where the line begins that holds the byte at `at`: after the last '\n' or '\r' in
/// [limit, at), else `limit`.
[[nodiscard]] std::size_t find_line_begin(std::string_view data, std::size_t at, std::size_t limit);

/// How often the line of `n` bytes at `at`, which '\r' ends, is repeated right after it: copies
/// that '\r' (not "\r\n") ends as well, with a byte after it.
[[nodiscard]] std::int64_t count_repeats(std::string_view data, std::size_t at, std::size_t n);

/// Position of the first '\n' or '\r' at or after `from`, npos if there is none.
[[nodiscard]] std::size_t find_line_break(std::string_view data, std::size_t from);

}  // namespace bertbench
