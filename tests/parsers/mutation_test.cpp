// Damage: a log is cut, shuffled, interleaved with another, wrapped in colours and labels. Nothing
// crashes or hangs, and what was read before the damage stays as it was. Over our own samples
// and, where they are at hand, over the collected logs (BB_CORPUS, see corpus_test.cpp). For a long
// run: BB_MUTATIONS=20 does 20 times as many, BB_MUTATION_SEED=8 others, BB_MUTATION_BYTES=10000000
// reads long logs to their end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>

#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/generic/induced_format.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kOpen = 18;      ///< records that another rank's late line may still reach
constexpr unsigned kLongest = 60'000;  ///< of a log: the rest is more of the same

struct Log {
  std::string name, text, format;
  std::vector<RunLog> runs;
};

unsigned setting(const char* name, unsigned otherwise) {
  const char* given = std::getenv(name);
  return given == nullptr ? otherwise : static_cast<unsigned>(to_int(given).value_or(otherwise));
}

/// The log with the format that reads it, so that damage cannot hand it to another.
std::optional<Log> load(const fs::path& path) {
  Log out;
  out.name = path.parent_path().filename().string() + "/" + path.filename().string();
  out.text = test::read_file(path.string()).substr(0, setting("BB_MUTATION_BYTES", kLongest));
  const auto found = read_text(out.text);
  if (found.empty()) return std::nullopt;
  out.format = found.front().format;
  ReadOptions options;
  options.format = out.format;
  out.runs = read_text(out.text, options);
  return out;
}

const std::vector<Log>& logs() {
  static const std::vector<Log> list = [] {
    std::vector<fs::path> paths;
    for (const auto& file :
         fs::recursive_directory_iterator(fs::path(BB_SOURCE_DIR) / "parsers/samples")) {
      if (file.path().filename() == "sample.log") paths.push_back(file.path());
    }
    const char* given = std::getenv("BB_CORPUS");
    const fs::path corpus = given != nullptr ? given : BB_SOURCE_DIR "/../shared/corpus";
    if (fs::exists(corpus)) {
      for (const auto& file : fs::recursive_directory_iterator(corpus)) {
        if (file.is_regular_file() && file.path().parent_path() != corpus) {
          paths.push_back(file.path());
        }
      }
    }
    std::ranges::sort(paths);
    std::vector<Log> out;
    for (const fs::path& path : paths) {
      if (auto log = load(path)) out.push_back(std::move(*log));
    }
    return out;
  }();
  return list;
}

std::vector<RunLog> read_as(const Log& log, const std::string& text) {
  ReadOptions options;
  options.format = log.format;
  return read_text(text, options);
}

std::int64_t line_at(const std::string& text, std::size_t at) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

/// The records of lines before `line` are the same. The newest of them are still open to what
/// follows: the lines of the other ranks, a loss on a line of its own. Nothing is checked of a run
/// that the damaged log does not show: which of several bars is training is known at the end only,
/// and with another log after (`mixed`) it may be that one's bar of the same name.
void expect_same_before(const Log& log, const std::vector<RunLog>& damaged, std::int64_t line,
                        const std::string& what, bool mixed = false) {
  for (const RunLog& run : log.runs) {
    // All lines of a shape decide what it means until there are as many as are kept: a damaged one
    // may leave the others without their loss.
    if (run.format == kGenericName && run.records.size() < LineShapes::kExamples) continue;
    const auto twin = std::ranges::find_if(damaged, [&](const RunLog& other) {
      return other.first_line == run.first_line && other.kind == run.kind && !other.records.empty();
    });
    if (twin == damaged.end() || run.format != twin->format) continue;
    if (mixed && twin->records.front().line >= line) continue;
    std::size_t n = 0;
    while (n < run.records.size() && run.records[n].line < line) ++n;
    for (std::size_t i = 0; i + 2 < n; ++i) {
      ASSERT_LT(i, twin->records.size()) << log.name << ": " << what << ", record lost";
      const Record& a = run.records[i];
      const Record& b = twin->records[i];
      ASSERT_EQ(a.step, b.step) << log.name << ": " << what << ", record " << i;
      ASSERT_EQ(a.line, b.line) << log.name << ": " << what << ", record " << i;
      if (i + kOpen >= n) continue;
      ASSERT_TRUE(same(a.seconds, b.seconds) && same(a.time_s, b.time_s) && same(a.loss, b.loss) &&
                  same(a.printed_rate, b.printed_rate))
          << log.name << ": " << what << ", record " << i << " of line " << a.line;
    }
  }
}

void expect_sound(const std::vector<RunLog>& runs, const std::string& name) {
  for (const RunLog& run : runs) {
    for (const Record& record : run.records) {
      ASSERT_GE(record.iterations, 1) << name;
      ASSERT_GE(record.line, 1) << name;
      ASSERT_FALSE(record.seconds < 0) << name;
    }
  }
}

/// `change` alters a text from an offset on.
template <class Change>
void damage_everywhere(unsigned once, const char* what, const Change& change, bool mixed = false) {
  const unsigned rounds = once * setting("BB_MUTATIONS", 1);
  std::mt19937 random(setting("BB_MUTATION_SEED", 7));
  for (const Log& log : logs()) {
    for (unsigned round = 0; round < rounds; ++round) {
      const std::size_t at = random() % log.text.size();
      std::string text = log.text;
      const std::size_t from = change(text, at, random);
      const auto runs = read_as(log, text);
      expect_sound(runs, log.name);
      expect_same_before(log, runs, line_at(log.text, from),
                         std::string(what) + " at byte " + std::to_string(from), mixed);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Mutations, ACutChangesNothingInFrontOfIt) {
  damage_everywhere(40, "cut", [](std::string& text, std::size_t at, auto&) {
    text.resize(at);
    return at;
  });
}

TEST(Mutations, BytesOverwrittenErasedAndInsertedChangeNothingInFrontOfThem) {
  damage_everywhere(25, "damaged", [](std::string& text, std::size_t at, auto& random) {
    switch (random() % 4) {
      case 0:
        text[at] = static_cast<char>(random() % 256);
        break;
      case 1:
        text.erase(at, random() % 100);
        break;
      case 2:
        text.insert(at, std::string(1 + random() % 50, static_cast<char>(random() % 256)));
        break;
      default:
        text.insert(at, std::string("\r\0\x1b[A\r\n", 7).substr(0, 1 + random() % 7));
    }
    return at;
  });
}

TEST(Mutations, ARedrawThatLostItsHeadTakesNoStepsOutOfTheRun) {
  std::string text = test::read_file(BB_SOURCE_DIR "/parsers/samples/tqdm/sample.log");
  const auto whole = read_text(text);
  const auto at = text.find("58/120 [");
  ASSERT_NE(at, std::string::npos);
  text.insert(at + 1, "\r");  // "8/120 [00:07<": a bar without a name
  const auto damaged = read_text(text);
  ASSERT_FALSE(damaged.empty());
  // Of the one redraw, and of the interval after it.
  EXPECT_GE(damaged.back().records.size() + 2, whole.back().records.size());
  EXPECT_EQ(damaged.back().records[2].step, whole.back().records[2].step);
}

TEST(Mutations, LinesSwappedChangeNothingInFrontOfThem) {
  damage_everywhere(15, "lines swapped", [](std::string& text, std::size_t at, auto&) {
    const auto begin = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
    const auto middle = text.find('\n', begin);
    if (middle == std::string::npos) return text.size();
    const auto end = std::min(text.find('\n', middle + 1), text.size() - 1);
    const std::string first = text.substr(begin, middle - begin + 1);
    const std::string second = text.substr(middle + 1, end - middle);
    text.replace(begin, end - begin + 1, second + first);
    return begin;
  });
}

TEST(Mutations, AnotherLogInterleavedChangesNothingInFrontOfIt) {
  damage_everywhere(
      6, "interleaved",
      [](std::string& text, std::size_t at, auto& random) {
        const std::string& other = logs()[random() % logs().size()].text;
        const auto begin = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
        std::string mixed = text.substr(0, begin);
        std::size_t a = begin, b = 0;
        while (a < text.size() || b < other.size()) {
          for (auto [from, source] :
               {std::pair<std::size_t*, const std::string*>{&a, &text}, {&b, &other}}) {
            if (*from >= source->size()) continue;
            const auto end = std::min(source->find('\n', *from), source->size() - 1) + 1;
            mixed += source->substr(*from, end - *from);
            *from = end;
          }
        }
        text = std::move(mixed);
        return begin;
      },
      true);
}

/// Each line after `prefix` and before `suffix`.
std::string wrapped(const std::string& text, const std::string& prefix, const std::string& suffix) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    out += prefix + text.substr(at, end - at) + suffix;
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

bool has_label_or_escape(const std::string& text) {
  return text.find("]<std") != std::string::npos || text.find('\x1b') != std::string::npos ||
         text.find("[rank") != std::string::npos;
}

TEST(Mutations, ColoursAroundEachLineChangeNoRecord) {
  for (const Log& log : logs()) {
    if (log.format == "huggingface" && log.text.starts_with("{")) continue;  // a JSON document
    const auto runs = read_as(log, wrapped(log.text, "\x1b[32m\x1b[1m", "\x1b[0m"));
    expect_same_before(log, runs, 1 << 30, "ANSI");
    if (HasFatalFailure()) return;
  }
}

TEST(Mutations, ALabelInFrontOfEachLineChangesNoStep) {
  for (const Log& log : logs()) {
    if (log.text.starts_with("{") || has_label_or_escape(log.text)) continue;
    const auto runs = read_as(log, wrapped(log.text, "[1,0]<stdout>:", ""));
    ASSERT_EQ(runs.size(), log.runs.size()) << log.name;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      ASSERT_EQ(runs[i].records.size(), log.runs[i].records.size()) << log.name;
      for (std::size_t k = 0; k < runs[i].records.size(); ++k) {
        ASSERT_EQ(runs[i].records[k].step, log.runs[i].records[k].step) << log.name;
      }
    }
  }
}

TEST(Mutations, CrLfChangesNoRecord) {
  for (const Log& log : logs()) {
    if (log.text.find("\r\n") != std::string::npos) continue;
    expect_same_before(log, read_as(log, wrapped(log.text, "", "\r")), 1 << 30, "CRLF");
    if (HasFatalFailure()) return;
  }
}

TEST(Mutations, LoneCarriageReturnsInPlaceOfNewlinesAreRead) {
  for (const Log& log : logs()) {
    std::string text = log.text;
    std::ranges::replace(text, '\n', '\r');
    expect_sound(read_as(log, text), log.name);
  }
}

}  // namespace
}  // namespace bertbench
