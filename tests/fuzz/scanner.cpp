// What stands before the formats: the literal scan, the lines, and what is taken off them.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/line_cleaner.h"
#include "parsers/scan/anchor_scan.h"
#include "parsers/scan/line_feed.h"
#include "tests/fuzz/targets.h"

namespace bertbench::fuzz {
namespace {

struct Scanners {
  std::vector<std::string> literals;
  AnchorScanner vector, portable;
};

const Scanners& scanners() {
  static const Scanners it = [] {
    std::vector<std::string> literals;
    for (const Format* format : all_formats()) {
      for (const std::string_view anchor : format->literals()) literals.emplace_back(anchor);
    }
    std::ranges::sort(literals);
    literals.erase(std::unique(literals.begin(), literals.end()), literals.end());
    return Scanners{literals, AnchorScanner(literals),
                    AnchorScanner(literals, ScanKernel::portable)};
  }();
  return it;
}

bool same_hits(const std::vector<AnchorHit>& a, const std::vector<AnchorHit>& b) {
  return std::ranges::equal(a, b, [](const AnchorHit& x, const AnchorHit& y) {
    return x.offset == y.offset && x.literal == y.literal;
  });
}

void check_scan(std::string_view text) {
  const Scanners& s = scanners();
  std::vector<AnchorHit> vector, portable;
  s.vector.scan(text, 0, text.size(), vector);
  s.portable.scan(text, 0, text.size(), portable);
  require(same_hits(vector, portable), "AVX2 and portable scan differ");
  std::size_t expected = 0;
  for (const std::string& literal : s.literals) {
    for (auto at = text.find(literal); at != std::string_view::npos;
         at = text.find(literal, at + 1)) {
      ++expected;
    }
  }
  require(vector.size() == expected, "the scan finds what std::find finds");
  require(count_newlines(text) == std::ranges::count(text, '\n'), "count_newlines");
  require(find_line_break(text, 0) == text.find_first_of("\r\n"), "find_line_break");
}

struct Lines final : CandidateSink {
  struct Found {
    std::string text;
    std::int64_t number;
    char terminator;
    std::set<std::uint32_t> literals;
    bool operator==(const Found&) const = default;
  };
  std::vector<Found> found;
  void candidate(const Candidate& line) override {
    // How many equal redraws are reported at once depends on where the input is cut.
    std::set<std::uint32_t> literals;
    for (const AnchorHit& hit : line.hits) literals.insert(hit.literal);
    for (std::int64_t copy = 0; copy <= line.repeats; ++copy) {
      found.push_back({std::string(line.text), line.number, line.terminator, literals});
    }
  }
};

std::vector<Lines::Found> lines_of(std::string_view text, std::size_t piece) {
  LineFeed feed(scanners().vector);
  Lines lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto room = feed.room();
    const std::size_t n = std::min({piece, room.size(), text.size() - at});
    std::copy_n(text.data() + at, n, room.data());
    feed.commit(n, lines);
    at += n;
  }
  feed.finish(lines);
  return lines.found;
}

void check_lines(std::string_view text, std::size_t piece) {
  const auto whole = lines_of(text, text.size());
  require(whole == lines_of(text, piece), "the lines depend on the cuts");
  std::int64_t before = 0;
  for (const Lines::Found& line : whole) {
    require(line.text.find_first_of("\r\n") == std::string::npos, "a line holds a line break");
    require(line.number >= before && line.number >= 1, "line numbers go back");
    require(!line.literals.empty(), "a candidate without an anchor");
    before = line.number;
  }
}

void check_cleaning(std::string_view text) {
  std::string buffer;
  const std::string_view clean = strip_ansi(text, buffer);
  require(clean.size() <= text.size(), "stripping made text longer");
  require(clean.find('\x1b') == std::string_view::npos, "an ESC is left");
  std::vector<Piece> pieces;
  split_by_launcher(clean, pieces);
  for (const Piece& piece : pieces) {
    require(piece.rank >= -1, "a rank below -1");
    require(piece.text.empty() ||
                (piece.text.data() >= clean.data() &&
                 piece.text.data() + piece.text.size() <= clean.data() + clean.size()),
            "a piece lies outside its line");
  }
  const std::string shown = escape_for_terminal(text);
  require(std::ranges::none_of(shown, [](char c) { return static_cast<unsigned char>(c) < 0x20; }),
          "a control character reaches the terminal");
}

void check_numbers(std::string_view text) {
  Cursor cursor(text, false);
  if (const auto number = cursor.number()) {
    double value = 0;
    std::string_view taken = text.substr(0, cursor.at());
    if (taken.starts_with('+')) taken.remove_prefix(1);
    const auto [end, error] = std::from_chars(taken.data(), taken.data() + taken.size(), value);
    if (error == std::errc() && end == taken.data() + taken.size()) {
      require(value == *number || (std::isnan(value) && std::isnan(*number)), "Cursor::number");
    }
  }
  Cursor again(text, false);
  const auto whole = again.integer();
  if (whole && again.at() == text.size() && !text.starts_with('+')) {
    require(to_int(text) == whole, "Cursor::integer");
  }
  Cursor time(text, false);
  if (const auto seconds = time.duration()) require(*seconds >= 0, "a negative duration");
}

}  // namespace

void scanner(std::string_view input) {
  if (input.empty()) return;
  const std::size_t piece = 1 + static_cast<unsigned char>(input.front()) % 64;
  const std::string_view text = input.substr(1);
  check_scan(text);
  check_lines(text, piece);
  check_cleaning(text);
  check_numbers(text.substr(0, 64));
}

}  // namespace bertbench::fuzz
