// RankCopies: a step is the job's, and of several ranks that print it into one log one counts.
// MindSpore, Paddle and NVIDIA's BERT for TensorFlow under mpirun.
#pragma once

namespace bertbench {

class RankCopies {
 public:
  /// True when a line of `rank` (below 0: no label) is another rank's copy of a step that was
  /// `seen` already; else that rank is the one that counts from here on.
  bool is_copy(int rank, bool seen) {
    if (rank != rank_ && rank >= 0 && rank_ >= 0 && seen) return true;
    rank_ = rank;
    return false;
  }

 private:
  int rank_ = -1;
};

}  // namespace bertbench
