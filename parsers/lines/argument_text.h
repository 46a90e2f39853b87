// Arguments as programs print them: "--name=4", "--name 4", "name=4,", "'name': 4", "name : 4",
// "name ......... 4".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace bertbench {

/// The value of `name` as an argument; nullopt when it is not there as a whole word, or empty.
[[nodiscard]] std::optional<std::string_view> argument(std::string_view text,
                                                       std::string_view name);

/// A count of 1 or more, also "4.0".
[[nodiscard]] std::optional<std::int64_t> count(std::string_view text);

/// The count that the first of these names has as an argument.
[[nodiscard]] std::optional<std::int64_t> count_of(std::string_view text,
                                                   std::initializer_list<std::string_view> names);

/// How many numbers a list as "0,1,2,3" or "0, 1" has; nothing where a part of it is none.
[[nodiscard]] std::optional<std::int64_t> count_of_list(std::string_view text);

}  // namespace bertbench
