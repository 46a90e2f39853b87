#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "workloads/bert/comm/make_communicator.h"

namespace bert {
namespace {

using Clock = std::chrono::steady_clock;

/// A rank's own part of the block. `arrived` counts the barriers that it came to.
struct alignas(64) Arrival {
  std::atomic<std::uint32_t> arrived{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "it is shared between processes");

/// Bytes that a rank hands over at a time, and at most of all of them: some of a core's L2 cache,
/// and what a machine with many ranks can spare.
constexpr std::size_t kSlot = 1 << 20, kAllSlots = 256 << 20;
/// While a rank uses one set of slots the others may still read the other.
constexpr std::size_t kSets = 2;
/// Looks at a rank that is about to come, before the thread sleeps.
constexpr int kSpins = 200;
constexpr std::size_t kPage = 4096;

/// Anonymous shared memory: rank 0 makes it, the others open it through its process.
class Block {
 public:
  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    if (data_ != nullptr) munmap(data_, size_);
    if (file_ >= 0) close(file_);
  }

  /// "PID FILE SIZE" for open(); empty: the system has none.
  std::string make(std::size_t size) {
    file_ = static_cast<int>(memfd_create(kName, MFD_CLOEXEC));
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(size)) != 0 || !map(size)) return "";
    return fmt::format("{} {}", getpid(), file_);
  }
  bool open(const std::string& place, std::size_t size) {
    const std::size_t blank = place.find(' ');
    if (blank == std::string::npos) return false;
    const std::string path =
        fmt::format("/proc/{}/fd/{}", place.substr(0, blank), place.substr(blank + 1));
    // Another machine or container has another process of this number: its file is not what was
    // sent, may be a terminal or a device, and is left alone.
    std::error_code unknown;
    if (std::filesystem::read_symlink(path, unknown) != fmt::format("/memfd:{} (deleted)", kName)) {
      return false;
    }
    file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat found {};
    return file_ >= 0 && fstat(file_, &found) == 0 && S_ISREG(found.st_mode) &&
           found.st_size == static_cast<off_t>(size) && map(size);
  }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  bool map(std::size_t size) {
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (at == MAP_FAILED) return false;
    data_ = static_cast<std::byte*>(at);
    size_ = size;
    return true;
  }
  static constexpr const char* kName = "bert_train";
  int file_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

class ShmCommunicator : public Communicator {
 public:
  explicit ShmCommunicator(const LaunchEnvironment& env)
      : env_(env), world_(static_cast<std::size_t>(env.world_size)) {
    slot_ = std::min(kSlot, kAllSlots / kSets / (world_ + 1) / kPage * kPage);
    start_ = (world_ * sizeof(Arrival) + kPage - 1) / kPage * kPage;
  }

  /// Whether every rank could map the block; the same on all of them.
  bool connect(Rendezvous& ranks) {
    const std::size_t size = start_ + kSets * (world_ + 1) * slot_;
    TcpStore& store = ranks.store();
    bool mapped = false;
    if (env_.rank == 0) {
      const std::string place = block_.make(size);
      mapped = !place.empty();
      // A secret of this job is at its start until all have looked: a process of the same number
      // elsewhere does not have it.
      const auto secret = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
      if (mapped) std::memcpy(block_.data(), &secret, sizeof secret);
      store.set("shm/place", place);
      store.set("shm/secret", fmt::format("{}", secret));
    } else {
      const std::string place = store.get("shm/place"), secret = store.get("shm/secret");
      std::uint64_t found = 0;
      if (block_.open(place, size)) std::memcpy(&found, block_.data(), sizeof found);
      mapped = found != 0 && fmt::format("{}", found) == secret;
    }
    store.set(fmt::format("shm/mapped/{}", env_.rank), mapped ? "yes" : "no");
    for (int other = 0; other < env_.world_size; ++other) {
      mapped &= store.get(fmt::format("shm/mapped/{}", other)) == "yes";
    }
    if (!mapped) return false;
    if (env_.rank == 0) {
      for (std::size_t i = 0; i < world_; ++i) new (arrivals() + i) Arrival;
      store.set("shm/ready", "yes");
    }
    return store.get("shm/ready") == "yes";
  }
  void take(std::unique_ptr<Rendezvous> ranks) { ranks_ = std::move(ranks); }

  void finish() override {
    barrier();
    ranks_->leave();
  }

  [[nodiscard]] int rank() const override { return env_.rank; }
  [[nodiscard]] int world_size() const override { return env_.world_size; }
  void all_reduce_sum(std::span<float> values) override {
    reduce(values, [](float a, float b) { return a + b; });
  }
  void all_reduce_sum(std::span<double> values) override {
    reduce(values, [](double a, double b) { return a + b; });
  }
  void all_reduce_max(std::span<std::int64_t> values) override {
    reduce(values, [](std::int64_t a, std::int64_t b) { return a < b ? b : a; });
  }

  void broadcast(std::span<float> values, int root) override {
    const std::size_t most = slot_ / sizeof(float);
    for (std::size_t at = 0; at < values.size(); at += most) {
      const std::span<float> part = values.subspan(at, std::min(most, values.size() - at));
      if (rank() == root) std::copy(part.begin(), part.end(), slot<float>(own()));
      meet("broadcast");
      if (rank() != root) std::copy_n(slot<float>(own(root)), part.size(), part.begin());
      next_set();
    }
  }

  void barrier() override { meet("barrier"); }

  [[nodiscard]] std::string description() const override {
    return fmt::format("shared memory, {} ranks, {}", world_, ranks_->place());
  }

 private:
  /// Each rank lays down its values, combines its share of everyone's, and takes up the whole.
  template <typename T, typename Combine>
  void reduce(std::span<T> values, const Combine& combine) {
    const std::size_t most = slot_ / sizeof(T);
    for (std::size_t at = 0; at < values.size(); at += most) {
      const std::span<T> part = values.subspan(at, std::min(most, values.size() - at));
      std::copy(part.begin(), part.end(), slot<T>(own()));
      meet("all-reduce");
      const std::size_t begin = part.size() * own() / world_;
      const std::size_t end = part.size() * (own() + 1) / world_;
      T* result = slot<T>(world_);
      std::copy(slot<T>(0) + begin, slot<T>(0) + end, result + begin);
      for (std::size_t other = 1; other < world_; ++other) {
        const T* in = slot<T>(other);
#pragma omp simd
        for (std::size_t i = begin; i < end; ++i) result[i] = combine(result[i], in[i]);
      }
      meet("all-reduce");
      std::copy_n(result, part.size(), part.begin());
      next_set();
    }
  }

  [[nodiscard]] std::size_t own() const { return own(env_.rank); }
  static std::size_t own(int rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] Arrival* arrivals() const { return reinterpret_cast<Arrival*>(block_.data()); }
  /// Of a rank, in the present set; after the last rank's that of the result.
  template <typename T>
  [[nodiscard]] T* slot(std::size_t number) const {
    return reinterpret_cast<T*>(block_.data() + start_ + (set_ * (world_ + 1) + number) * slot_);
  }
  void next_set() { set_ = (set_ + 1) % kSets; }

  /// Returns once every rank came as often as this one.
  void meet(const char* what) {
    ++met_;
    arrivals()[own()].arrived.store(met_, std::memory_order_release);
    futex(arrivals()[own()].arrived, FUTEX_WAKE, static_cast<std::uint32_t>(world_), nullptr);
    const auto deadline = Clock::now() + ranks_->timeout();
    for (std::size_t other = 0; other < world_; ++other) {
      wait_for(arrivals()[other].arrived, what, deadline);
    }
  }

  void wait_for(std::atomic<std::uint32_t>& arrived, const char* what, Clock::time_point deadline) {
    const auto came = [&] {  // counts wrap around
      return static_cast<std::int32_t>(arrived.load(std::memory_order_acquire) - met_) >= 0;
    };
    for (int spin = 0; spin < kSpins; ++spin) {
      if (came()) return;
    }
    while (true) {
      const std::uint32_t count = arrived.load(std::memory_order_acquire);
      if (came()) return;
      const timespec moment{0, 100'000'000};
      futex(arrived, FUTEX_WAIT, count, &moment);
      // A rank that came and then left for good is no loss to this collective.
      const auto lost = came() ? std::nullopt : ranks_->lost_rank_now_and_then();
      if (lost && !came()) {
        throw std::runtime_error(ranks_->blame(what, fmt::format("rank {} is gone", *lost)));
      }
      if (Clock::now() > deadline && !came()) {
        throw std::runtime_error(ranks_->blame(what, "a rank did not come"));
      }
    }
  }

  static void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
                    const timespec* limit) {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, limit, nullptr,
            0);
  }

  LaunchEnvironment env_;
  std::size_t world_, slot_ = 0, start_ = 0;  ///< ranks; bytes of a slot; offset of the first one
  Block block_;
  std::size_t set_ = 0;
  std::uint32_t met_ = 0;
  std::unique_ptr<Rendezvous> ranks_;
};

}  // namespace

std::unique_ptr<Communicator> make_shm_communicator(const LaunchEnvironment& environment,
                                                    std::unique_ptr<Rendezvous>& ranks) {
  auto made = std::make_unique<ShmCommunicator>(environment);
  if (!made->connect(*ranks)) return nullptr;
  made->take(std::move(ranks));
  return made;
}

}  // namespace bert
