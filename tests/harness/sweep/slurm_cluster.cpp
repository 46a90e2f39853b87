#include "tests/harness/sweep/slurm_cluster.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bertbench::test {
namespace {

// A keeper between the daemons and this process, which is the subreaper of its descendants and
// ends what remains of trainers: what Slurm leaves goes to the keeper. It runs one line
// of words after the other, and stops the cluster when this process is gone.
constexpr const char* kKeeper = R"sh(
while read -r -a words; do
  "$0" "${words[0]}" "$1" "${words[@]:1}" >"$1/said" 2>&1 </dev/null
  echo $?
done
"$0" stop "$1" >/dev/null 2>&1
)sh";

}  // namespace

SlurmCluster::SlurmCluster() {
  prepare_to_run_processes();
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES"}) {
    unsetenv(name);
  }
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
    missing_ = "no pipe";
    return;
  }
  const std::string folder = folder_.path();
  keeper_ = fork();
  if (keeper_ == 0) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    setpgid(0, 0);
    dup2(to[0], 0);
    dup2(from[1], 1);
    execlp("bash", "bash", "-c", kKeeper, BB_SOURCE_DIR "/tests/harness/slurm_cluster",
           folder.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  to_ = to[1];
  from_ = from[0];
  if (run("start") != 0) {
    missing_ = read_file(folder_.path("said"));
    if (missing_.empty()) missing_ = "the emulated Slurm does not start";
    return;
  }
  setenv("SLURM_CONF", folder_.path("slurm.conf").c_str(), 1);
}

SlurmCluster::~SlurmCluster() {
  ::close(to_);
  ::close(from_);
  waitpid(keeper_, nullptr, 0);
}

int SlurmCluster::run(const std::string& words) const {
  const auto line = words + "\n";
  if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return -1;
  char answer[16] = {};
  return ::read(from_, answer, sizeof answer - 1) > 0 ? std::atoi(answer) : -1;
}

std::string SlurmCluster::ask(const std::vector<std::string>& argv) {
  return capture_output(argv, std::chrono::seconds(20)).value_or("");
}

}  // namespace bertbench::test
