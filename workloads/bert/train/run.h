// run_bert_train: the program from arguments to exit status.
#pragma once

#include <iosfwd>

namespace bert {

/// The log goes to `out`, one-line errors to `err`, prefixed "bert_train: rank R: ".
[[nodiscard]] int run_bert_train(int argc, const char* const* argv, std::ostream& out,
                                 std::ostream& err);

}  // namespace bert
