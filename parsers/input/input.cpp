#include "parsers/input/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "parsers/input/tracker_source.h"
#include "parsers/input/utf16.h"

namespace bertbench {
namespace {

constexpr std::size_t kRawBlock = std::size_t{128} << 10;

}  // namespace

Result<std::size_t> DecodedSource::read(std::span<char> buffer) {
  while (taken_ == given_.size()) {
    given_.clear();
    taken_ = 0;
    if (done_) return 0;
    const auto more = decode(given_);
    if (!more) return tl::unexpected(more.error());
    done_ = !*more;
  }
  const std::size_t n = std::min(buffer.size(), given_.size() - taken_);
  std::memcpy(buffer.data(), given_.data() + taken_, n);
  taken_ += n;
  return n;
}

Result<std::string_view> DecodedSource::next(std::size_t n) {
  while (bytes_.size() - at_ < n) {
    bytes_.erase(0, std::exchange(at_, 0));
    const std::size_t have = bytes_.size();
    bytes_.resize(have + kRawBlock);
    const auto got = raw_->read(std::span(bytes_).subspan(have));
    bytes_.resize(have + got.value_or(0));
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) break;
  }
  n = std::min(n, bytes_.size() - at_);
  offset_ += n;
  return std::string_view(bytes_).substr(std::exchange(at_, at_ + n), n);
}

void DecodedSource::set_problem(std::string text) {
  if (problem_.empty()) problem_ = std::move(text);
}

namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(std::string path, int fd, bool regular)
      : path_(std::move(path)), fd_(fd), regular_(regular) {}
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override {
    if (fd_ != STDIN_FILENO) ::close(fd_);
  }

  Result<std::size_t> read(std::span<char> buffer) override {
    while (true) {
      const ssize_t n = ::read(fd_, buffer.data(), buffer.size());
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno == EINTR) continue;
      return fail(path_, std::string("cannot be read: ") + std::strerror(errno),
                  errno == EISDIR ? "name the log files in it" : "");
    }
  }
  [[nodiscard]] int plain_file() const override { return regular_ ? fd_ : -1; }

 private:
  std::string path_;
  int fd_;
  bool regular_;
};

class GzipSource final : public DecodedSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> raw) : DecodedSource(std::move(raw)) {
    inflateInit2(&stream_, 15 + 16);
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { inflateEnd(&stream_); }

 private:
  Result<bool> decode(std::string& out) override {
    if (stream_.avail_in == 0) {
      const auto got = next(kRawBlock);
      if (!got) return tl::unexpected(got.error());
      if (got->empty()) {
        if (!between_members_) set_problem("the gzip stream is truncated: read up to its end");
        return false;
      }
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(got->data()));
      stream_.avail_in = static_cast<uInt>(got->size());
    }
    // Zero padding after the last member is legal.
    while (between_members_ && stream_.avail_in > 0 && *stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
    }
    if (stream_.avail_in == 0) return true;
    out.resize(kRawBlock);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = kRawBlock;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    out.resize(kRawBlock - stream_.avail_out);
    between_members_ = status == Z_STREAM_END;
    if (between_members_) {
      inflateReset(&stream_);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      set_problem(std::string("the gzip stream is damaged (") +
                  (stream_.msg != nullptr ? stream_.msg : "unknown error") + "): read up to there");
      return false;
    }
    return true;
  }

  z_stream stream_{};
  bool between_members_ = false;
};

class ZstdSource final : public DecodedSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> raw)
      : DecodedSource(std::move(raw)), context_(ZSTD_createDCtx()) {
    // A frame names the memory that its reader has to give. RFC 8878 asks readers for 8 MiB, which
    // levels up to 19 stay within; with more no bound of ours would hold.
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, 23);
  }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;
  ~ZstdSource() override { ZSTD_freeDCtx(context_); }

 private:
  Result<bool> decode(std::string& decoded) override {
    if (in_.pos == in_.size && !flush_) {
      const auto got = next(kRawBlock);
      if (!got) return tl::unexpected(got.error());
      if (got->empty()) {
        if (!frame_ended_) set_problem("the zstd stream is truncated: read up to its end");
        return false;
      }
      in_ = {got->data(), got->size(), 0};
    }
    const std::size_t taken = in_.pos;
    // One block a call: what was decoded in a call that meets damage is lost, and given a whole
    // small frame the library decodes it in one go or not at all.
    ZSTD_inBuffer block = in_;
    block.size = flush_ ? in_.pos : std::min(in_.size, in_.pos + hint_);
    decoded.resize(kRawBlock);
    ZSTD_outBuffer out{decoded.data(), decoded.size(), 0};
    const std::size_t status = ZSTD_decompressStream(context_, &out, &block);
    decoded.resize(out.pos);
    in_.pos = block.pos;
    if (ZSTD_isError(status) != 0) {
      set_problem(ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge
                      ? "the zstd stream asks for a window of more than 8 MiB (zstd --long or "
                        "--ultra): read up to there; let zstd -dc decompress it into a pipe"
                      : std::string("the zstd stream is damaged (") + ZSTD_getErrorName(status) +
                            "): read up to there");
      return false;
    }
    hint_ = status == 0 ? kFrameStart : status;
    if (in_.pos > taken || out.pos > 0) frame_ended_ = status == 0;
    flush_ = out.pos == out.size;  // the decoder may hold more than fitted
    return true;
  }

  ZSTD_DCtx* context_;
  static constexpr std::size_t kFrameStart = 5;  ///< bytes from which a header's length is known
  ZSTD_inBuffer in_{nullptr, 0, 0};
  std::size_t hint_ = kFrameStart;  ///< how much the decoder wants next
  bool flush_ = false;
  bool frame_ended_ = false;
};

class Utf16Source final : public DecodedSource {
 public:
  using DecodedSource::DecodedSource;

 private:
  Result<bool> decode(std::string& out) override {
    const auto bytes = next(kRawBlock);
    if (!bytes) return tl::unexpected(bytes.error());
    decoder_.decode(*bytes, out);
    return !bytes->empty();
  }

  Utf16Decoder decoder_;
};

/// What was read to look at it, then the rest.
class HeadThenRest final : public ByteSource {
 public:
  HeadThenRest(std::string head, std::unique_ptr<ByteSource> rest)
      : head_(std::move(head)), rest_(std::move(rest)) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    if (at_ == head_.size()) return rest_->read(buffer);
    const std::size_t n = head_.copy(buffer.data(), buffer.size(), at_);
    at_ += n;
    return n;
  }
  [[nodiscard]] bool is_slow() const override { return rest_->is_slow(); }
  [[nodiscard]] std::string problem() const override { return rest_->problem(); }

 private:
  std::string head_;
  std::size_t at_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

/// A source whose first bytes are known, and which gives them again.
struct Peeked {
  std::string head;
  std::unique_ptr<ByteSource> source;
};
Result<Peeked> peek(std::unique_ptr<ByteSource> source) {
  std::string head(kTrackerHead, '\0');
  std::size_t n = 0;
  if (const int file = source->plain_file(); file >= 0) {  // the file's place stays
    const ssize_t got = ::pread(file, head.data(), head.size(), 0);
    head.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return Peeked{std::move(head), std::move(source)};
  }
  while (n < head.size()) {
    const auto got = source->read(std::span(head).subspan(n));
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) break;
    n += *got;
  }
  head.resize(n);
  return Peeked{head, std::make_unique<HeadThenRest>(head, std::move(source))};
}

/// A tracker's file may be compressed as a log is.
Result<std::unique_ptr<ByteSource>> open_unpacked(std::unique_ptr<ByteSource> source) {
  auto peeked = peek(std::move(source));
  if (!peeked) return tl::unexpected(peeked.error());
  return open_tracker(tracker_of(peeked->head), std::move(peeked->source));
}

/// The pipe that this program writes to, such as /dev/stdout: a read of it would wait for ever.
bool is_own_output(const struct stat& info) {
  struct stat out {};
  return S_ISFIFO(info.st_mode) && ::fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == info.st_dev &&
         out.st_ino == info.st_ino;
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_source(const std::string& path) {
  int fd = STDIN_FILENO;
  if (path != "-") {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return fail(path, std::string("cannot be opened: ") + std::strerror(errno));
  }
  struct stat info {};
  if (::fstat(fd, &info) != 0) info.st_mode = 0;
  if (path != "-" && S_ISDIR(info.st_mode)) {
    ::close(fd);
    return fail(path, "is a directory, not a log", "name the log files in it");
  }
  if (path != "-" && is_own_output(info)) {
    ::close(fd);
    return fail(path, "is the output of this command, not a log", "`-o FILE` writes the result");
  }
  const bool regular = path != "-" && S_ISREG(info.st_mode);
#ifdef F_SETPIPE_SZ
  // A larger pipe doubles what can be read from one; a refusal costs nothing.
  if (!regular) (void)::fcntl(fd, F_SETPIPE_SZ, 1 << 20);
#endif
  auto file = peek(std::make_unique<FileSource>(path, fd, regular));
  if (!file) return tl::unexpected(file.error());
  const std::string_view head = file->head;
  auto& source = file->source;
  if (begins_in_utf16(head)) return std::make_unique<Utf16Source>(std::move(source));
  if (head.starts_with("\x1f\x8b"))
    return open_unpacked(std::make_unique<GzipSource>(std::move(source)));
  if (head.starts_with("\x28\xb5\x2f\xfd"))
    return open_unpacked(std::make_unique<ZstdSource>(std::move(source)));
  return open_tracker(tracker_of(head), std::move(source));
}

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

RereadSource::RereadSource(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), file_(open_temporary_file()) {}

Result<std::size_t> RereadSource::read(std::span<char> buffer) {
  auto got = source_->read(buffer);
  if (!got || *got == 0 || !file_) return got;
  const bool fits = kept_ + *got <= kBytesKept;
  if (!fits || ::write(::fileno(file_.get()), buffer.data(), *got) != static_cast<ssize_t>(*got)) {
    file_.reset();
  }
  kept_ += *got;
  return got;
}

std::unique_ptr<ByteSource> RereadSource::again() const {
  const int copy = file_ ? ::fcntl(::fileno(file_.get()), F_DUPFD_CLOEXEC, 0) : -1;
  if (copy < 0 || ::lseek(copy, 0, SEEK_SET) != 0) return nullptr;
  return std::make_unique<FileSource>("the copy of the pipe", copy, false);
}

bool is_read_once(const std::string& path) {
  struct stat info {};
  return path == "-" || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode);
}

}  // namespace bertbench
