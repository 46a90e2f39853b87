#include "parsers/scan/anchor_scan.h"

#include <gtest/gtest.h>

#include <random>

#include "parsers/formats/format.h"

namespace bertbench {
namespace {

std::vector<std::string> format_anchors() {
  std::vector<std::string> out;
  for (const Format* format : all_formats()) {
    for (const auto anchor : format->literals()) out.emplace_back(anchor);
  }
  return out;
}

// Literals found by plain search: the numbers of their first bytes.
std::vector<std::size_t> found_by_search(std::string_view data, std::string_view literal) {
  std::vector<std::size_t> out;
  for (auto at = data.find(literal); at != std::string_view::npos;
       at = data.find(literal, at + 1)) {
    out.push_back(at);
  }
  return out;
}

// A hit's offset lies at a fixed place inside its literal: subtract the first hit's to compare.
std::vector<std::vector<std::size_t>> hits_of(const AnchorScanner& scanner, std::string_view data,
                                              std::size_t literals) {
  std::vector<AnchorHit> hits;
  scanner.scan(data, 0, data.size(), hits);
  std::vector<std::vector<std::size_t>> out(literals);
  std::size_t last = 0;
  for (const AnchorHit& hit : hits) {
    EXPECT_GE(hit.offset, last) << "hits come in order";
    last = hit.offset;
    out[hit.literal].push_back(hit.offset);
  }
  return out;
}

std::string noise(std::mt19937& random, std::size_t size,
                  const std::vector<std::string>& literals) {
  std::string out;
  while (out.size() < size) {
    const auto dice = random() % 100;
    if (dice < 4) {
      out += literals[random() % literals.size()];
    } else if (dice < 10) {  // near misses
      std::string part = literals[random() % literals.size()];
      part[random() % part.size()] ^= 1;
      out += part;
    } else {
      out.push_back(static_cast<char>(random() % 256));
    }
  }
  return out;
}

TEST(AnchorScanner, FindsWhatPlainSearchFindsWithEveryKernel) {
  const auto literals = format_anchors();
  ASSERT_GT(literals.size(), 10u);
  const AnchorScanner fast(literals, ScanKernel::avx512vbmi);
  const AnchorScanner middle(literals, ScanKernel::avx2);
  const AnchorScanner portable(literals, ScanKernel::portable);
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const std::string data = noise(random, random() % 700, literals);
    const auto a = hits_of(fast, data, literals.size());
    const auto b = hits_of(portable, data, literals.size());
    ASSERT_EQ(a, b);
    ASSERT_EQ(hits_of(middle, data, literals.size()), b);
    for (std::size_t i = 0; i < literals.size(); ++i) {
      const auto expected = found_by_search(data, literals[i]);
      ASSERT_EQ(a[i].size(), expected.size()) << literals[i];
      for (std::size_t k = 0; k < expected.size(); ++k) {
        EXPECT_EQ(a[i][k] - a[i][0], expected[k] - expected[0]);
        EXPECT_GE(a[i][k], expected[k]);
        EXPECT_LT(a[i][k], expected[k] + literals[i].size());
      }
    }
  }
}

TEST(AnchorScanner, GivesEachHitToExactlyOneOfTwoNeighbouringRanges) {
  const auto literals = format_anchors();
  const AnchorScanner scanner(literals);
  std::mt19937 random(11);
  const std::string data = noise(random, 900, literals);
  std::vector<AnchorHit> all;
  scanner.scan(data, 0, data.size(), all);
  ASSERT_FALSE(all.empty());
  for (std::size_t cut = 0; cut <= data.size(); ++cut) {
    std::vector<AnchorHit> parts;
    scanner.scan(data, 0, cut, parts);
    scanner.scan(data, cut, data.size(), parts);
    ASSERT_EQ(parts.size(), all.size()) << cut;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(parts[i].offset, all[i].offset);
      EXPECT_EQ(parts[i].literal, all[i].literal);
    }
  }
}

TEST(AnchorScanner, CountsTheLineBreaksInFrontOfEachHitAndInAll) {
  const auto literals = format_anchors();
  std::mt19937 random(13);
  for (const auto kernel : {ScanKernel::portable, ScanKernel::avx2, ScanKernel::avx512vbmi}) {
    const AnchorScanner scanner(literals, kernel);
    for (int round = 0; round < 60; ++round) {
      std::string data = noise(random, random() % 9000, literals);
      for (auto n = random() % 200; n > 0 && !data.empty(); --n)
        data[random() % data.size()] = '\n';
      const std::size_t begin = data.empty() ? 0 : random() % data.size();
      const std::size_t end = begin + (data.empty() ? 0 : random() % (data.size() - begin + 1));
      std::vector<AnchorHit> hits;
      const auto lines = scanner.scan(data, begin, end, hits);
      const auto newlines = [&](std::size_t to) {
        return std::count(data.begin() + static_cast<std::ptrdiff_t>(begin),
                          data.begin() + static_cast<std::ptrdiff_t>(to), '\n');
      };
      EXPECT_EQ(lines, newlines(end));
      for (const AnchorHit& hit : hits) EXPECT_EQ(hit.newlines, newlines(hit.offset));
    }
  }
}

// A short or ordinary anchor of one format makes every log slower to read.
TEST(AnchorsOfFormats, HaveFourBytesOrMore) {
  for (const Format* format : all_formats()) {
    for (const std::string_view anchor : format->literals()) {
      EXPECT_GE(anchor.size(), AnchorScanner::kFingerprint)
          << format->name << ": '" << anchor << "' would never be found";
    }
  }
}

// Lines as they stand between records, of words that records have as well.
std::string ordinary_lines(std::mt19937& random, std::size_t size) {
  constexpr const char* kWords[] = {
      "loading", "shard",    "worker", "queue",      "tensor",  "bucket",  "gradient", "allreduce",
      "cache",   "batch",    "pinned", "stream",     "kernel",  "launch",  "device",   "iteration",
      "loss",    "speed",    "step",   "epoch",      "warning", "rank",    "local",    "global",
      "sample",  "prefetch", "vocab",  "throughput", "plan",    "topology"};
  const auto number = [&](unsigned below) { return std::to_string(random() % below); };
  std::string out;
  while (out.size() < size) {
    switch (random() % 5) {
      case 0:
        out += "node" + number(32) + ":" + number(10000) + ":" + number(10000) + " [" + number(8) +
               "] NCCL INFO Channel " + number(24) + " : " + number(16) + "[" + number(16) +
               "000] -> " + number(16) + "[" + number(16) + "000] via P2P/IPC\n";
        continue;
      case 1:
        out += "2020-09-13 12:26:" + number(60) +
               ".123456: I tensorflow/core/common_runtime/gpu/"
               "gpu_device.cc:" +
               number(2000) + "] ";
        break;
      case 2:
        out += "[1," + number(64) + "]<stdout>:";
        break;
      case 3:
        out += "09/13/2020 12:26:" + number(60) + " - INFO - __main__ -   ";
        break;
      default:
        break;
    }
    for (auto n = 4 + random() % 10; n > 0; --n) {
      out += kWords[random() % std::size(kWords)];
      out += n == 1 ? '\n' : ' ';
    }
  }
  return out;
}

TEST(AnchorsOfFormats, AreRareInOrdinaryLines) {
  std::mt19937 random(17);
  const std::string text = ordinary_lines(random, 2'000'000);
  for (const Format* format : all_formats()) {
    const auto views = format->literals();
    std::vector<std::string> anchors(views.begin(), views.end());
    std::vector<AnchorHit> hits;
    AnchorScanner(anchors).scan(text, 0, text.size(), hits);
    std::vector<std::size_t> count(anchors.size());
    for (const AnchorHit& hit : hits) ++count[hit.literal];
    for (std::size_t i = 0; i < anchors.size(); ++i) {
      EXPECT_LE(count[i], 600u) << format->name << ": '" << anchors[i]
                                << "' stands on ordinary lines; take more of its surroundings";
    }
  }
}

TEST(AnchorsOfFormats, PassFewFalsePlacesToTheComparison) {
  std::mt19937 random(19);
  const std::string text = ordinary_lines(random, 2'000'000);
  // The kernel of nibbles looks up less of a place. Without the table of places it is
  // several times as many. The build's search never had these lines.
  for (const auto& [kernel, most] :
       {std::pair(ScanKernel::portable, 150.0), std::pair(ScanKernel::avx2, 450.0)}) {
    if (kernel > best_scan_kernel()) continue;
    const AnchorScanner scanner(format_anchors(), kernel);
    const double per_kilobyte = static_cast<double>(scanner.count_candidates(text)) /
                                (static_cast<double>(text.size()) / 1e3);
    EXPECT_LT(per_kilobyte, most) << "see parsers/bench/place_anchors.cpp";
    RecordProperty(kernel == ScanKernel::avx2 ? "by_nibbles" : "candidates_per_KB",
                   std::to_string(per_kilobyte));
  }
}

// A user's rules, or a format that is new: they are in no table of places.
TEST(AnchorScanner, PassesFewFalsePlacesForLiteralsThatWereNeverPlaced) {
  std::mt19937 random(19);
  const std::string text = ordinary_lines(random, 1'000'000);
  std::vector<std::string> literals = format_anchors();
  const auto per_kilobyte = [&] {
    return static_cast<double>(AnchorScanner(literals).count_candidates(text)) /
           (static_cast<double>(text.size()) / 1e3);
  };
  const double before = per_kilobyte();
  for (const char* mine : {"training worker group of size ", "| my max-allocated: ",
                           "loss of step ", "rows per second", "global rank", "[my tensor] "}) {
    literals.emplace_back(mine);
  }
  // Six literals more than some 1,000, placed by no search: a bucket that they share may pass more
  // than its part, but not a third of all.
  EXPECT_LT(per_kilobyte(), before * 1.3);
}

TEST(AnchorScanner, NeverReadsALiteralBeyondTheData) {
  const AnchorScanner scanner({"throughput", "it/s"});
  for (std::size_t n = 0; n < 80; ++n) {
    std::string data(n, 'x');
    data += "throughpu";
    data.shrink_to_fit();
    std::vector<AnchorHit> hits;
    scanner.scan(data, 0, data.size(), hits);
    EXPECT_TRUE(hits.empty());
  }
}

TEST(AnchorScanner, FindsALiteralWithWhichTheDataEnd) {
  const std::vector<std::string> literals = {"it/s", "aved ", "global_step"};
  for (const auto kernel : {ScanKernel::portable, ScanKernel::avx2, ScanKernel::avx512vbmi}) {
    const AnchorScanner scanner(literals, kernel);
    for (std::size_t n = 0; n < 200; ++n) {
      for (std::uint32_t i = 0; i < literals.size(); ++i) {
        const std::string data = std::string(n, '\n') + literals[i];
        std::vector<AnchorHit> hits;
        scanner.scan(data, 0, data.size(), hits);
        ASSERT_EQ(hits.size(), 1u) << n << ", " << literals[i];
        EXPECT_EQ(hits[0].literal, i);
        EXPECT_EQ(scanner.begin_of(hits[0]), n);
        EXPECT_EQ(hits[0].newlines, n);
      }
    }
  }
}

TEST(AnchorScanner, LeavesOutLiteralsThatAreTooShort) {
  const AnchorScanner scanner({"abc", "abcd"});
  std::vector<AnchorHit> hits;
  scanner.scan("xxabcdxx", 0, 8, hits);
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].literal, 1u);
}

TEST(FindText, IsWhatFindGives) {
  std::mt19937 random(23);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 200, ' '), what(1 + random() % 6, ' ');
    for (char& c : text) c = static_cast<char>('a' + random() % 3);
    for (char& c : what) c = static_cast<char>('a' + random() % 3);
    const std::size_t from = random() % (text.size() + 2);
    ASSERT_EQ(find_text(text, what, from), text.find(what, from)) << text << ", " << what;
  }
  EXPECT_EQ(find_text("abc", ""), 0u);
}

TEST(LineBegins, AreFoundFromEveryPlace) {
  std::mt19937 random(29);
  for (std::size_t n = 0; n < 120; ++n) {
    std::string data;
    for (std::size_t i = 0; i < n; ++i) data.push_back("abcdefghijklmnop\n\r"[random() % 18]);
    for (std::size_t at = 0; at <= n; ++at) {
      for (const std::size_t limit : {std::size_t{0}, at / 2, at}) {
        const auto last = at == 0 ? std::string::npos : data.find_last_of("\n\r", at - 1);
        const std::size_t expected = last == std::string::npos ? limit : std::max(last + 1, limit);
        EXPECT_EQ(find_line_begin(data, at, limit), expected);
      }
    }
  }
}

TEST(Repeats, AreCopiesOfALineThatCrEnds) {
  for (const std::size_t n : {0u, 3u, 31u, 32u, 33u, 75u, 200u}) {
    const std::string line(n, 'x');
    std::string text = "ab\n" + line + "\r";
    for (int copies = 0; copies < 4; ++copies) {
      EXPECT_EQ(count_repeats(text, 3, n), std::max(0, copies - 1)) << "the last byte is open";
      EXPECT_EQ(count_repeats(text + "z", 3, n), copies);
      EXPECT_EQ(count_repeats(text + "\n", 3, n), std::max(0, copies - 1)) << "a CRLF is no redraw";
      text += line + "\r";
    }
  }
}

TEST(LineBreaks, AreCountedAndFoundAtEveryLengthAndPlace) {
  std::mt19937 random(3);
  for (std::size_t n = 0; n < 150; ++n) {
    std::string data;
    for (std::size_t i = 0; i < n; ++i) data.push_back("ab\n\r\v\f"[random() % 6]);
    EXPECT_EQ(count_newlines(data), std::count(data.begin(), data.end(), '\n'));
    for (std::size_t from = 0; from <= n; ++from) {
      EXPECT_EQ(find_line_break(data, from), data.find_first_of("\n\r", from));
    }
  }
}

}  // namespace
}  // namespace bertbench
