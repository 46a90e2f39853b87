#include "workloads/bert/train/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <string_view>
#include <thread>

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

// oneDNN's matrix kernels run with the stack pointer inside a small heap block. The frame of a
// signal that arrived there, over 2 KB with AVX-512 registers, would be written across the heap
// below it. So no computing thread takes a signal; a thread that only waits takes them all.
// Faults of a thread (SIGSEGV and its like) stay its own.
void leave_signals_to_a_thread_of_their_own() {
  std::thread([] {
    for (;;) ::pause();
  }).detach();
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
    sigdelset(&all, fault);
  }
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // inherited by every thread that starts from now on
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
  leave_signals_to_a_thread_of_their_own();
}

void training_begins() { training = 1; }

int stop_signal() { return received; }

}  // namespace bert
