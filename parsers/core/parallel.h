// Work on many equal things on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace bertbench {

/// Calls work(i) for every i < count, on several threads where each gets `least` of them or more.
/// work() does not throw.
template <class Work>
void for_each_index(std::size_t count, std::size_t least, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const std::size_t most = std::min<std::size_t>(std::thread::hardware_concurrency(), 16);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(most, count / least); ++i) {
    try {
      others.emplace_back(run);
    } catch (const std::system_error&) {
      break;  // no thread to be had: this one does it all
    }
  }
  run();
  for (auto& thread : others) thread.join();
}

}  // namespace bertbench
