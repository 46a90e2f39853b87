// One file scanned by several threads gives what one thread gives.
#include "parsers/scan/chunk_scan.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "parsers/reader/log_reader.h"
#include "tests/parsers/run_log_text.h"
#include "tests/scratch_folder.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;

struct Got {
  std::string text, before;
  std::int64_t number, times;
  char terminator;
  std::uint64_t literals;
  bool operator==(const Got&) const = default;
};

/// Bit i: the scanner's literal i stands on the line.
std::uint64_t literals_of(const Candidate& line) {
  std::uint64_t out = 0;
  for (const AnchorHit& hit : line.hits) out |= std::uint64_t{1} << hit.literal;
  return out;
}

class Collect final : public CandidateSink {
 public:
  void candidate(const Candidate& line) override {
    Got got{std::string(line.text), std::string(line.before), line.number,
            line.repeats + 1,       line.terminator,          literals_of(line)};
    // Copies may be handed on one by one or together: chunks part them anywhere.
    if (!lines.empty()) {
      Got& last = lines.back();
      if (last.text == got.text && last.number == got.number && last.terminator == '\r' &&
          got.terminator == '\r') {
        last.times += got.times;
        return;
      }
    }
    lines.push_back(std::move(got));
  }
  std::vector<Got> lines;
};

const AnchorScanner& scanner() {
  static const AnchorScanner value({"it/s", "step", "loss", "  File"});
  return value;
}

class ChunkScan : public testing::Test {
 protected:
  void put(const std::string& text) const { test::write_file(path_, text); }

  [[nodiscard]] std::vector<Got> by_chunks(std::size_t threads, std::size_t chunk) const {
    const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_GE(file, 0);
    Collect out;
    std::int64_t bytes = 0;
    const auto done = scan_chunks(file, path_, scanner(), {threads, chunk}, out, bytes);
    EXPECT_TRUE(done);
    EXPECT_EQ(bytes, static_cast<std::int64_t>(fs::file_size(path_)));
    ::close(file);
    return out.lines;
  }

  const test::ScratchFolder folder_;
  const std::string path_ = folder_.path("run.log");
};

std::vector<Got> by_feed(const std::string& text) {
  LineFeed lines(scanner());
  Collect out;
  for (std::size_t at = 0; at < text.size();) {
    const auto room = lines.room();
    const std::size_t n = std::min(room.size(), text.size() - at);
    std::memcpy(room.data(), text.data() + at, n);
    lines.commit(n, out);
    at += n;
  }
  lines.finish(out);
  return out.lines;
}

// Lines of all lengths and ends, redraws that repeat, NUL and bytes that are no UTF-8.
std::string hostile(std::mt19937& random, std::size_t size, bool overlong) {
  std::string out;
  while (out.size() < size) {
    std::string line(random() % 7 == 0 ? random() % 3000 : random() % 120, 'x');
    if (overlong && random() % 400 == 0) line.assign(60'000 + random() % 200'000, '.');
    if (!line.empty() && random() % 3 != 0) {
      for (auto n = random() % 3 + (line.size() > 50'000 ? 20 : 0); n > 0; --n) {
        constexpr const char* kWords[] = {"it/s", "step", "loss", "\r", "\xff\xfe", "\x1b[A"};
        const std::string word = kWords[random() % std::size(kWords)];
        line.insert(random() % line.size(), word);
      }
    }
    if (random() % 20 == 0) line += '\0';
    constexpr const char* kEnds[] = {"\n", "\r\n", "\r", "\n\n", "\r\r\n"};
    const std::string end = kEnds[random() % std::size(kEnds)];
    for (auto copies = end == "\r" ? random() % 20 : 0; copies > 0; --copies) out += line + end;
    out += line + end;
  }
  if (random() % 2 == 0) out += "last step without an end";
  return out;
}

TEST_F(ChunkScan, HandsOnWhatALineFeedHandsOnWhateverTheChunksAndThreads) {
  std::mt19937 random(5);
  for (int round = 0; round < 10; ++round) {
    const std::string text = hostile(random, 900'000, round % 2 == 1);
    put(text);
    const auto whole = by_feed(text);
    ASSERT_GT(whole.size(), 20u);
    for (std::size_t threads = 1; threads <= 8; ++threads) {
      const std::size_t chunk = 20'000 + random() % 300'000;
      const auto parts = by_chunks(threads, chunk);
      ASSERT_EQ(parts.size(), whole.size()) << threads << " threads, chunks of " << chunk;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        ASSERT_EQ(parts[i], whole[i]) << "line " << whole[i].number << ", chunks of " << chunk;
      }
    }
  }
}

TEST_F(ChunkScan, ReadsALineOverManyChunks) {
  std::string text = "step 1\n";
  text.append(700'000, '.');
  text += "loss";
  text.append(700'000, '.');
  text += "\nstep 2\n";
  put(text);
  const auto whole = by_feed(text);
  ASSERT_EQ(whole.size(), 3u);
  for (const std::size_t chunk : {1'000u, 65'536u, 500'000u}) EXPECT_EQ(by_chunks(3, chunk), whole);
}

TEST_F(ChunkScan, ReadsAFileWithoutALineBreakAndAnEmptyOne) {
  put("only a step");
  EXPECT_EQ(by_chunks(2, 4), by_feed("only a step"));
  put("");
  EXPECT_TRUE(by_chunks(2, 4).empty());
}

TEST(Threads, DoNotChangeWhatASampleLogGives) {
  std::mt19937 random(9);
  std::size_t logs = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(std::string(BB_SOURCE_DIR) + "/parsers/samples")) {
    if (!entry.is_regular_file() || entry.path().extension() == ".json") continue;
    const std::string path = entry.path();
    const auto one = read_log(path, {});
    if (!one) continue;
    ++logs;
    const std::string expected = to_test_text(*one);
    for (std::size_t threads = 2; threads <= 8; threads += 3) {
      ReadOptions options;
      options.threads = threads;
      options.chunk = 512 + random() % 20'000;
      const auto several = read_log(path, options);
      ASSERT_TRUE(several) << path;
      EXPECT_EQ(to_test_text(*several), expected)
          << path << ": " << threads << " threads, chunks of " << options.chunk;
      EXPECT_EQ(ends_of(*several), ends_of(*one)) << path;
    }
  }
  EXPECT_GT(logs, 10u);
}

// Records on nearly every line, whose numbers have many lengths, with other lines in between.
TEST(Threads, DoNotChangeALogOfRecords) {
  const test::ScratchFolder folder;
  const std::string path = folder.path("run.log");
  std::ofstream out(path, std::ios::binary);
  std::mt19937 random(13);
  for (int step = 1; step <= 12'000; ++step) {
    if (step > 5000 && step < 8000) {
      out << "worker " << step << " has a loss of time, no step is done\n";
      if (step % 40 != 0) continue;
    }
    out << R"(DLLL {"timestamp": ")" << 1600000000 + step
        << R"(.250000", "datetime": "2020-09-13 12:26:40.250000", "elapsedtime": ")" << step
        << R"(.5", "type": ")" << (step % 97 == 0 ? "EVA" : "LOG") << R"(", "step": [0, )" << step
        << R"(], "data": {"average_loss": 2.)" << 1 + random() % (step % 3 == 0 ? 99 : 9'999'999)
        << R"(, "learning_rate": )" << (step % 31 == 0 ? "9.5e-05" : "0.0004") << R"(}})"
        << (step == 9000 ? "\r\n" : "\n");
  }
  out.close();
  const auto one = read_log(path, {});
  ASSERT_TRUE(one);
  ASSERT_EQ(one->front().records_seen, 9075);
  for (std::size_t threads = 2; threads <= 8; threads += 2) {
    ReadOptions options;
    options.threads = threads;
    options.chunk = 20'000 * threads;
    const auto several = read_log(path, options);
    ASSERT_TRUE(several);
    EXPECT_EQ(to_test_text(*several), to_test_text(*one)) << threads << " threads";
    EXPECT_EQ(ends_of(*several), ends_of(*one)) << threads << " threads";
  }
}

// A table is read by one thread whatever was asked for, as its rows hold nothing to search for.
TEST(Threads, ReadALargeTableWhole) {
  const test::ScratchFolder folder;
  std::string text = "epoch,step,train_loss\n";
  for (int step = 0; step < 20'000; ++step) {
    text += "0," + std::to_string(step) + ",2." + std::to_string(step % 97) + "\n";
  }
  const std::string path = folder.put("metrics.csv", text);
  ReadOptions options;
  options.threads = 4;
  options.chunk = 16 << 10;
  const auto runs = read_log(path, options);
  ASSERT_TRUE(runs) << runs.error().message();
  EXPECT_EQ(runs->front().records_seen, 20'000);
  EXPECT_EQ(runs->front().records.back().step, 20'000);
}

}  // namespace
}  // namespace bertbench
