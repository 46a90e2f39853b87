#include "workloads/bert/signals.h"

#include <csignal>

namespace bert {
namespace {

volatile std::sig_atomic_t received = 0;

extern "C" void note_signal(int number) { received = number; }

}  // namespace

void catch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);  // second Ctrl-C: at once
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int stop_signal() { return received; }

}  // namespace bert
