// The remedy for a name that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bertbench {

/// "did you mean 'NEAR'?" where one of `known` is near, else all of them between `lead` and `tail`:
/// "known: a, b".
[[nodiscard]] std::string name_hint(std::string_view name, const std::vector<std::string>& known,
                                    std::string_view lead = "known: ", std::string_view tail = {});

}  // namespace bertbench
