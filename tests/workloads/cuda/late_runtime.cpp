#include "tests/workloads/cuda/late_runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "workloads/bert/cuda/device/runtime.h"
#include "workloads/bert/cuda/emulated/device.h"

namespace bert {
namespace {

struct StreamJob {
  std::function<bool()> ready;
  std::function<void()> run;
};
using Queue = std::deque<StreamJob>;

struct Machine {
  late::Pace pace = late::Pace::late;
  std::mt19937 engine;
  Queue null;                             ///< the stream that is always there
  std::vector<Queue*> streams = {&null};  ///< in the order in which they were made
};
Machine& machine() {
  static Machine one;
  return one;
}

bool run_one(Queue& queue) {
  if (queue.empty() || !queue.front().ready()) return false;
  const StreamJob job = std::move(queue.front());
  queue.pop_front();
  job.run();
  return true;
}

Queue& queue_of(cuda::Stream stream) {
  return stream == nullptr ? machine().null : *static_cast<Queue*>(stream);
}

bool run_any() {
  auto& streams = machine().streams;
  return std::any_of(streams.rbegin(), streams.rend(),
                     [](Queue* queue) { return run_one(*queue); });
}

void queue_job(cuda::Stream stream, StreamJob job) {
  Machine& m = machine();
  queue_of(stream).push_back(std::move(job));
  switch (m.pace) {
    case late::Pace::at_once:
      while (run_any()) {
      }
      break;
    case late::Pace::late:
      break;
    case late::Pace::oldest_first:
      while (run_one(*m.streams[std::min<std::size_t>(1, m.streams.size() - 1)])) {
      }
      break;
    case late::Pace::newest_first:
      while (run_one(*m.streams.back())) {
      }
      break;
    case late::Pace::random:
      for (unsigned i = m.engine() % 4; i > 0; --i) {
        run_one(*m.streams[m.engine() % m.streams.size()]);
      }
  }
}
void queue_work(cuda::Stream stream, std::function<void()> work) {
  queue_job(stream, {[] { return true; }, std::move(work)});
}

struct EventState {
  int recorded = 0, reached = 0;
};
using SharedEvent = std::shared_ptr<EventState>;
SharedEvent& state_of(void* event) { return *static_cast<SharedEvent*>(event); }

}  // namespace

void late::set_pace(Pace pace, unsigned seed) {
  machine().pace = pace;
  machine().engine.seed(seed);
}

/// The work of the stream made last comes first, where it can.
void late::run_until(const std::function<bool()>& so) {
  while (!so()) {
    if (!run_any()) throw std::logic_error("the host waits for what can never happen");
  }
}

void emulated::submit(void* stream, std::function<void()> work) {
  if (!record(stream, work)) queue_work(stream, std::move(work));
}

namespace cuda {

using emulated::forbid_while_recording;
using late::run_until;

bool waits_for_each_call() { return false; }
DeviceFacts open_device(int) {
  DeviceFacts facts;
  facts.name = "late device";
  facts.memory_bytes = facts.free_bytes = 1LL << 32;
  return facts;
}

Memory::~Memory() {
  if (data_ == nullptr) return;
  while (run_any()) {  // cudaFree waits for the device
  }
  std::free(data_);
}

OwnedStream::OwnedStream(bool) : stream_(new Queue) {
  machine().streams.push_back(static_cast<Queue*>(stream_));
}
OwnedStream::~OwnedStream() {
  if (!static_cast<Queue*>(stream_)->empty()) {
    std::fputs("a stream goes away with work on it\n", stderr);
    std::abort();
  }
  std::erase(machine().streams, static_cast<Queue*>(stream_));
  delete static_cast<Queue*>(stream_);
}

Event::Event(bool) : event_(new SharedEvent(std::make_shared<EventState>())) {}
Event::~Event() { delete static_cast<SharedEvent*>(event_); }
void Event::record(Stream stream) {
  forbid_while_recording("cudaEventRecord");
  const SharedEvent event = state_of(event_);
  const int number = ++event->recorded;
  queue_work(stream, [event, number] { event->reached = number; });
}
bool Event::reached() const { return state_of(event_)->reached == state_of(event_)->recorded; }
void Event::wait_on_host() const {
  forbid_while_recording("cudaEventSynchronize");
  run_until([this] { return reached(); });
}
void Event::wait_on(Stream stream) const {
  forbid_while_recording("cudaStreamWaitEvent");
  const SharedEvent event = state_of(event_);
  const int number = event->recorded;  // of this moment, as CUDA has it
  queue_job(stream, {[event, number] { return event->reached >= number; }, [] {}});
}
double Event::seconds_since(const Event&) const { return 0; }

void Graph::launch(Stream stream) const {
  for (const auto& one : *static_cast<emulated::Work*>(graph_)) emulated::submit(stream, one);
}

void synchronize(Stream stream) {
  forbid_while_recording("cudaStreamSynchronize");
  run_until([stream] { return queue_of(stream).empty(); });
}

}  // namespace cuda
}  // namespace bert
