#include "parsers/anchor_scan.h"

#include <gtest/gtest.h>

#include <random>

#include "parsers/format.h"

namespace bertbench {
namespace {

std::vector<std::string> format_anchors() {
  std::vector<std::string> out;
  for (const Format* format : all_formats()) {
    for (const auto anchor : format->anchors) out.emplace_back(anchor);
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

TEST(AnchorScanner, FindsWhatPlainSearchFindsWithAndWithoutSimd) {
  const auto literals = format_anchors();
  ASSERT_GT(literals.size(), 10u);
  const AnchorScanner fast(literals, true);
  const AnchorScanner portable(literals, false);
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const std::string data = noise(random, random() % 700, literals);
    const auto a = hits_of(fast, data, literals.size());
    const auto b = hits_of(portable, data, literals.size());
    ASSERT_EQ(a, b);
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

TEST(AnchorScanner, LeavesOutLiteralsThatAreTooShort) {
  const AnchorScanner scanner({"abc", "abcd"});
  std::vector<AnchorHit> hits;
  scanner.scan("xxabcdxx", 0, 8, hits);
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].literal, 1u);
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
