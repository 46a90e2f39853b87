#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include "tests/workloads/driver/process.h"
#include "workloads/bert/core/model_config.h"
#include "workloads/bert/data/batches.h"
#include "workloads/bert/data/sequence_source.h"

namespace bert {
namespace {

using ::testing::HasSubstr;

DataOptions options(std::int64_t length = 64) {
  DataOptions data;
  data.sequence_length = length;
  data.masked_per_sequence = masked_positions(length);
  return data;
}

DataOptions file_options(const std::string& path, bool hold_out = false) {
  DataOptions data = options();
  data.source = path;
  data.hold_out = hold_out;
  return data;
}

TEST(Batches, ABatchIsTheSameHoweverItIsSplitOverRanks) {
  DataOptions data = options();
  data.lengths = Lengths::uniform;
  const auto source = make_synthetic_source(7, data.vocabulary);
  Batch whole, part;
  fill_batch(*source, data, 100, 6, whole);
  for (std::int64_t first : {100, 102, 104}) {
    fill_batch(*source, data, first, 2, part);
    const auto at = static_cast<std::size_t>((first - 100) * 64);
    for (std::size_t i = 0; i < part.tokens.size(); ++i) {
      ASSERT_EQ(part.tokens[i], whole.tokens[at + i]);
      ASSERT_EQ(part.segments[i], whole.segments[at + i]);
    }
    EXPECT_EQ(part.lengths[1], whole.lengths[static_cast<std::size_t>(first - 100 + 1)]);
  }
}

TEST(Batches, TextHasTheNextTokenAsLabelAndIsTheSameHoweverItIsSplitOverRanks) {
  DataOptions data = options();
  data.next_word = true;
  data.masked_per_sequence = data.sequence_length;
  const auto source = make_synthetic_source(7, data.vocabulary);
  Batch whole, part;
  fill_batch(*source, options(), 0, 1, part);  // what another batch left is gone
  fill_batch(*source, data, 100, 6, whole);
  for (std::size_t i = 0; i + 1 < whole.tokens.size(); ++i) {
    if (i % 64 != 63) {
      ASSERT_EQ(whole.labels[i], whole.tokens[i + 1]);
    }
  }
  fill_batch(*source, data, 103, 2, part);
  EXPECT_TRUE(std::equal(part.tokens.begin(), part.tokens.end(), whole.tokens.begin() + 3 * 64));
  EXPECT_TRUE(std::equal(part.labels.begin(), part.labels.end(), whole.labels.begin() + 3 * 64));
  EXPECT_THAT(part.lengths, ::testing::Each(64));
  EXPECT_EQ(part.masked_per_sequence, 64);
  EXPECT_TRUE(part.segments.empty() && part.masked.empty() && part.next_sentence.empty());
}

TEST(Batches, LayoutAndMaskingKeepTheirPromises) {
  for (const Lengths lengths : {Lengths::full, Lengths::uniform, Lengths::wikipedia}) {
    DataOptions data = options(128);
    data.lengths = lengths;
    const auto source = make_synthetic_source(1, data.vocabulary);
    Batch batch;
    fill_batch(*source, data, 0, 200, batch);
    int masks = 0, kept = 0, is_next = 0;
    for (std::size_t row = 0; row < 200; ++row) {
      const std::size_t start = row * 128;
      const auto length = static_cast<std::size_t>(batch.lengths[row]);
      EXPECT_LE(length, 128u);
      EXPECT_GE(length, lengths == Lengths::full ? 128u : lengths == Lengths::uniform ? 32u : 23u);
      EXPECT_EQ(batch.tokens[start], SpecialTokens::kCls);
      EXPECT_EQ(batch.tokens[start + length - 1], SpecialTokens::kSep);
      EXPECT_EQ(batch.segments[start], 0);
      EXPECT_EQ(batch.segments[start + length - 1], 1);
      for (std::size_t i = length; i < 128; ++i) {
        ASSERT_EQ(batch.tokens[start + i], SpecialTokens::kPad);
      }
      is_next += batch.next_sentence[row] == 0 ? 1 : 0;
      std::set<std::int32_t> seen;
      for (std::size_t i = 0; i < 20; ++i) {
        const std::int32_t at = batch.masked[row * 20 + i];
        ASSERT_GE(at, static_cast<std::int32_t>(start));
        ASSERT_LT(at, static_cast<std::int32_t>(start + length));
        ASSERT_TRUE(seen.insert(at).second);
        const std::int32_t label = batch.labels[row * 20 + i];
        const std::int32_t token = batch.tokens[static_cast<std::size_t>(at)];
        ASSERT_GE(label, SpecialTokens::kFirstOrdinary);
        ASSERT_LT(label, data.vocabulary);
        masks += token == SpecialTokens::kMask ? 1 : 0;
        kept += token == label ? 1 : 0;
      }
    }
    // 4000 masked positions: 80 % and 10 %, five standard deviations.
    EXPECT_NEAR(masks, 3200, 130);
    EXPECT_NEAR(kept, 400, 100);
    EXPECT_NEAR(is_next, 100, 36);
  }
}

TEST(Batches, AHeadEverywhereHasTheLabelsOfTheMaskedPositions) {
  DataOptions data = options(128);
  const auto source = make_synthetic_source(1, data.vocabulary);
  Batch masked, everywhere;
  fill_batch(*source, data, 7, 3, masked);
  data.head_everywhere = true;
  data.masked_per_sequence = 128;
  fill_batch(*source, data, 7, 3, everywhere);
  EXPECT_EQ(everywhere.tokens, masked.tokens);
  std::vector<std::int32_t> labels(3 * 128, -1), positions(3 * 128);
  for (std::size_t i = 0; i < masked.masked.size(); ++i) {
    labels[static_cast<std::size_t>(masked.masked[i])] = masked.labels[i];
  }
  std::iota(positions.begin(), positions.end(), 0);
  EXPECT_EQ(everywhere.labels, labels);
  EXPECT_EQ(everywhere.masked, positions);
}

TEST(Batches, TheShortestSequencesWork) {
  DataOptions data = options(8);
  data.lengths = Lengths::uniform;
  const auto source = make_synthetic_source(1, data.vocabulary);
  Batch batch;
  fill_batch(*source, data, 0, 50, batch);
  EXPECT_EQ(batch.masked.size(), static_cast<std::size_t>(50 * data.masked_per_sequence));
}

TEST(Batches, WikipediasLengthsAreThoseOfThePublishedHistogram) {
  constexpr std::int64_t kSequences = 4000;
  DataOptions data = options(512);
  data.lengths = Lengths::wikipedia;
  data.masked_per_sequence = 1;
  const auto source = make_synthetic_source(1, data.vocabulary);
  Batch batch;
  fill_batch(*source, data, 0, kSequences, batch);
  const auto share_of = [&](auto is) {
    return static_cast<double>(std::ranges::count_if(batch.lengths, is)) / kSequences;
  };
  double tokens = 0, squares = 0;
  for (const std::int32_t length : batch.lengths) {
    tokens += length;
    squares += static_cast<double>(length) * length;
  }
  // The histogram's own, within four standard errors of so many sequences.
  EXPECT_NEAR(tokens / kSequences / 512, 0.4997, 0.023);
  EXPECT_NEAR(squares / kSequences / 512 / 512, 0.3770, 0.026);
  EXPECT_NEAR(share_of([](std::int32_t n) { return n == 512; }), 0.2343, 0.027);
  EXPECT_NEAR(share_of([](std::int32_t n) { return n <= 32; }), 0.0359, 0.012);
  EXPECT_NEAR(share_of([](std::int32_t n) { return n <= 204; }), 0.5, 0.032);
}

TEST(SyntheticText, FrequenciesFallAsZipfsLawSays) {
  const auto source = make_synthetic_source(1, 30522);
  std::map<std::int32_t, int> counts;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const SegmentPair pair = source->pair(i, 100);
    EXPECT_FALSE(pair.first.empty() || pair.second.empty());
    for (const auto* part : {&pair.first, &pair.second}) {
      for (const std::int32_t token : *part) {
        ++counts[token];
      }
    }
  }
  // Half of the tokens follow 1/rank over all words; document words above rank 64*64 are rare.
  const double ratio = static_cast<double>(counts[SpecialTokens::kFirstOrdinary]) /
                       static_cast<double>(counts[SpecialTokens::kFirstOrdinary + 9]);
  EXPECT_GT(ratio, 5);
  EXPECT_LT(ratio, 20);
}

// Documents: 0..9, 100..119, 7 alone.
std::string token_file(const std::string& name) {
  const std::string path = testing::temporary_folder("tokens") + "/" + name;
  std::ofstream out(path, std::ios::binary);
  const auto put = [&](auto value) {
    out.write(reinterpret_cast<const char*>(&value), sizeof value);
  };
  out.write("BERTTOK1", 8);
  put(std::uint32_t{2});
  put(std::uint32_t{120});
  put(std::uint64_t{3});
  put(std::uint64_t{31});
  for (const std::uint64_t start : {0, 10, 30, 31}) put(start);
  for (std::uint16_t token = 0; token < 10; ++token) put(token);
  for (std::uint16_t token = 100; token < 120; ++token) put(token);
  put(std::uint16_t{7});
  return path;
}

TEST(TokenFiles, SegmentsFollowTheTextInsideTheirDocument) {
  const auto source = open_token_file(file_options(token_file("a.tok")));
  ASSERT_TRUE(source) << source.error().message;
  int next = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const SegmentPair pair = (*source)->pair(i, 12);
    ASSERT_EQ(pair.first.size() + pair.second.size(), 12u);
    const auto follows = [](std::int32_t a, std::int32_t b) {
      return b == (a == 9 ? 0 : a == 119 ? 100 : a + 1) || (a == 7 && b == 7);
    };
    for (std::size_t j = 1; j < pair.first.size(); ++j) {
      ASSERT_TRUE(follows(pair.first[j - 1], pair.first[j]));
    }
    if (pair.is_next) {
      ++next;
      ASSERT_TRUE(follows(pair.first.back(), pair.second.front()));
    }
  }
  EXPECT_NEAR(next, 150, 45);
}

// Seen: sequences to be scored were drawn from the text that had been trained on.
TEST(TokenFiles, TheLastDocumentsAreHeldOutWhereAsked) {
  const auto source = open_token_file(file_options(token_file("held.tok"), true));
  ASSERT_TRUE(source) << source.error().message;
  // Of three documents the last, whose one token is 7. Two 7 in a row are of no other.
  const std::vector<std::int32_t> of_the_last{7, 7};
  for (std::uint64_t i = 0; i < 500; ++i) {
    EXPECT_NE((*source)->text(i, 2), of_the_last) << i;
    EXPECT_EQ((*source)->text(kHeldOut + i, 2), of_the_last) << i;
    const SegmentPair pair = (*source)->pair(kHeldOut + i, 12);
    EXPECT_THAT(pair.first, ::testing::Each(7));
    EXPECT_THAT(pair.second, ::testing::Each(7));
  }
}

TEST(TokenFiles, DamagedFilesAreRefusedByName) {
  const std::string path = token_file("b.tok");
  const std::string good = testing::read_file(path);
  const auto refused = [&](std::string bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    const auto source = open_token_file(file_options(path));
    return source ? std::string("accepted") : source.error().message;
  };
  EXPECT_THAT(refused(""), HasSubstr("b.tok"));
  EXPECT_THAT(refused("hello, this is not a token file at all"), HasSubstr("BERTTOK1"));
  EXPECT_THAT(refused(good.substr(0, good.size() - 1)), HasSubstr("do not fit"));
  std::string bad = good;
  bad[8] = 3;
  EXPECT_THAT(refused(bad), HasSubstr("token size 3"));
  bad = good;
  bad[40] = 31;  // second document begins where the third ends
  EXPECT_THAT(refused(bad), HasSubstr("out of order"));
  bad = good;
  bad[good.size() - 2] = 121;
  EXPECT_THAT(refused(bad), HasSubstr("token 30"));
  const auto missing = open_token_file(file_options("/nonexistent/x.tok"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().status, ExitStatus::usage);
}

}  // namespace
}  // namespace bert
