#include "parsers/scan/line_feed.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

namespace bertbench {
namespace {

constexpr std::size_t kPage = 4096;
// A literal that lies across the cut of an overlong line must be seen whole.
constexpr std::size_t kLongestLiteral = 256;
constexpr std::size_t kUnfinished = 2 * LineFeed::kReach + kLongestLiteral;
constexpr std::size_t kCarry = kUnfinished + LineScan::kHistory + kPage;
constexpr std::size_t kLongStep = std::size_t{256} << 10;
constexpr std::size_t kShortStep = 128;
constexpr std::size_t kLongestRepeat = 1024;

// Where the scan may stop short of `end`: after the last line break before from + step, so
// that no line's anchors are parted.
std::size_t end_of_step(std::string_view data, std::size_t from, std::size_t end,
                        std::size_t step) {
  for (; end - from > step; step *= 2) {
    const std::size_t at = find_line_begin(data, from + step, from);
    if (at > from) return at;
  }
  return end;
}

bool is_break(char c) { return c == '\n' || c == '\r'; }

bool is_crlf(std::string_view data, std::size_t at) {
  return data[at] == '\r' && at + 1 < data.size() && data[at + 1] == '\n';
}

}  // namespace

std::size_t end_of_complete_lines(std::string_view data, std::size_t from) {
  const std::size_t size = data.size();
  if (size <= from) return from;
  return find_line_begin(data, data[size - 1] == '\r' ? size - 1 : size, from);
}

LineScan::LineScan(const AnchorScanner& scanner) : scanner_(scanner), step_(kLongStep) {}

void LineScan::drop(std::size_t n) {
  scanned_ -= std::min(scanned_, n);
  taken_ -= std::min(taken_, n);
  unbroken_ -= std::min(unbroken_, n);
  unbroken_end_ -= std::min(unbroken_end_, n);
  origin_ += static_cast<std::int64_t>(n);
}

void LineScan::scan(std::string_view all, std::size_t history, std::size_t end, bool whole,
                    CandidateSink& sink) {
  const std::string_view data = whole ? all.substr(0, end) : all;
  while (scanned_ < end) {
    if (whole && sink.wants_every_line()) {
      emit_next_line(data, history, sink);
      continue;
    }
    const std::size_t stop = whole ? end_of_step(data, scanned_, end, step_) : data.size();
    hits_.clear();
    std::int64_t newlines = scanner_.scan(data, scanned_, stop, hits_);
    std::size_t done = std::min(stop, end);
    for (std::size_t index = 0; index < hits_.size() && hits_[index].offset < end;) {
      const std::size_t after_last = emit(data, history, index, sink);
      // In an overlong line, what the last part holds was seen with it.
      if (!whole) done = std::max(end, taken_);
      if (whole && sink.wants_every_line()) {
        done = std::min(std::max(taken_, after_last), end);
        if (after_last == 0 && done < end) done += is_crlf(data, done) ? 2 : 1;
        newlines = count_newlines(data.substr(scanned_, done - scanned_));
        break;
      }
      if (after_last == 0) continue;
      step_ = kShortStep / 2;
      done = std::max(done, after_last);
      while (index < hits_.size() && hits_[index].offset < after_last) ++index;
    }
    step_ = std::min(step_ * 2, kLongStep);
    line_ += whole ? newlines : 0;  // repeats and overlong lines hold none
    scanned_ = done;
  }
  if (whole) taken_ = end;
}

// Where the part of an overlong line ends whose first hit is the one at `index`: further hits
// belong to it while they are near one another.
std::size_t LineScan::end_of_part(std::size_t index, std::size_t reach) const {
  std::size_t end = std::min(reach, hits_[index].offset + kNearBehind);
  while (++index < hits_.size() && hits_[index].offset < end) {
    end = std::min(reach, hits_[index].offset + kNearBehind);
  }
  return end;
}

// One candidate from the hit at `index` on; moves `index` after the last hit that it holds. When
// the line repeats itself: the offset after the last copy, else 0.
std::size_t LineScan::emit(std::string_view data, std::size_t history, std::size_t& index,
                           CandidateSink& sink) {
  const std::size_t first = index;
  const std::size_t hit = hits_[first].offset;
  Candidate line;
  const std::size_t lowest = std::max(taken_, hit > kReach ? hit - kReach : 0);
  const bool in_unbroken = unbroken_ <= lowest && hit < unbroken_end_;
  std::size_t begin = in_unbroken ? lowest : find_line_begin(data, hit, lowest);
  const std::size_t reach = std::min(data.size(), hit + kReach);
  std::size_t end =
      find_line_break(data.substr(0, reach), in_unbroken ? std::min(unbroken_end_, reach) : hit);
  std::size_t after_last = 0;
  const auto from_its_begin = [&] {
    return history + begin == 0 || is_break(*(data.data() + begin - 1));
  };
  if (end == std::string_view::npos) {
    end = reach;
    if (!in_unbroken) unbroken_ = begin;
    unbroken_end_ = in_unbroken ? std::max(unbroken_end_, reach) : reach;
    if (reach == hit + kReach && !from_its_begin()) {
      begin = std::max(begin, hit - std::min(hit, kNearFront));
      end = end_of_part(first, reach);
    }
    // Cut by the cap: what stands at the cut is not whole either.
    line.terminator = 0;
  } else {
    line.terminator = data[end] == '\n' || is_crlf(data, end) ? '\n' : '\r';
  }
  line.text = data.substr(begin, end - begin);
  line.end_byte = origin_ + static_cast<std::int64_t>(end);
  const std::size_t before = std::min(kHistory, history + begin);
  line.before = {data.data() + begin - before, before};
  if (line.terminator == '\r' && from_its_begin() && line.text.size() <= kLongestRepeat) {
    line.repeats = count_repeats(data, begin, line.text.size());
    if (line.repeats > 0) {
      after_last = end + 1 + static_cast<std::size_t>(line.repeats) * (line.text.size() + 1);
    }
  }
  while (index < hits_.size() && hits_[index].offset < std::max(end, hit + 1)) ++index;
  line.data = data.data();
  line.hits = std::span(hits_).subspan(first, index - first);
  line.number = line_ + hits_[first].newlines;
  taken_ = std::max(end, after_last);
  sink.candidate(line);
  return after_last;
}

// The line that begins at scanned_, whatever it holds.
void LineScan::emit_next_line(std::string_view data, std::size_t history, CandidateSink& sink) {
  const std::size_t begin = scanned_;
  const std::size_t found = find_line_break(data, begin);
  const std::size_t end = std::min(found, data.size());
  Candidate line;
  line.number = line_;
  line.text = data.substr(begin, std::min(end - begin, kReach));
  line.end_byte = origin_ + static_cast<std::int64_t>(end);
  const std::size_t before = std::min(kHistory, history + begin);
  line.before = {data.data() + begin - before, before};
  hits_.clear();
  if (end - begin > kReach) {
    // Not one that the sink waits for; if it has had enough, the line is searched as any other.
    line.terminator = 0;
    sink.candidate(line);
    if (!sink.wants_every_line()) return;
  }
  std::size_t after_last = end;
  if (found == std::string_view::npos) {
    line.terminator = 0;
  } else {
    const bool crlf = is_crlf(data, end);
    line.terminator = data[end] == '\n' || crlf ? '\n' : '\r';
    after_last = end + (crlf ? 2 : 1);
  }
  const std::int64_t newlines = scanner_.scan(data.substr(0, after_last), begin, after_last, hits_);
  if (end - begin <= kReach) {
    line.data = data.data();
    line.hits = hits_;
    sink.candidate(line);
  }
  line_ += newlines;
  taken_ = scanned_ = after_last;
}

namespace {

// Memory of feeds that are gone, for the next ones: fresh pages cost as much as reading a small
// log. Of all threads together, as large logs are read one at a time but each by another thread.
class SpareMemory {
 public:
  std::unique_ptr<char[]> take() {
    {
      const std::lock_guard guard(mutex_);
      if (!spare_.empty()) {
        auto memory = std::move(spare_.back());
        spare_.pop_back();
        return memory;
      }
    }
    return std::unique_ptr<char[]>(new char[kCarry + LineFeed::kBlock + kPage]);
  }

  void give_back(std::unique_ptr<char[]> memory) {
    const std::lock_guard guard(mutex_);
    spare_.push_back(std::move(memory));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<char[]>> spare_;  ///< the one that was used last is taken first
};

SpareMemory& spare_memory() {
  static SpareMemory memory;
  return memory;
}

}  // namespace

LineFeed::LineFeed(const AnchorScanner& scanner) : scan_(scanner), memory_(spare_memory().take()) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.get()) + kCarry;
  block_ = memory_.get() + kCarry + (kPage - address % kPage) % kPage;
  begin_ = end_ = block_;
}

LineFeed::~LineFeed() { spare_memory().give_back(std::move(memory_)); }

std::span<char> LineFeed::room() { return {block_, kBlock}; }

void LineFeed::start_at(std::int64_t number, std::int64_t offset, std::string_view before) {
  scan_.forget();
  scan_.set_line(number);
  scan_.set_origin(offset);
  history_ = std::min(before.size(), LineScan::kHistory);
  std::ranges::copy(before.substr(before.size() - history_), block_ - history_);
  begin_ = end_ = block_;
}

void LineFeed::keep_from(std::size_t start) {
  const std::size_t dropped = std::min(start, static_cast<std::size_t>(end_ - begin_));
  const std::size_t kept = static_cast<std::size_t>(end_ - begin_) - dropped;
  const std::size_t history = std::min(history_ + dropped, LineScan::kHistory);
  std::memmove(block_ - kept - history, begin_ + dropped - history, kept + history);
  history_ = history;
  begin_ = block_ - kept;
  end_ = block_;
  scan_.drop(dropped);
}

void LineFeed::commit(std::size_t n, CandidateSink& sink) {
  bytes_ += static_cast<std::int64_t>(n);
  const auto carried = static_cast<std::size_t>(end_ - begin_);
  end_ = block_ + n;
  const std::string_view data(begin_, static_cast<std::size_t>(end_ - begin_));
  // The carry holds no line break but, perhaps, a '\r' at its end.
  const std::size_t from = carried > 0 ? carried - 1 : 0;
  const std::size_t complete = end_of_complete_lines(data, from);
  const bool any = complete > from;
  if (any) scan_.scan(data, history_, complete, true, sink);
  const std::size_t tail = any ? complete : 0;
  if (data.size() - tail <= kUnfinished) {
    keep_from(tail);
    return;
  }
  scan_.set_unbroken(tail, data.size() - (data.back() == '\r' ? 1 : 0));
  scan_.scan(data, history_, data.size() - kReach - kLongestLiteral, false, sink);
  keep_from(data.size() - kUnfinished);
}

void LineFeed::finish(CandidateSink& sink) {
  const std::string_view data(begin_, static_cast<std::size_t>(end_ - begin_));
  scan_.scan(data, history_, data.size(), true, sink);
  scan_.forget();
  begin_ = end_ = block_;
  history_ = 0;
}

}  // namespace bertbench
