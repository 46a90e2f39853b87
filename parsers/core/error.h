// Error and Result: how every part of bertbench reports that something went wrong.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace bertbench {

/// What went wrong, where, and what to do about it. Printed once, by harness/cli, as
///   bertbench: <where>: <what>; <hint>
/// `where` is a file, a file with a line ("sweep.json:12"), a JSON path or an option.
/// Text that comes from a user's file may hold anything: it is escaped when printed, not here.
struct Error {
  std::string where;
  std::string what;
  std::string hint;

  [[nodiscard]] std::string message() const {
    std::string text = where.empty() ? what : where + ": " + what;
    if (!hint.empty()) text += "; " + hint;
    return text;
  }
};

template <class T>
using Result = tl::expected<T, Error>;

/// `return fail(where, what, hint);` inside a function that returns a Result.
[[nodiscard]] inline tl::unexpected<Error> fail(std::string where, std::string what,
                                                std::string hint = {}) {
  return tl::unexpected<Error>(Error{std::move(where), std::move(what), std::move(hint)});
}

}  // namespace bertbench
