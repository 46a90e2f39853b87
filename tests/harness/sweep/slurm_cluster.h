// SlurmCluster: the emulated Slurm of tests/harness/slurm_cluster, started for the tests of one
// program and stopped at its end.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "harness/sweep/process/process.h"
#include "tests/harness/sweep/support.h"

namespace bertbench::test {

class SlurmCluster {
 public:
  SlurmCluster();
  ~SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;

  /// Why there is none; empty when it runs.
  [[nodiscard]] const std::string& missing() const { return missing_; }
  /// A further command of the script, "kill-controller" or "kill-node node3"; its exit status.
  int run(const std::string& words) const;
  /// What a client of Slurm prints.
  static std::string ask(const std::vector<std::string>& argv);
  [[nodiscard]] std::string log(const std::string& name) const {
    return read_file(folder_.path("log/" + name));
  }

 private:
  ScratchFolder folder_;
  pid_t keeper_ = 0;
  int to_ = -1, from_ = -1;
  std::string missing_;
};

}  // namespace bertbench::test
