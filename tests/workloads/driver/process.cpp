#include "tests/workloads/driver/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/scratch_folder.h"
#include "workloads/bert/comm/socket.h"

extern char** environ;

namespace bert::testing {
namespace {

bool of_a_launcher(const std::string& entry) {
  for (const char* prefix : {"RANK=", "WORLD_SIZE=", "LOCAL_", "MASTER_", "OMPI_", "PMI", "SLURM_",
                             "MPI_", "TORCHELASTIC_"}) {
    if (entry.starts_with(prefix)) {
      return true;
    }
  }
  return false;
}

/// Of this test program: checkpoints have hundreds of megabytes.
const bertbench::test::ScratchFolder& scratch() {
  static const bertbench::test::ScratchFolder folder;
  return folder;
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const Variables& variables,
                 const std::string& out, const std::string& program) {
  static int number = 0;
  const std::string stem = scratch().path(std::to_string(number++));
  out_path_ = out.empty() ? stem + ".out" : out;
  err_path_ = stem + ".err";
  std::vector<std::string> words;
  // A program that runs bert_train, and its options: "valgrind -q".
  if (const char* under = std::getenv("BERT_TRAIN_UNDER"); under != nullptr) {
    std::istringstream given(under);
    for (std::string word; given >> word;) words.push_back(word);
  }
  words.push_back(program);
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> settings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!of_a_launcher(*entry)) {
      settings.emplace_back(*entry);
    }
  }
  for (const auto& [name, value] : variables) {
    settings.push_back(name + "=" + value);
  }
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& setting : settings) envp.push_back(setting.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, out_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_addopen(&actions, 2, err_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  const int failed =
      posix_spawnp(&pid_, words.front().c_str(), &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    throw std::runtime_error("cannot start " + program);
  }
}

Process::~Process() {
  if (!ended_) {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

void Process::signal(int number) const { ::kill(pid_, number); }

bool Process::ended() {
  ended_ = ended_ || waitpid(pid_, &raw_status_, WNOHANG) == pid_;
  return ended_;
}

bool Process::wait_for_output(const std::string& text, int times) {
  while (count(read_file(out_path_), text) < times) {
    if (ended()) return count(read_file(out_path_), text) >= times;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

Finished Process::wait() {
  if (!ended_) {
    waitpid(pid_, &raw_status_, 0);
    ended_ = true;
  }
  const int status =
      WIFEXITED(raw_status_) ? WEXITSTATUS(raw_status_) : 128 + WTERMSIG(raw_status_);
  const bool device = out_path_.starts_with("/dev/");
  return {status, device ? "" : read_file(out_path_), read_file(err_path_)};
}

Finished run(const std::vector<std::string>& arguments, const Variables& variables,
             const std::string& out) {
  return Process(arguments, variables, out).wait();
}

Finished run_to(int status, const Words& arguments, const Variables& variables,
                const std::string& out) {
  const Finished done = run(arguments, variables, out);
  EXPECT_EQ(done.status, status) << ::testing::PrintToString(arguments) << "\n" << done.err;
  return done;
}

Variables rank_variables(int rank, int world, int port) {
  const std::string r = std::to_string(rank), w = std::to_string(world);
  return {{"RANK", r},
          {"LOCAL_RANK", r},
          {"WORLD_SIZE", w},
          {"LOCAL_WORLD_SIZE", w},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port)}};
}

int free_port() { return local_port(listen_on("127.0.0.1", 0)); }

std::string temporary_folder(const std::string& name) {
  const std::string path = scratch().path(name);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

Words split_words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

Words small(const Words& more) {
  Words words = {"--threads", "1", "--micro-batch-size", "2", "--sequence-length", "32"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size())) {
    ++found;
  }
  return found;
}

}  // namespace bert::testing
