// Failure: an error as a value, with the exit status that bert_train ends with.
#pragma once

#include <stdexcept>
#include <string>
#include <tl/expected.hpp>

namespace bert {

/// Exit statuses of bert_train. Part of the contract: scripts and the harness rely on them.
enum class ExitStatus : int {
  done = 0,
  failed = 1,  ///< a run that had started and broke: dead peer, unreadable data, full disk
  usage = 2,   ///< wrong options, or a world other than --expect-world-size
  no_device = 3,
  out_of_memory = 12,
  interrupted = 130,
};

struct Failure {
  ExitStatus status = ExitStatus::failed;
  std::string message;  ///< one line: what is wrong, where, and what to do
};

template <typename T>
using Result = tl::expected<T, Failure>;

inline tl::unexpected<Failure> usage_error(std::string message) {
  return tl::unexpected(Failure{ExitStatus::usage, std::move(message)});
}
inline tl::unexpected<Failure> no_device(std::string message) {
  return tl::unexpected(Failure{ExitStatus::no_device, std::move(message)});
}
inline tl::unexpected<Failure> run_error(std::string message) {
  return tl::unexpected(Failure{ExitStatus::failed, std::move(message)});
}

}  // namespace bert
