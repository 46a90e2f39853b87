// Starts the real bert_train and reads what it printed. No shell; output goes to files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/read_file.h"

namespace bert::testing {

using bertbench::test::read_file;

struct Finished {
  int status = -1;  ///< exit status, or 128 + signal
  std::string out;
  std::string err;
};

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

class Process {
 public:
  /// `arguments` without the program. The environment is this one's without launcher variables,
  /// plus `variables`. `out`: where standard output goes; empty = a file of its own.
  /// `program`: another one than bert_train (mpirun), looked up on PATH.
  explicit Process(const Words& arguments, const Variables& variables = {},
                   const std::string& out = "", const std::string& program = BERT_TRAIN);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) const;
  [[nodiscard]] bool ended();
  /// Waits until the output holds `text` at least `times` times, or the process ends.
  bool wait_for_output(const std::string& text, int times = 1);
  Finished wait();

 private:
  int pid_ = -1;
  int raw_status_ = 0;
  bool ended_ = false;
  std::string out_path_, err_path_;
};

Finished run(const Words& arguments, const Variables& variables = {}, const std::string& out = "");
/// To this exit status.
Finished run_to(int status, const Words& arguments, const Variables& variables = {},
                const std::string& out = "");
/// torchrun's variables of one rank on 127.0.0.1.
Variables rank_variables(int rank, int world, int port);
int free_port();
/// A new empty folder below GoogleTest's temporary folder.
std::string temporary_folder(const std::string& name);
/// The words of a command line, parted by blanks: no path, which may hold one.
Words split_words(const std::string& line);
/// The options of a training that takes a moment, then `more`.
Words small(const Words& more);
int count(const std::string& text, const std::string& part);

}  // namespace bert::testing
