#include "workloads/bert/signals.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace bert {
namespace {

volatile std::sig_atomic_t received = 0;

volatile std::sig_atomic_t training = 0;

extern "C" void note_signal(int number) {
  if (training == 0) {  // waiting for other ranks, or for memory: nothing to finish or to save
    constexpr std::string_view kText = "bert_train: interrupted before training began\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
    ::_exit(130);
  }
  received = number;
}

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

void training_begins() { training = 1; }

int stop_signal() { return received; }

}  // namespace bert
