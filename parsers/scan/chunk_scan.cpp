#include "parsers/scan/chunk_scan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace bertbench {
namespace {

constexpr std::int64_t kFirstLookBack = 16 << 10;  ///< looked at first for the break before a chunk
constexpr std::int64_t kFullLookBack = 96 << 10;   ///< a line that begins further back is overlong
constexpr std::int64_t kHistory = LineScan::kHistory;
static_assert(kFullLookBack > 2 * std::int64_t{LineScan::kReach} + kHistory);

/// A candidate by its place in the chunk's bytes.
struct Found {
  std::uint32_t begin = 0, size = 0, first_hit = 0, hits = 0, before = 0;
  char terminator = 0;
  std::int64_t number = 0, repeats = 0;
};

/// Bytes of a chunk and what was found in them.
class Chunk final : public CandidateSink {
 public:
  Chunk(const AnchorScanner& scanner, std::size_t size)
      : scanner_(scanner), memory_(new char[kFullLookBack + size]) {}

  /// errno of a failed read, else 0. Lines [begin, end) of the file are there then, and searched
  /// for candidates; begin == end when the chunk holds no line break.
  int read(int file, std::int64_t start, std::int64_t stop) {
    found_.clear();
    hits_.clear();
    newlines = 0;
    origin_ = start - kFullLookBack;
    std::int64_t held = std::max<std::int64_t>(0, start - kFirstLookBack);
    std::int64_t got = 0;
    if (const int error = fill(file, held, stop, got); error != 0) return error;
    begin = end = start;
    if (got <= start) return 0;
    const auto text = [&](std::int64_t from, std::int64_t to) {
      return std::string_view(at(from), static_cast<std::size_t>(to - from));
    };
    const auto last_break = [&](std::int64_t from, std::int64_t to) {
      return from + static_cast<std::int64_t>(end_of_complete_lines(text(from, to), 0));
    };
    begin = last_break(held, start);
    if (held > 0 && begin - held < kHistory) {  // no break that near, or too little before it
      const std::int64_t far = std::max<std::int64_t>(0, start - kFullLookBack);
      std::int64_t before = 0;
      if (const int error = fill(file, far, held, before); error != 0) return error;
      if (before == held) held = far;
      begin = last_break(held, start);
    }
    if (begin - held < kHistory && held > 0) {
      // An overlong line reaches into the chunk: its own lines begin after the first break.
      const std::string_view rest = text(start, got);
      const std::size_t found = find_line_break(rest, 0);
      const bool crlf = found < rest.size() && rest.substr(found, 2) == "\r\n";
      const std::size_t after = found + (crlf ? 2 : 1);
      if (found == std::string_view::npos || after >= rest.size()) {
        begin = end = start;
        return 0;
      }
      begin = start + static_cast<std::int64_t>(after);
    }
    end = last_break(begin, got);
    if (end == begin) return 0;
    text_ = text(begin, end);
    before_ = static_cast<std::size_t>(begin - held);
    LineScan scan(scanner_);
    scan.scan(text_, before_, text_.size(), true, *this);
    newlines = scan.line() - 1;
    return 0;
  }

  void hand_on(std::int64_t first_line, CandidateSink& sink) const {
    for (const Found& found : found_) {
      Candidate line;
      line.text = text_.substr(found.begin, found.size);
      line.number = first_line + found.number - 1;
      line.end_byte = begin + found.begin + found.size;
      line.terminator = found.terminator;
      line.data = text_.data();
      line.hits = std::span(hits_).subspan(found.first_hit, found.hits);
      line.repeats = found.repeats;
      line.before = {line.text.data() - found.before, found.before};
      sink.candidate(line);
    }
  }

  std::int64_t begin = 0, end = 0;
  std::int64_t newlines = 0;

 private:
  void candidate(const Candidate& line) override {
    Found found;
    found.begin = static_cast<std::uint32_t>(line.text.data() - text_.data());
    found.size = static_cast<std::uint32_t>(line.text.size());
    found.first_hit = static_cast<std::uint32_t>(hits_.size());
    found.hits = static_cast<std::uint32_t>(line.hits.size());
    found.before = static_cast<std::uint32_t>(line.before.size());
    found.terminator = line.terminator;
    found.number = line.number;
    found.repeats = line.repeats;
    hits_.insert(hits_.end(), line.hits.begin(), line.hits.end());
    found_.push_back(found);
  }

  int fill(int file, std::int64_t from, std::int64_t to, std::int64_t& got) {
    got = from;
    while (got < to) {
      const ssize_t n = ::pread(file, at(got), static_cast<std::size_t>(to - got), got);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      if (n == 0) return 0;  // cut short meanwhile
      got += n;
    }
    return 0;
  }

  [[nodiscard]] char* at(std::int64_t offset) const { return memory_.get() + (offset - origin_); }

  const AnchorScanner& scanner_;
  std::unique_ptr<char[]> memory_;
  std::int64_t origin_ = 0;  ///< offset in the file of memory_[0]
  std::string_view text_;    ///< the lines
  std::size_t before_ = 0;   ///< bytes before them that may be looked at
  std::vector<Found> found_;
  std::vector<AnchorHit> hits_;
};

std::size_t rooms_for(std::size_t threads) { return std::max<std::size_t>(2 * threads, 3); }

/// Large ones cost the kernel less to copy; together they stay within a bound.
std::size_t chunk_for(std::size_t threads) {
  constexpr std::size_t kTogether = std::size_t{8} << 20;
  constexpr std::size_t kSmallestChunk = std::size_t{128} << 10,
                        kLargestChunk = std::size_t{2} << 20;
  return std::clamp(std::bit_floor(kTogether / rooms_for(threads)), kSmallestChunk, kLargestChunk);
}

/// Chunks are taken in order by any thread; whichever thread is free hands on the next one that is
/// ready.
class ChunkedFile {
 public:
  ChunkedFile(int file, const AnchorScanner& scanner, std::size_t threads, std::size_t chunk,
              std::int64_t size, CandidateSink& sink)
      : file_(file),
        size_(size),
        step_(static_cast<std::int64_t>(chunk)),
        chunks_((size + step_ - 1) / step_),
        sink_(sink),
        rest_(scanner) {
    const auto most = static_cast<std::size_t>(chunks_);
    const std::size_t rooms = std::min(rooms_for(threads), most);
    for (std::size_t i = 0; i < rooms; ++i) {
      rooms_.push_back(std::make_unique<Chunk>(scanner, chunk));
      ready_.push_back(false);
    }
  }

  void work() {
    const auto rooms = std::ssize(rooms_);
    std::unique_lock lock(mutex_);
    const auto self = std::this_thread::get_id();
    while (handed_on_ < chunks_ && error_ == 0) {
      const bool ready = !handing_on_ && ready_[static_cast<std::size_t>(handed_on_ % rooms)];
      const bool has_room = taken_ < chunks_ && taken_ < handed_on_ + rooms;
      // What was found lies in the cache of the thread that handed on last: others read while they
      // can.
      if (ready && (!has_room || handed_on_ == 0 || last_hander_ == self)) {
        last_hander_ = self;
        const auto room = static_cast<std::size_t>(handed_on_ % rooms);
        handing_on_ = true;
        lock.unlock();
        hand_on(*rooms_[room]);
        lock.lock();
        handing_on_ = false;
        ready_[room] = false;
        ++handed_on_;
        changed_.notify_all();
      } else if (has_room) {
        const std::int64_t k = taken_++;
        const auto room = static_cast<std::size_t>(k % rooms);
        lock.unlock();
        const int error = rooms_[room]->read(file_, k * step_, std::min(size_, (k + 1) * step_));
        lock.lock();
        if (error != 0) error_ = error;
        ready_[room] = true;
        changed_.notify_all();
      } else {
        changed_.wait(lock);
      }
    }
    changed_.notify_all();
  }

  /// What stands after the last chunk's last line, and what was appended since.
  int finish() { return error_ != 0 ? error_ : feed_until(-1); }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] std::int64_t position() const { return position_; }

 private:
  void hand_on(Chunk& chunk) {
    if (chunk.begin == chunk.end) return;
    if (position_ < chunk.begin) {
      if (const int error = feed_until(chunk.begin); error != 0) {
        const std::lock_guard lock(mutex_);
        error_ = error;
        return;
      }
    }
    chunk.hand_on(line_, sink_);
    line_ += chunk.newlines;
    position_ = chunk.end;
  }

  // The lines from position_ to `stop`, or to the end of the file if that is negative.
  int feed_until(std::int64_t stop) {
    std::vector<char> before(static_cast<std::size_t>(std::min(position_, kHistory)));
    ssize_t n = 0;
    do {
      n = ::pread(file_, before.data(), before.size(), position_ - std::ssize(before));
    } while (n < 0 && errno == EINTR);
    if (n < 0) return errno;
    const bool full = n == std::ssize(before);  // else it was cut short meanwhile
    rest_.start_at(line_, position_, full ? std::string_view(before.data(), before.size()) : "");
    while (stop < 0 || position_ < stop) {
      std::span<char> room = rest_.room();
      if (stop >= 0) {
        room = room.first(std::min(room.size(), static_cast<std::size_t>(stop - position_)));
      }
      n = ::pread(file_, room.data(), room.size(), position_);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      if (n == 0) break;
      position_ += n;
      rest_.commit(static_cast<std::size_t>(n), sink_);
    }
    rest_.finish(sink_);
    line_ = rest_.line();
    return 0;
  }

  const int file_;
  const std::int64_t size_, step_, chunks_;
  CandidateSink& sink_;
  LineFeed rest_;
  std::vector<std::unique_ptr<Chunk>> rooms_;  ///< chunk k lies in room k modulo their number

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> ready_;
  std::int64_t taken_ = 0, handed_on_ = 0;  ///< chunks
  bool handing_on_ = false;
  std::thread::id last_hander_;  ///< that handed on the newest chunk
  int error_ = 0;

  // Only of the thread that hands on.
  std::int64_t position_ = 0;  ///< lines before it were handed on
  std::int64_t line_ = 1;      ///< its number
};

}  // namespace

Result<void> scan_chunks(int file, const std::string& path, const AnchorScanner& scanner,
                         const ChunkOptions& options, CandidateSink& sink, std::int64_t& bytes) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return fail(path, std::strerror(errno));
  const std::size_t chunk = options.chunk > 0 ? options.chunk : chunk_for(options.threads);
  ChunkedFile chunked(file, scanner, options.threads, chunk, info.st_size, sink);
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < options.threads; ++i) {
      others.emplace_back([&chunked] { chunked.work(); });
    }
    chunked.work();
  }

  const int error = chunked.finish();
  bytes = chunked.position();
  if (error != 0) return fail(path, std::string("cannot be read: ") + std::strerror(error));
  return {};
}

}  // namespace bertbench
