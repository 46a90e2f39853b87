#include "workloads/bert/cuda/step_graphs.h"

#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace bert::cuda {

bool StepGraphs::run(const Kind& kind, Stream stream, const Queue& queue,
                     const std::function<void()>& forward_done) {
  const auto [known, is_first] = graphs_.try_emplace(kind);
  if (is_first) {
    queue(forward_done);
    return false;
  }
  Graphs& graphs = known->second;
  const bool replayed = graphs.recorded;
  if (!replayed) record(graphs, stream, queue);
  graphs.forward.launch(stream);
  forward_done();
  graphs.backward.launch(stream);
  return replayed;
}

/// The halves are apart so that the event between them is no part of a graph: its time could not be
/// read.
void StepGraphs::record(Graphs& graphs, Stream stream, const Queue& queue) {
  try {
    std::optional<Recording> recording(std::in_place, stream);
    queue([&] {
      graphs.forward = recording->end();
      recording.emplace(stream);
    });
    graphs.backward = recording->end();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw std::runtime_error(std::string("a micro-step cannot be recorded as a CUDA graph: ") +
                             error.what() + "; take --cuda-graph off");
  }
  graphs.recorded = true;
}

}  // namespace bert::cuda
