#include "workloads/bert/train/state_exchange.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace bert {
namespace {

constexpr std::int64_t kPart = std::int64_t{1} << 22;  // elements, 16 MiB

}  // namespace

std::int64_t state_elements(const Backend& backend) {
  std::int64_t end = 0;
  for (const Parameter& parameter : backend.parameters()) {
    end = std::max(end, parameter.offset + parameter.size);
  }
  return end;
}

void for_each_part(const Backend& backend,
                   const std::function<void(std::int64_t, std::span<float>)>& body) {
  const std::int64_t total = state_elements(backend);
  std::vector<float> buffer(static_cast<std::size_t>(std::min(total, kPart)));
  for (std::int64_t offset = 0; offset < total; offset += kPart) {
    const auto size = static_cast<std::size_t>(std::min(kPart, total - offset));
    body(offset, std::span(buffer).first(size));
  }
}

bool same_everywhere(Communicator& communicator, std::uint64_t number) {
  const auto bits = static_cast<std::int64_t>(number >> 2);
  std::int64_t extremes[2] = {bits, -bits};
  communicator.all_reduce_max(extremes);
  return extremes[0] == -extremes[1];
}

std::uint64_t command_fingerprint(const std::vector<std::string>& command) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    const std::string name = word.substr(0, word.find('='));
    if (name == "--timings" || name == "--threads" || name.starts_with("--log-")) {
      i += name == word ? 1 : 0;
      continue;
    }
    for (const char c : word + '\n') {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
  }
  return hash;
}

void broadcast_state(Backend& backend, Communicator& communicator, StateArray array) {
  for_each_part(backend, [&](std::int64_t offset, std::span<float> part) {
    backend.read_state(array, offset, part);
    communicator.broadcast(part, 0);
    backend.write_state(array, offset, part);
  });
}

double all_reduce_through_host(Backend& backend, Communicator& communicator) {
  const auto start = std::chrono::steady_clock::now();
  for_each_part(backend, [&](std::int64_t offset, std::span<float> part) {
    backend.read_state(StateArray::gradients, offset, part);
    communicator.all_reduce_sum(part);
    backend.write_state(StateArray::gradients, offset, part);
  });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace bert
