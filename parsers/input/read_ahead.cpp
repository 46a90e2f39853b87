#include "parsers/input/read_ahead.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace bertbench {
namespace {

class ReadAhead final : public ByteSource {
 public:
  explicit ReadAhead(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {
    for (Block& block : blocks_) block.bytes.resize(kBlock);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead() override {
    thread_.request_stop();
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
  }

  Result<std::size_t> read(std::span<char> buffer) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return first_ < next_ || ended_; });
    if (first_ == next_) {
      if (error_) return tl::unexpected(*error_);
      return std::size_t{0};
    }
    Block& block = blocks_[first_ % kBlocks];
    lock.unlock();
    const std::size_t n = std::min(buffer.size(), block.size - block.at);
    std::memcpy(buffer.data(), block.bytes.data() + block.at, n);
    block.at += n;
    if (block.at < block.size) return n;
    lock.lock();
    ++first_;
    changed_.notify_all();
    return n;
  }
  /// Only after the end of input, when the thread is done with the source.
  [[nodiscard]] std::string problem() const override { return source_->problem(); }

 private:
  static constexpr std::size_t kBlock = std::size_t{256} << 10;
  static constexpr std::size_t kBlocks = 4;
  struct Block {
    std::vector<char> bytes;
    std::size_t at = 0, size = 0;
  };

  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      changed_.wait(lock, [&] { return next_ - first_ < kBlocks || stopped_; });
      if (stop.stop_requested()) return;
      Block& block = blocks_[next_ % kBlocks];
      lock.unlock();
      auto got = source_->read(block.bytes);
      lock.lock();
      if (!got) error_ = got.error();
      ended_ = !got || *got == 0;
      if (!ended_) {
        block.at = 0;
        block.size = *got;
        ++next_;
      }
      changed_.notify_all();
    }
  }

  std::unique_ptr<ByteSource> source_;
  std::array<Block, kBlocks> blocks_;  ///< [first_, next_) hold bytes, modulo their number
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t first_ = 0, next_ = 0;
  bool ended_ = false, stopped_ = false;
  std::optional<Error> error_;
  std::jthread thread_;  ///< last: it uses the others
};

}  // namespace

std::unique_ptr<ByteSource> read_ahead(std::unique_ptr<ByteSource> source) {
  if (!source->is_slow()) return source;
  return std::make_unique<ReadAhead>(std::move(source));
}

}  // namespace bertbench
