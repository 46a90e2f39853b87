#include "workloads/bert/comm/gradient_reducer.h"

#include <chrono>
#include <stdexcept>

namespace bert {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

}  // namespace

GradientReducer::GradientReducer(Communicator& communicator, std::int64_t bucket_bytes)
    : communicator_(communicator),
      bucket_elements_(bucket_bytes / static_cast<std::int64_t>(sizeof(float))),
      thread_([this] { run(); }) {}

GradientReducer::~GradientReducer() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

void GradientReducer::begin(std::span<float> gradients) {
  gradients_ = gradients;
  planner_.emplace(static_cast<std::int64_t>(gradients.size()), bucket_elements_);
  busy_seconds_ = 0;
}

void GradientReducer::ready(std::int64_t offset, std::int64_t size) {
  const auto buckets = planner_->add(offset, size);
  if (buckets.empty()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), buckets.begin(), buckets.end());
  }
  changed_.notify_all();
}

void GradientReducer::wait() {
  const auto start = SteadyClock::now();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (queue_.empty() && !working_) || error_ != nullptr; });
  if (error_ != nullptr) {
    std::rethrow_exception(error_);
  }
  if (!planner_->finished()) {
    throw std::logic_error("backward ended before all gradients were reported as ready");
  }
  exposed_seconds_ = seconds_since(start);
}

void GradientReducer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return quit_ || !queue_.empty(); });
    if (quit_) {
      return;
    }
    const GradientRange bucket = queue_.front();
    queue_.pop_front();
    working_ = true;
    lock.unlock();
    const auto start = SteadyClock::now();
    std::exception_ptr error;
    try {
      communicator_.all_reduce_sum(gradients_.subspan(static_cast<std::size_t>(bucket.offset),
                                                      static_cast<std::size_t>(bucket.size)));
    } catch (...) {
      error = std::current_exception();
    }
    const double seconds = seconds_since(start);
    lock.lock();
    busy_seconds_ += seconds;
    working_ = false;
    if (error != nullptr) {
      error_ = error;
      queue_.clear();
      changed_.notify_all();
      return;
    }
    changed_.notify_all();
  }
}

}  // namespace bert
