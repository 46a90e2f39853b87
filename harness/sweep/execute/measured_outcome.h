// What was measured of an attempt, kept in its outcome.json, so that a resume of ten thousand
// trials need not read and measure ten thousand logs again. The journal holds what it was made
// from: the log's stamp and the checksum of outcome.json; when one of them differs, the log is read
// again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "harness/sweep/execute/measure_attempt.h"

namespace bertbench {

/// Size, time of change of the content and of the inode: who alters a file alters one of them, as
/// no program can set the last. Empty when there is no plain file.
std::string file_stamp(const std::string& path);
/// The same of the logs in the folder of an attempt: log.txt, and trainer.log where there is one.
std::string logs_stamp(const std::string& folder);

/// Identity of a program's file: a program built anew is another one, even at the same place.
std::string program_stamp(const std::string& path);

/// Text of outcome.json: the members of `outcome`, then "measured", a result set of this one trial.
std::string outcome_text(const nlohmann::ordered_json& outcome, const Plan& plan, std::size_t cell,
                         const MeasuredAttempt& measured);

/// The "measured" of such a text, which outcome_text() made; nothing when it holds none, or when
/// the plan reads logs otherwise now (another window, another format).
std::optional<MeasuredAttempt> read_measured_outcome(std::string_view text, const Plan& plan);

}  // namespace bertbench
