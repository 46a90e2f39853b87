// Logs that the ranks of one job wrote, a file each: torchrun --log-dir, srun --output with %t,
// mpirun --output-filename and others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/inputs.h"

namespace bertbench {

struct RankFile {
  std::string job;  ///< equal for all files of a job: the path without what differs between them
  std::int64_t rank = 0;
};

/// gluon-nlp's "phase1_log.3", packed or not: each of these logs holds the steps of the job.
[[nodiscard]] std::optional<RankFile> gluonnlp_file(const std::string& path);

/// By the words of the path alone: "rank.3/stdout", "train_rank3.log", "attempt_0/3/stderr.log",
/// "workerlog.3", "phase1_log.3".
[[nodiscard]] std::optional<RankFile> rank_file(const std::string& path);

/// Inputs of one job become one, in the place of its first. A job has a rank 0 and others. Paths
/// that differ in one number without such a word are of a job where the `rank_time` lines in each
/// are of the rank with that number: the begin of the file with number 0 is looked at, and of the
/// others where that one has them.
void join_rank_files(std::vector<Input>& logs);

}  // namespace bertbench
