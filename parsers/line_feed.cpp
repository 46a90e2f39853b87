#include "parsers/line_feed.h"

#include <algorithm>
#include <cstring>

namespace bertbench {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kCarry = 2 * LineFeed::kReach + kPage;

// Offset behind the last line break; a '\r' at the very end may be half of a "\r\n" and waits.
std::size_t end_of_complete_lines(std::string_view data, std::size_t from) {
  for (std::size_t i = data.size(); i > from; --i) {
    const char c = data[i - 1];
    if (c == '\n' || (c == '\r' && i < data.size())) return i;
  }
  return from;
}

std::size_t begin_of_line(std::string_view data, std::size_t hit, std::size_t limit) {
  std::size_t i = hit;
  while (i > limit && data[i - 1] != '\n' && data[i - 1] != '\r') --i;
  return i;
}

}  // namespace

LineFeed::LineFeed(const AnchorScanner& scanner, std::span<const std::uint64_t> owners)
    : scanner_(scanner), owners_(owners), memory_(new char[kCarry + kBlock + kPage]) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.get()) + kCarry;
  block_ = memory_.get() + kCarry + (kPage - address % kPage) % kPage;
  begin_ = end_ = block_;
}

std::span<char> LineFeed::room() { return {block_, kBlock}; }

void LineFeed::keep_from(std::size_t start) {
  const std::size_t dropped = std::min(start, static_cast<std::size_t>(end_ - begin_));
  if (counted_ < dropped) {
    line_ += count_newlines({begin_ + counted_, dropped - counted_});
    counted_ = dropped;
  }
  const std::size_t kept = static_cast<std::size_t>(end_ - begin_) - dropped;
  std::memmove(block_ - kept, begin_ + dropped, kept);
  begin_ = block_ - kept;
  end_ = block_;
  owned_ -= std::min(owned_, dropped);
  taken_ -= std::min(taken_, dropped);
  counted_ -= dropped;
}

void LineFeed::commit(std::size_t n, CandidateSink& sink) {
  bytes_ += static_cast<std::int64_t>(n);
  const auto carried = static_cast<std::size_t>(end_ - begin_);
  end_ = block_ + n;
  const std::string_view data(begin_, static_cast<std::size_t>(end_ - begin_));
  // The carry holds no line break but, perhaps, a '\r' at its end.
  const std::size_t complete = end_of_complete_lines(data, carried > 0 ? carried - 1 : 0);
  const bool any = complete > (carried > 0 ? carried - 1 : 0);
  if (any) scan_lines(complete, true, sink);
  const std::size_t tail = any ? complete : 0;
  if (data.size() - tail <= 2 * kReach) {
    keep_from(tail);
    return;
  }
  scan_lines(data.size() - kReach, false, sink);
  keep_from(data.size() - 2 * kReach);
}

void LineFeed::finish(CandidateSink& sink) {
  scan_lines(static_cast<std::size_t>(end_ - begin_), true, sink);
  begin_ = end_ = block_;
  owned_ = taken_ = counted_ = 0;
}

// Hands on the candidates of hits in [owned_, end). `whole`: the bytes up to `end` are complete
// lines (or all there is), else `end` lies in an overlong line and kReach bytes follow it.
void LineFeed::scan_lines(std::size_t end, bool whole, CandidateSink& sink) {
  const std::string_view all(begin_, static_cast<std::size_t>(end_ - begin_));
  const std::string_view data = whole ? all.substr(0, end) : all;
  hits_.clear();
  scanner_.scan(data, owned_, end, hits_);
  std::size_t index = 0;
  while (index < hits_.size()) emit(data, hits_[index].offset, taken_, index, whole, sink);
  owned_ = end;
  if (whole) taken_ = end;
}

// One candidate from the hit at `index` on; moves `index` behind the last hit that it holds.
void LineFeed::emit(std::string_view data, std::size_t hit, std::size_t& taken, std::size_t& index,
                    bool, CandidateSink& sink) {
  Candidate line;
  const std::size_t lowest = std::max(taken, hit > kReach ? hit - kReach : 0);
  const std::size_t begin = begin_of_line(data, hit, lowest);
  const std::size_t reach = std::min(data.size(), hit + kReach);
  std::size_t end = find_line_break(data.substr(0, reach), hit);
  if (end == std::string_view::npos) {
    end = reach;
    // Cut by the cap: what stands at the cut is not whole either.
    line.terminator = 0;
  } else {
    const bool crlf = data[end] == '\r' && end + 1 < data.size() && data[end + 1] == '\n';
    line.terminator = data[end] == '\n' || crlf ? '\n' : '\r';
  }
  while (index < hits_.size() && hits_[index].offset < std::max(end, hit + 1)) {
    line.owners |= owners_[hits_[index].literal];
    ++index;
  }
  if (counted_ < begin) {
    line_ += count_newlines(data.substr(counted_, begin - counted_));
    counted_ = begin;
  }
  line.number = line_;
  line.text = data.substr(begin, end - begin);
  taken = end;
  sink.candidate(line);
}

}  // namespace bertbench
