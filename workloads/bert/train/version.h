// Version of bert_train and of what it was built with.
#pragma once

#include <string>

namespace bert {

[[nodiscard]] std::string version_number();    ///< "0.1.0"
[[nodiscard]] std::string version_commit();    ///< "b3e15f1a2c4d", "-dirty" when it is
[[nodiscard]] std::string version_compiler();  ///< "GNU 12.2.0"
[[nodiscard]] std::string version_text();      ///< one line of all three

}  // namespace bert
