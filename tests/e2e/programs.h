// Runs the real programs as processes and keeps what they wrote.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/read_file.h"
#include "tests/scratch_folder.h"

namespace bertbench::e2e {

namespace fs = std::filesystem;
using nlohmann::json;

inline const std::string kBertbench = BB_BERTBENCH;
inline const std::string kBertTrain = BB_BERT_TRAIN;

using test::read_file;
using test::write_file;

struct Ran {
  int status = -1;  ///< exit status, or 128 + signal
  std::string out, err;
};

class Process {
 public:
  /// stdout and stderr go to these files.
  Process(const std::vector<std::string>& argv, const fs::path& out, const fs::path& err) {
    std::vector<char*> args;
    for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
    args.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    redirect(out, STDOUT_FILENO);
    redirect(err, STDERR_FILENO);
    execv(args[0], args.data());
    _exit(127);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  static void redirect(const fs::path& path, int fd) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || dup2(file, fd) < 0) _exit(126);
    close(file);
  }
  pid_t pid_ = -1;
};

/// A folder of its own for each test suite, removed at its end.
class Folder {
 public:
  [[nodiscard]] std::string operator/(const std::string& name) const { return scratch_.path(name); }

  Ran run(const std::vector<std::string>& argv) const {
    Process process(argv, *this / "stdout", *this / "stderr");
    Ran ran;
    ran.status = process.wait();
    ran.out = read_file(*this / "stdout");
    ran.err = read_file(*this / "stderr");
    return ran;
  }
  Ran bertbench(std::vector<std::string> args) const {
    args.insert(args.begin(), kBertbench);
    return run(args);
  }

 private:
  test::ScratchFolder scratch_;
};

/// Waits until `done` or until `limit`; returns the last answer of `done`.
inline bool wait_until(const std::function<bool()>& done, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return done();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

/// Sequences per second of the steps first < n <= last by the trainer's own monotonic clock.
inline double truth(const std::string& timings, std::int64_t first, std::int64_t last) {
  std::ifstream in(timings);
  double seconds = 0, sequences = 0;
  for (std::string line; std::getline(in, line);) {
    const json step = json::parse(line);
    const auto n = step["step"].get<std::int64_t>();
    if (n <= first || n > last) continue;
    seconds += step["seconds"].get<double>();
    sequences += step["sequences"].get<double>();
  }
  return sequences / seconds;
}

}  // namespace bertbench::e2e
