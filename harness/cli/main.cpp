// bertbench: parse, dispatch, exit status. Everything else is in run_cli().
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <ostream>
#include <string>
#include <vector>

#include "harness/cli/cli.h"
#include "harness/cli/fd_stream.h"

namespace {

// A descriptor 0-2 that the caller closed would be given to the next file that is opened, and
// then hold our messages. Opened the wrong way round, it fails as a closed one does.
void occupy_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) _exit(2);
  }
}

// The records of a log are one large block after the other, on any thread. By itself glibc comes to
// keep such blocks in heaps, of which it makes one a thread, where they stay when they are freed.
void give_large_blocks_back() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 8 << 20);
  mallopt(M_ARENA_MAX, 2);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  give_large_blocks_back();
  occupy_standard_descriptors();
  // A reader that went away shows as EPIPE. A handler, unlike SIG_IGN, is not inherited by
  // trainers.
  std::signal(SIGPIPE, [](int) {});
  bertbench::FdBuffer out_buffer(STDOUT_FILENO);
  bertbench::FdBuffer err_buffer(STDERR_FILENO);
  std::ostream out(&out_buffer);
  std::ostream err(&err_buffer);
  return bertbench::run_cli(std::vector<std::string>(argv + 1, argv + argc), out, err,
                            bertbench::Terminal::detect());
}
