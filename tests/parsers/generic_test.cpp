// The generic reader over the logs that are quoted for it: what its golden texts do not show.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/described/described_format.h"
#include "parsers/generic/induced_format.h"
#include "parsers/generic/line_numbers.h"
#include "parsers/reader/log_reader.h"
#include "tests/parsers/run_log_text.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

struct Quoted {
  std::string name, text;
};

std::vector<Quoted> quoted() {
  std::vector<Quoted> out;
  for (const auto& file : fs::directory_iterator(BB_SOURCE_DIR "/tests/golden/quoted")) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("generic.")) out.push_back({name, test::read_file(file.path().string())});
  }
  return out;
}

std::optional<InducedFormat> induced(const std::string& text, std::size_t block) {
  FormatInducer inducer;
  for (std::size_t at = 0; at < text.size(); at += block) {
    inducer.feed(std::string_view(text).substr(at, block));
  }
  return inducer.finish();
}

bool same_or_nan(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void expect_same_records(const RunLog& a, const RunLog& b, const std::string& name) {
  ASSERT_EQ(a.records.size(), b.records.size()) << name;
  for (std::size_t i = 0; i < a.records.size(); ++i) {
    const Record &one = a.records[i], &other = b.records[i];
    EXPECT_EQ(one.step, other.step) << name;
    EXPECT_EQ(one.line, other.line) << name;
    EXPECT_TRUE(same_or_nan(one.seconds, other.seconds) && same_or_nan(one.time_s, other.time_s) &&
                same_or_nan(one.printed_rate, other.printed_rate) &&
                same_or_nan(one.loss, other.loss))
        << name << ": record " << i;
  }
}

TEST(Generic, BlocksOfAnySizeGiveOneFormat) {
  const auto logs = quoted();
  ASSERT_GE(logs.size(), 10U);
  for (const Quoted& log : logs) {
    const auto whole = induced(log.text, log.text.size());
    for (const std::size_t block : {1, 7, 64, 4096}) {
      const auto cut = induced(log.text, block);
      ASSERT_EQ(whole.has_value(), cut.has_value()) << log.name;
      if (whole) {
        EXPECT_EQ(whole->json, cut->json) << log.name << ", blocks of " << block;
      }
    }
  }
}

TEST(Generic, ItsFormatFileReadsTheSameRecords) {
  int read = 0;
  for (const Quoted& log : quoted()) {
    const auto format = induced(log.text, log.text.size());
    if (!format) continue;
    const auto runs = read_text(log.text);
    if (runs.empty() || runs.front().format != kGenericName) continue;
    ReadOptions options;
    auto parsed = DescribedFormat::parse(format->json, log.name);
    ASSERT_TRUE(parsed) << parsed.error().message();
    options.user_format = *parsed;
    const auto again = read_text(log.text, options);
    ASSERT_THAT(again, Not(IsEmpty())) << log.name;
    expect_same_records(runs.front(), again.front(), log.name);
    ++read;
  }
  EXPECT_GE(read, 10);
}

TEST(Generic, AFileGivesWhatItsPiecesGive) {
  for (const Quoted& log : quoted()) {
    const auto pieces = read_text(log.text);
    const auto file = read_log(BB_SOURCE_DIR "/tests/golden/quoted/" + log.name, {});
    ASSERT_EQ(pieces.empty(), !file) << log.name;
    if (!file) continue;
    ASSERT_EQ(pieces.size(), file->size()) << log.name;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      expect_same_records(pieces[i], (*file)[i], log.name);
    }
  }
}

// A shape is fixed by 64 lines: lines that come later, whatever they are, change no record before.
TEST(Generic, WhatFollowsTheFirstLinesChangesNoneOfThem) {
  std::string text;
  for (int i = 1; i <= 200; ++i) {
    text += "step " + std::to_string(10 * i) + " loss 1.5 took " + std::to_string(2.5 * i) + "s\n";
  }
  const auto before = read_text(text);
  ASSERT_EQ(before.size(), 1U);
  for (int i = 1; i <= 500; ++i) {
    text += "epoch " + std::to_string(i) + " train loss 0.5 (12.5 it/s, 3.0 s)\n";
  }
  const auto after = read_text(text);
  ASSERT_FALSE(after.empty());
  ASSERT_GE(after.front().records.size(), before.front().records.size());
  for (std::size_t i = 0; i < before.front().records.size(); ++i) {
    EXPECT_EQ(before.front().records[i].step, after.front().records[i].step);
    EXPECT_TRUE(same_or_nan(before.front().records[i].time_s, after.front().records[i].time_s));
  }
}

// Of two processes with data of unequal length the total is one.
TEST(Generic, TotalsOfTwoProcessesAreNoCounter) {
  std::string text;
  for (int i = 1; i <= 6; ++i) {
    for (const char* total : {"1250", "1251"}) {
      text += "train [" + std::to_string(10 * i) + "/" + total + "] loss 1.5 (0.5 s/it)\n";
    }
  }
  const auto runs = read_text(text);
  ASSERT_EQ(runs.size(), 1U);
  ASSERT_FALSE(runs[0].records.empty());
  EXPECT_EQ(runs[0].records.back().step, 60);
}

TEST(Generic, OneLineOfEachProcessIsOneLine) {
  const auto of_ranks = [](const std::string& rest) {
    std::string text;
    for (int rank = 0; rank < 8; ++rank) {
      text += "train rank " + std::to_string(rank) + " step 10 at 3.5 it/s" + rest + "\n";
    }
    return read_text(text);
  };
  for (const RunLog& run : of_ranks("")) EXPECT_THAT(run.records, IsEmpty());
  const auto runs = of_ranks(" loss 0.25");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_THAT(runs[0].records, SizeIs(1));
}

bool has_notice(const RunLog& run, NoticeCode code) {
  return std::ranges::find(run.notices, code, &Notice::code) != run.notices.end();
}

/// 40 lines of a step and a number near 100.5.
RunLog read_lines(const std::function<std::string(int, double)>& line) {
  std::string text;
  for (int i = 1; i <= 40; ++i) text += line(i, 100.5 + 0.125 * (i * 7 % 5)) + "\n";
  auto runs = read_text(text);
  return runs.size() == 1 ? std::move(runs[0]) : RunLog{};
}

std::string with_comma(std::string text) {
  std::ranges::replace(text, '.', ',');
  return text;
}

TEST(Generic, CommasAreWhatTheNumbersOfTheLogShow) {
  const auto seconds = [](const RunLog& run) {
    return run.records.size() > 1 ? run.records[1].seconds : kUnknown;
  };
  const auto rate = [](const RunLog& run) {
    return run.records.size() > 1 ? run.records[1].printed_rate : kUnknown;
  };
  // 0,101 parts no thousands.
  const RunLog german = read_lines([](int i, double ms) {
    return with_comma(fmt::format("Schritt {} Verlust 2.688 Zeit {:.3f} s", i, ms / 1000));
  });
  EXPECT_DOUBLE_EQ(seconds(german), 0.101);
  // Nor does 2,6884, so that 320,672 is no number of thousands either.
  const RunLog rates = read_lines([](int i, double ms) {
    return with_comma(fmt::format("step {} loss 2.6884 {:.3f} samples/s", i, ms));
  });
  EXPECT_DOUBLE_EQ(rate(rates), 101);
  EXPECT_FALSE(has_notice(rates, NoticeCode::commas_unclear));
  // A decimal point next to it, a total or a counter of thousands show the other.
  EXPECT_DOUBLE_EQ(rate(read_lines([](int i, double) {
                     return fmt::format("step {} loss 2.6884 320,{:03} samples/s", i, 600 + i);
                   })),
                   320'602);
  EXPECT_DOUBLE_EQ(rate(read_lines([](int i, double) {
                     return fmt::format("step {},000/50,000 loss 2 320,{:03} samples/s", i,
                                        600 + i);
                   })),
                   320'602);
  // Nothing shows which: it is not taken.
  const RunLog unclear = read_lines([](int i, double ms) {
    return fmt::format("step {} loss 2 320,{:03} samples/s in {:.0f} ms", i, 600 + i, ms);
  });
  EXPECT_TRUE(std::isnan(rate(unclear)));
  EXPECT_DOUBLE_EQ(seconds(unclear), 0.101);
  EXPECT_TRUE(has_notice(unclear, NoticeCode::commas_unclear));
  // Lists of devices are no numbers with a comma.
  EXPECT_EQ(commas_of("CUDA_VISIBLE_DEVICES=0,1\ngpus [0,1,2,3]\nstep 5 320,672 samples/s\n"),
            Commas::unclear);
  EXPECT_EQ(commas_of("10:00:00,123 step 5\n10:00:01,1234 step 6\n10:00:02,12 step 7\n"),
            Commas::thousands);
}

TEST(Generic, EachLineIsScaledByItsOwnUnit) {
  struct Units {
    std::string_view usual, other;
    double seconds;
  };
  for (const Units& units : {Units{"100.5 ms", "1.05 s", 1.05}, Units{"980us", "1.05ms", 1.05e-3},
                             Units{"980µs", "1.05ms", 1.05e-3}, Units{"59.5s", "1m2.5s", 62.5},
                             Units{"1m2.5s", "59.5s", 59.5}, Units{"1,050 ms", "1.02 s", 1.02}}) {
    const RunLog run = read_lines([&](int i, double) {
      return fmt::format("step {} loss 2.{:03} took {}", i, 100 + i,
                         i % 10 == 0 ? units.other : units.usual);
    });
    ASSERT_EQ(run.records.size(), 40U) << units.usual;
    EXPECT_DOUBLE_EQ(run.records[19].seconds, units.seconds) << units.usual;
    EXPECT_FALSE(has_notice(run, NoticeCode::iterations_without_line));
  }
}

// Ignite's bar: two redraws a step, a clock of whole seconds that begins again with each epoch.
TEST(Generic, ABarWithoutARateIsReadByItsClock) {
  constexpr int kEpochs = 4, kSteps = 200;
  constexpr double kStep_s = 0.123;
  std::string log;
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    for (int step = 1; step <= kSteps; ++step) {
      const int elapsed = static_cast<int>(step * kStep_s);
      const int left = static_cast<int>((kSteps - step) * kStep_s);
      for (const double loss : {1.25, 1.125}) {
        log += fmt::format("\rEpoch [{}/{}]: [{}/{}] {:3}%|##    , loss={} [00:{:02}<{}]", epoch,
                           kEpochs, step, kSteps, 100 * step / kSteps, loss, elapsed,
                           step == 1 ? std::string("?") : fmt::format("00:{:02}", left));
      }
    }
    log += '\n';
  }
  const auto runs = read_text(log);
  ASSERT_THAT(runs, SizeIs(1));
  const RunLog& run = runs[0];
  EXPECT_EQ(run.records.size(), static_cast<std::size_t>(kEpochs * kSteps));
  const double shown_s = run.records.back().time_s - run.records.front().time_s;
  const double true_s = kEpochs * kSteps * kStep_s;
  EXPECT_LE(std::abs(shown_s - true_s), run.clock_resolution_s);
  EXPECT_LE(run.clock_resolution_s, kEpochs);
}

// Ignite's examples: the counter goes on from epoch to epoch, its total is that of one.
TEST(Generic, ATotalThatTheCounterGoesPastIsThatOfAnEpoch) {
  const auto log = [](int epoch_steps) {
    std::string out;
    for (int epoch = 1; epoch <= 4; ++epoch) {
      for (int step = 20; step <= 120; step += 20) {
        out += fmt::format("Epoch[{}] Iteration[{}/{}] Loss: 0.5{}\n", epoch,
                           (epoch - 1) * 128 + step, epoch_steps, step);
      }
      out += fmt::format("Epoch[{}] Complete. Time taken: 00:00:03.{}\n", epoch, 200 + epoch);
    }
    return out;
  };
  const auto runs = read_text(log(128));
  ASSERT_THAT(runs, SizeIs(1));
  ASSERT_THAT(runs[0].records, SizeIs(4));
  EXPECT_EQ(runs[0].records.back().step, 512);
  const auto other = read_text(log(64));  // no epoch of 64 has a step 120
  ASSERT_THAT(other, SizeIs(1));
  EXPECT_EQ(other[0].records.back().step, 4);
}

// Scripts on accelerate print the banner of the Hugging Face Trainer and steps of a layout of their
// own.
TEST(Generic, ABannerWithoutAStepClaimsNoLog) {
  std::string log =
      "11/28/2026 19:43:08 - INFO - __main__ - ***** Running training *****\n"
      "11/28/2026 19:43:08 - INFO - __main__ -   Num examples = 8192\n"
      "11/28/2026 19:43:08 - INFO - __main__ -   Instantaneous batch size per device = 32\n";
  EXPECT_EQ(read_text(log).at(0).format, "huggingface");
  for (int i = 1; i <= 40; ++i) {
    log += fmt::format("11/28/2026 19:{}:{:02} - INFO - __main__ - epoch 0 step {} loss 0.5{}\n",
                       44 + i / 20, i % 20 * 3, 20 * i, i);
  }
  const auto runs = read_text(log);
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].format, kGenericName);
  EXPECT_THAT(runs[0].records, SizeIs(40));
  EXPECT_EQ(runs[0].facts.micro_batch_size.value, 32);
}

// fastai in a terminal: fastprogress draws bars of one name for training and validation, and a row
// of a table follows each epoch.
TEST(Generic, TheBarsOfFastprogressLeaveTheTableToBeRead) {
  std::string log = "epoch     train_loss  valid_loss  accuracy  time    \n";
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (const int total : {93, 35}) {
      for (int done = 0; done <= total; ++done) {
        log += fmt::format("\rEpoch {}/5 : |####----| {:.2f}% [{}/{} 00:{:02}<00:09... 1.{:04}]",
                           epoch + 1, 100.0 * done / total, done, total, done / 3, done);
      }
    }
    log +=
        fmt::format("\r{}         0.752597    0.437763    0.820255  00:4{}     \n", epoch, epoch);
  }
  const auto runs = read_text(log);
  ASSERT_THAT(runs, SizeIs(1));
  ASSERT_THAT(runs[0].records, SizeIs(5));
  EXPECT_DOUBLE_EQ(runs[0].records[2].seconds, 42);
  EXPECT_EQ(runs[0].records[2].iterations, 93);
}

TEST(Generic, IterationsBetweenItsLinesAreANotice) {
  const RunLog run = read_lines([](int i, double ms) {
    return i % 10 == 5 ? fmt::format("step {} is slow", i)
                       : fmt::format("step {} loss 2.5 took {:.1f} ms", i, ms);
  });
  ASSERT_EQ(run.records.size(), 36U);
  const auto notice =
      std::ranges::find(run.notices, NoticeCode::iterations_without_line, &Notice::code);
  ASSERT_NE(notice, run.notices.end());
  EXPECT_EQ(notice->line, 6);
  EXPECT_THAT(text_of(*notice), testing::HasSubstr("4 iterations"));
}

TEST(Generic, UpCountsUpdatesOnlyWhereItIsShortForThem) {
  const auto counts = [](std::string_view line) {
    return std::ranges::any_of(numbers_of(line), &LineNumber::counts);
  };
  EXPECT_TRUE(counts("Up. 4000 : Cost 2.5 : Time 3.5s"));
  EXPECT_FALSE(counts("scaling up 4000 took 3.5s, loss 2.5"));
}

// What a look at the first lines took for a training and a later one does not is none, as where the
// log comes at once.
TEST(Generic, AGrowingLogThatIsNoTrainingAfterAllHasNoRuns) {
  std::string text;
  LogReader growing({}, "growing.log");
  bool seen = false;
  for (int i = 0; i < 120; ++i) {
    // From the eleventh on the step goes nowhere.
    const std::string line = "step " + std::to_string(i < 10 ? 10 * (i + 1) : 10 * (i * 7 % 10)) +
                             " loss 1.5 took 2.5s\n";
    text += line;
    growing.feed(line);
    seen = growing.live().records > 0 || seen;
  }
  EXPECT_TRUE(seen) << "what this test needs";
  for (const auto& runs : {read_text(text), growing.finish()}) {
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].format, "unknown");
    EXPECT_THAT(runs[0].records, IsEmpty());
    EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  }
}

TEST(Generic, ATrainingThatIsNotReadHasEndedWhereClosingWordsComeAfterIt) {
  const std::string loss = "a loss of 1.5 at step 7\nother loss 1.25 at step 7\n";
  const std::string saved = "model saved in file: ./ckpt/model.ckpt\n";
  const auto status = [](const std::string& text) {
    const auto runs = read_text(text);
    return runs.size() == 1 ? runs[0].outcome.status : Status::no_data;
  };
  EXPECT_EQ(status(loss + saved), Status::completed);
  EXPECT_EQ(status(saved + loss), Status::truncated);
  EXPECT_EQ(status(loss + "Training finished\n" + "loss 1.1 at step 7\n"), Status::truncated);
  EXPECT_THAT(read_text("a loss of 1.5 at step 7\n"), IsEmpty())
      << "one line may be quoted anywhere";
}

// A sweep measures a training: where nothing else is one, its single loop of bars is.
TEST(Generic, TheOnlyBarOfASweepsLogIsItsTraining) {
  const auto bars = [](int total) {
    std::string text;
    for (int i = 1; i <= 8; ++i) {
      const std::string seconds = std::to_string(10 * i);
      text += " " + std::to_string(i) + "%|# | " + std::to_string(100 * i) + "/" +
              std::to_string(total) + " [00:" + seconds + "<10:00, 10.00it/s]\r";
    }
    return text + "\n";
  };
  ReadOptions sweep;
  sweep.of_training = true;
  const auto format_of = [&](const std::string& text) {
    const auto runs = read_text(text, sweep);
    return runs.size() == 1 && !runs[0].records.empty() ? runs[0].format : "";
  };
  EXPECT_EQ(format_of(bars(1000)), "tqdm");
  EXPECT_EQ(format_of(bars(1000) + bars(1000)), "tqdm");
  EXPECT_EQ(format_of(bars(1000) + bars(900)), "") << "which of the two is not known";
  std::string loop;
  for (int i = 1; i <= 8; ++i) loop += "step " + std::to_string(i) + " took 2.5s\n";
  EXPECT_EQ(format_of(bars(1000) + loop), kGenericName) << "the bar may be of its data";
  const auto alone = read_text(bars(1000));
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_THAT(alone[0].records, IsEmpty()) << "of no sweep it may be of any loop";
}

// Loggers join date and time by what they like; no piece of a stamp is a time of its own.
TEST(Generic, AStampIsTheClockWhateverJoinsDateAndTime) {
  for (const char* stamp :
       {"2023-11-23 12:00:34", "2023-11-23-12:00:34", "2023-11-23_12:00:34", "2023/11/23-12:00:34",
        "2023.11.23 12:00:34", "20231123-12:00:34", "20231123_120034", "2023-11-23_12-00-34",
        "2023-11-23 12-00-34", "11/23/2023-12:00:34", "11-23-2023 12:00:34", "2023-11-23, 12:00:34",
        "2023-11-23 - 12:00:34.000"}) {
    const std::string line = std::string("[") + stamp + "-utils.py] Epoch: 85";
    const auto numbers = numbers_of(line);
    ASSERT_THAT(numbers, SizeIs(2)) << line;
    EXPECT_EQ(numbers[0].meaning, Meaning::clock) << line;
    EXPECT_DOUBLE_EQ(numbers[0].value, 1'700'740'834) << line;
    EXPECT_EQ(line.substr(numbers[0].begin, numbers[0].end - numbers[0].begin), stamp);
    EXPECT_EQ(numbers[1].meaning, Meaning::epoch) << line;
  }
  for (const char* line : {"saved to run-2023-11-23-12:00:34 at epoch 3", "2023-13-23-12:00:34 x 3",
                           "exp 20231123-120034 a", "20231123 120034 a"}) {
    for (const LineNumber& number : numbers_of(line)) {
      EXPECT_EQ(number.meaning, Meaning::epoch) << line;
    }
  }
}

TEST(Generic, StampsOfTwelveHoursGoOnAfterNoon) {
  const auto clock_of = [](const std::string& line) {
    const auto numbers = numbers_of(line);
    return numbers.empty() || numbers[0].meaning != Meaning::clock ? 0 : numbers[0].value;
  };
  const double noon = clock_of("03/20 12:00:00 PM train 050 2.1");
  EXPECT_DOUBLE_EQ(clock_of("03/20 11:59:00 AM train 050 2.1"), noon - 60);
  EXPECT_DOUBLE_EQ(clock_of("03/20 01:00:00 PM train 050 2.1"), noon + 3600);
  EXPECT_DOUBLE_EQ(clock_of("03/20 12:00:00 AM train 050 2.1"), noon - 12 * 3600);
  EXPECT_DOUBLE_EQ(clock_of("03/20 12:00:00 AMP train 050 2.1"), noon);
  EXPECT_DOUBLE_EQ(clock_of("2023-11-23 01:00:00 PM epoch 3"),
                   clock_of("2023-11-23 13:00:00 epoch 3"));
}

TEST(Generic, HoursAndMinutesOfADateAreNoTime) {
  EXPECT_THAT(numbers_of("[2023-03-01 10h00m29s] loss of the model"), IsEmpty());
}

TEST(Generic, EpochsWithStampsAndAScoreAreATraining) {
  std::string text;
  for (int i = 0; i < 8; ++i) {
    text += fmt::format(
        "[2023-11-23-12:{:02}:34-utils.py]Confusion matrix : {{'Epoch': {}, 'TP': "
        "441}}\n",
        5 * i, 85 + i);
  }
  const auto runs = read_text(text);
  ASSERT_THAT(runs, SizeIs(1));
  ASSERT_THAT(runs[0].records, SizeIs(8));
  EXPECT_DOUBLE_EQ(runs[0].records[7].time_s - runs[0].records[0].time_s, 7 * 300);
}

// skorch: `cp` is blank where no checkpoint was written.
TEST(Generic, DashesBelowAHeadShowWhereItsCellsStand) {
  std::string text =
      "  epoch    train_loss    valid_loss    cp       dur\n"
      "-------  ------------  ------------  ----  --------\n";
  for (int i = 1; i <= 9; ++i) {
    text += fmt::format("{:7}{:14.4f}{:>14}{:>6}{:10.4f}\n", i, 1.0 / i, i % 3 == 0 ? "" : "0.4443",
                        i % 2 == 0 ? "+" : "", 165 + 0.25 * (i % 2));
  }
  text += "Stopping since valid_loss has not improved in the last 20 epochs.\n";
  const auto runs = read_text(text);
  ASSERT_THAT(runs, SizeIs(1));
  ASSERT_THAT(runs[0].records, SizeIs(9));
  for (int i = 1; i <= 9; ++i) {
    const Record& record = runs[0].records[static_cast<std::size_t>(i - 1)];
    EXPECT_EQ(record.step, i);
    EXPECT_DOUBLE_EQ(record.seconds, 165 + 0.25 * (i % 2));
  }
}

TEST(Generic, TheNumberAfterTheWordTrainCounts) {
  std::string text = "2023-03-20 16:17:29,878 epoch 0 lr 2.498816e-02\n";
  for (const char* word : {"train", "valid"}) {
    for (int i = 0; i < 8; ++i) {
      text += fmt::format("2023-03-20 16:{:02}:44,000 {} {:03} 2.145923e+00 21.446079\n",
                          (*word == 't' ? 18 : 40) + 2 * i, word, 50 * i);
    }
  }
  const auto runs = read_text(text);
  ASSERT_THAT(runs, SizeIs(1));
  ASSERT_THAT(runs[0].records, SizeIs(8));
  EXPECT_EQ(runs[0].records[7].step - runs[0].records[0].step, 350);
  EXPECT_DOUBLE_EQ(runs[0].records[7].time_s - runs[0].records[0].time_s, 840);
  EXPECT_TRUE(std::ranges::none_of(numbers_of("time to train 100 2.5"), &LineNumber::counts));
}

TEST(Generic, ACostIsALossUnlessItHasAUnit) {
  const auto meanings = [](std::string_view line) {
    std::vector<Meaning> out;
    for (const LineNumber& number : numbers_of(line)) out.push_back(number.meaning);
    return out;
  };
  using testing::ElementsAre;
  EXPECT_THAT(meanings("Epoch: 0001 cost= 2.2945 time= 29.43"),
              ElementsAre(Meaning::epoch, Meaning::loss, Meaning::duration));
  EXPECT_THAT(meanings("Epoch: 1 cost 14.01 s"), ElementsAre(Meaning::epoch, Meaning::duration));
  EXPECT_THAT(meanings("Epoch: 1 cost time: 68.69"),
              ElementsAre(Meaning::epoch, Meaning::duration));
}

TEST(Generic, ACounterMayBeJoinedToItsName) {
  const auto counts = [](std::string_view line) {
    return std::ranges::any_of(numbers_of(line), &LineNumber::counts);
  };
  EXPECT_TRUE(counts("epoch_001: loss 2.28"));
  EXPECT_TRUE(counts("Pass 0, trainbatch 230, loss 2.24"));
  EXPECT_FALSE(counts("restbatch 230, loss"));
  EXPECT_TRUE(counts("[step_500] loss 2.28"));
  EXPECT_FALSE(counts("saved out/epoch_12.pt"));
  EXPECT_FALSE(counts("model_epoch_12: saved"));
  EXPECT_FALSE(counts("param_1: 2.28"));
}

// PyTorch's tutorials: the epochs have no time, the end has that of all.
TEST(Generic, TheTimeOfTheWholeTrainingIsThatOfItsEpochs) {
  const auto log = [](int first) {
    std::string text;
    for (int i = first; i <= 24; ++i)
      text += fmt::format("Epoch {}/24\ntrain Loss: 0.{}\n", i, 90 - i);
    return read_text(text + "Training complete in 5m 36s\n");
  };
  ASSERT_THAT(log(1), SizeIs(1));
  EXPECT_EQ(log(1)[0].totals.training_s, 336);
  const auto resumed = log(12);
  ASSERT_THAT(resumed, SizeIs(1));
  EXPECT_FALSE(resumed[0].totals.training_s) << "the first epochs may be of an earlier run";
}

TEST(Generic, WhatIsCountedMayStandAfterTheNumber) {
  const auto first = [](std::string_view line) {
    const auto numbers = numbers_of(line);
    return numbers.empty() || !numbers[0].counts() ? 0 : numbers[0].value;
  };
  EXPECT_EQ(first("After 100 training step(s), loss on training batch is 2.292. (0.2 sec/step)"),
            100);
  EXPECT_EQ(first("Loss after 200 iterations: 2.298, elapsed 9.9 sec"), 200);
  EXPECT_EQ(first("Trained 300 batches, loss=2.283, 9.8s"), 300);
  EXPECT_EQ(first("after 300 seconds the loss is 2.28"), 0);
  EXPECT_EQ(first("Trained 300 models, loss=2.283"), 0);
}

TEST(Generic, EpisodesWithAScoreAndATimeAreATraining) {
  const auto log = [](const char* name) {
    std::string text;
    for (int i = 1; i <= 9; ++i) {
      text += fmt::format("{}: {} | Score: 22.{} | Time: {}.0\n", name, 50 * i, i, 10 * i);
    }
    return read_text(text);
  };
  ASSERT_THAT(log("Episode"), SizeIs(1));
  EXPECT_THAT(log("Episode")[0].records, SizeIs(9));
  EXPECT_THAT(log("Batch"), IsEmpty());
}

TEST(Generic, TheLastNumberOfALineMayBeMinutes) {
  const auto last = [](std::string_view line) {
    const auto numbers = numbers_of(line);
    return numbers.empty() || numbers.back().meaning != Meaning::duration ? 0
                                                                          : numbers.back().value;
  };
  EXPECT_DOUBLE_EQ(last("[36 68000/75400] loss 0.1878 lr 2.21e-05 182.5m"), 10'950);
  EXPECT_DOUBLE_EQ(last("step 36 loss 0.1878 params 12.5m"), 0);
  EXPECT_DOUBLE_EQ(last("step 36 loss 0.1878 12.5m of data"), 0);
  EXPECT_DOUBLE_EQ(last("step 36 loss 0.1878 12m"), 0);
}

TEST(Generic, ALogThatSavesItsModelAgainIsATraining) {
  const std::string saved = "2018-12-10 05:46:22.541 INFO in 'core.train': Saving model\n";
  const std::string best = "2018-12-10 05:46:22.540 INFO in 'core': New best squad_f1 of 36.03\n";
  EXPECT_THAT(read_text(best + saved), IsEmpty());
  const auto runs = read_text(best + saved + best + saved);
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].outcome.status, Status::truncated);
  EXPECT_THAT(
      read_text("[2025-06-13 01:52:54,972 INFO] Saving checkpoint run/model_step_15000.pt\n"),
      SizeIs(1));
}

TEST(Generic, AnUnreadLogNamesTheLinesNearestToARate) {
  const auto runs = read_log(
      BB_SOURCE_DIR "/tests/golden/quoted/generic.builds_and_downloads_are_no_training.log", {});
  ASSERT_FALSE(runs);
  EXPECT_THAT(runs.error().message(), testing::HasSubstr("nearest to a rate: line"));
}

TEST(Generic, ExplainListsWhatEachFormatFound) {
  const auto named = explain_log(BB_SOURCE_DIR "/parsers/samples/megatron/sample.log");
  ASSERT_TRUE(named);
  ASSERT_THAT(named->formats, Not(IsEmpty()));
  EXPECT_EQ(named->formats.front().format, "megatron");
  EXPECT_TRUE(named->formats.front().used && named->formats.front().timed);
  EXPECT_THAT(named->nearest, IsEmpty());
  const auto own = explain_log(BB_SOURCE_DIR
                               "/tests/golden/quoted/generic.stamps_of_a_logger_are_the_clock.log");
  ASSERT_TRUE(own);
  ASSERT_THAT(own->formats, Not(IsEmpty()));
  EXPECT_EQ(own->formats.back().format, kGenericName);
  EXPECT_TRUE(own->formats.back().used);
}

TEST(Generic, ExplainNamesTheLinesNearestToARateWhereNothingIsRead) {
  const auto found = explain_log(
      BB_SOURCE_DIR "/tests/golden/quoted/generic.builds_and_downloads_are_no_training.log");
  ASSERT_TRUE(found);
  EXPECT_THAT(found->formats, IsEmpty());
  EXPECT_THAT(found->nearest, SizeIs(3));
}

}  // namespace
}  // namespace bertbench
