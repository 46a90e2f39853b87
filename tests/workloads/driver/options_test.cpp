// Every option of the CPU backend: a short run (which the sanitizers' build runs as well), and for
// those that train a run that is killed at any instant and goes on to the same losses.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>

#include "tests/workloads/driver/process.h"

namespace bert {
namespace {

using testing::Finished;
using testing::Process;

struct Option {
  std::string name;
  std::vector<std::string> words;
  int ranks = 1;
};

std::ostream& operator<<(std::ostream& out, const Option& option) { return out << option.name; }

/// One run of all ranks. What rank 0 wrote is appended to `out_path`.
class RankProcesses {
 public:
  RankProcesses(const Option& option, std::vector<std::string> words, const std::string& out_path) {
    words.insert(words.end(), option.words.begin(), option.words.end());
    for (const auto& [name, value] : std::map<std::string, std::string>{{"--model", "bert-tiny"},
                                                                        {"--micro-batch-size", "2"},
                                                                        {"--sequence-length", "32"},
                                                                        {"--threads", "1"}}) {
      if (std::ranges::find(words, name) == words.end()) words.insert(words.end(), {name, value});
    }
    const int port = testing::free_port();
    for (int rank = 0; rank < option.ranks; ++rank) {
      const auto variables = option.ranks > 1 ? testing::rank_variables(rank, option.ranks, port)
                                              : testing::Variables{};
      ranks_.push_back(
          std::make_unique<Process>(words, variables, rank == 0 ? out_path : std::string()));
    }
  }
  Process& first() { return *ranks_.front(); }
  void kill() {
    for (auto& rank : ranks_) rank->signal(SIGKILL);
  }
  /// Of rank 0; the worst status.
  Finished wait() {
    Finished all;
    all.status = 0;
    for (auto& rank : ranks_) {
      const Finished one = rank->wait();
      if (rank == ranks_.front()) all.out = one.out;
      all.err += one.err;
      all.status = std::max(all.status, one.status);
    }
    return all;
  }

 private:
  std::vector<std::unique_ptr<Process>> ranks_;
};

/// Loss of each step; a line that was cut off by a kill is none.
void take_losses(const std::string& log, std::map<int, double>& losses) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json one = nlohmann::json::parse(line, nullptr, false);
    if (one.is_object() && one.value("type", "") == "step") {
      losses[one["step"].get<int>()] = one["loss"].get<double>();
    }
  }
}

bool refuses_bf16(const Finished& run) {
  return run.status == 3 && run.err.find("multiplies no bf16") != std::string::npos;
}

std::string text_file() {
  const std::string path = testing::temporary_folder("options_text") + "/text.txt";
  std::ofstream out(path);
  for (int i = 0; i < 60; ++i) {
    out << "the quick brown fox jumps over " << (i % 7 == 0 ? "\n\n" : "lazy dogs, ") << i << '\n';
  }
  return path;
}

class EveryOption : public ::testing::TestWithParam<Option> {};

TEST_P(EveryOption, runs_to_its_end) {
  Option option = GetParam();
  for (auto& word : option.words) {
    if (word == "TEXT") word = text_file();
  }
  RankProcesses job(option, {"--steps", "3", "--evaluate", "4"}, "");
  const Finished run = job.wait();
  if (refuses_bf16(run)) GTEST_SKIP() << "this processor multiplies no bf16";
  ASSERT_EQ(run.status, 0) << run.err;
  std::map<int, double> losses;
  take_losses(run.out, losses);
  EXPECT_EQ(losses.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryOption,
    ::testing::Values(
        Option{"fp32", {}}, Option{"bf16", {"--precision", "bf16"}},
        Option{"fp16", {"--precision", "fp16", "--loss-scale-initial", "1e9"}},
        Option{"two_ranks", {}, 2}, Option{"tcp", {"--comm", "tcp"}, 2},
        Option{"zero", {"--zero", "1"}, 2},
        Option{"zero_lamb", {"--zero", "1", "--optimizer", "lamb"}, 2},
        Option{"unpadded", {"--unpadded", "--lengths", "uniform"}},
        Option{"unpadded_bf16", {"--unpadded", "--lengths", "wikipedia", "--precision", "bf16"}},
        Option{"checkpointing", {"--activation-checkpointing"}},
        Option{"accumulation", {"--gradient-accumulation-steps", "3"}},
        Option{"all_positions", {"--all-positions"}},
        Option{"exponential", {"--schedule", "warmup_linear_decay_exp", "--warmup-steps", "2"}},
        Option{"inference", {"--inference"}}, Option{"squad", {"--task", "squad"}},
        Option{"classification", {"--task", "classification", "--unpadded"}},
        Option{"gpt2", {"--model", "gpt2-tiny"}}, Option{"text", {"--data", "TEXT"}},
        Option{"whole_words", {"--data", "TEXT", "--whole-word-masking"}},
        Option{"deterministic", {"--deterministic"}}),
    [](const auto& one) { return one.param.name; });

nlohmann::json header_of(const std::string& log) {
  return nlohmann::json::parse(log.substr(0, log.find('\n')));
}

/// A run of three steps with one line of the log.
nlohmann::json three_steps(std::vector<std::string> words, int ranks) {
  words.insert(words.end(), {"--micro-batch-size", ranks == 2 ? "2" : "4"});
  const Finished run =
      RankProcesses({"lengths", words, ranks}, {"--steps", "3", "--log-every", "3"}, "").wait();
  EXPECT_EQ(run.status, 0) << run.err;
  std::istringstream lines(run.out);
  for (std::string text; std::getline(lines, text);) {
    auto line = nlohmann::json::parse(text, nullptr, false);
    if (line.is_object() && line["type"] == "step") return line;
  }
  return {};
}

TEST(Lengths, are_stated_and_give_the_same_losses_with_and_without_padding) {
  EXPECT_FALSE(three_steps({"--lengths", "full"}, 1).contains("mean_length"));
  for (const std::string lengths : {"uniform", "wikipedia"}) {
    const auto padded = three_steps({"--lengths", lengths}, 1);
    const double mean = padded.at("mean_length"), square = padded.at("mean_square_length");
    EXPECT_LT(mean, 32) << lengths;
    EXPECT_GE(mean, 8) << lengths;  // five masked positions and the special tokens
    EXPECT_GE(square, mean * mean) << lengths;
    const auto packed = three_steps({"--lengths", lengths, "--unpadded"}, 1);
    EXPECT_NEAR(packed.at("mean_loss"), padded.at("mean_loss"), 1e-4) << lengths;
    EXPECT_EQ(packed.at("mean_length"), mean) << lengths;
    EXPECT_NEAR(three_steps({"--lengths", lengths}, 2).at("mean_length"), mean, 1e-9)
        << "the sequences of all ranks";
  }
}

TEST(ZeroOnTheCpu, has_the_losses_of_whole_moments_in_half_their_memory) {
  for (const char* optimizer : {"adamw", "lamb"}) {
    Option whole{"whole", {"--optimizer", optimizer}, 2};
    Option shared = whole;
    shared.words.insert(shared.words.end(), {"--zero", "1"});
    const std::vector<std::string> words{"--steps", "4", "--gradient-clipping", "0.5"};
    const Finished one = RankProcesses(whole, words, "").wait();
    const Finished two = RankProcesses(shared, words, "").wait();
    ASSERT_EQ(one.status, 0) << one.err;
    ASSERT_EQ(two.status, 0) << two.err;
    std::map<int, double> wanted, got;
    take_losses(one.out, wanted);
    take_losses(two.out, got);
    EXPECT_EQ(got, wanted) << optimizer;
    const nlohmann::json a = header_of(one.out), b = header_of(two.out);
    EXPECT_EQ(b["zero_stage"], 1);
    const auto moments = 8 * a["parameters"].get<std::int64_t>();
    const auto saved =
        a["planned_bytes"].get<std::int64_t>() - b["planned_bytes"].get<std::int64_t>();
    EXPECT_NEAR(static_cast<double>(saved), static_cast<double>(moments) / 2,
                0.02 * static_cast<double>(moments));
  }
}

TEST(ZeroOnTheCpu, a_checkpoint_is_the_same_for_every_world) {
  const std::string folder = testing::temporary_folder("zero_checkpoint") + "/kept";
  const Option shared{"shared", {"--zero", "1"}, 2};
  const Finished first = RankProcesses(shared, {"--steps", "2", "--checkpoint", folder}, "").wait();
  ASSERT_EQ(first.status, 0) << first.err;
  std::map<int, double> wanted, got;
  const Finished on = RankProcesses(shared, {"--steps", "4", "--resume", folder}, "").wait();
  ASSERT_EQ(on.status, 0) << on.err;
  take_losses(on.out, wanted);
  const Finished without =
      RankProcesses({"two", {}, 2}, {"--steps", "4", "--resume", folder}, "").wait();
  ASSERT_EQ(without.status, 0) << without.err;
  take_losses(without.out, got);
  EXPECT_EQ(got, wanted);
  EXPECT_EQ(got.size(), 2u);
}

/// Scores of questions and classes of files, learnt from nothing.
TEST(GivenData, IsTrainedOnAndScored) {
  std::string squad = R"({"data": [{"paragraphs": [)", table = "sentence\tlabel\n";
  for (int i = 0; i < 20; ++i) {
    const std::string name = "name" + std::to_string(i), place = "place" + std::to_string(i);
    const std::string context = name + " lives in " + place + " and works there";
    squad += (i ? "," : "") + std::string(R"({"context": ")") + context +
             R"(", "qas": [{"id": "q", "question": "where does )" + name +
             R"( live", "answers": [{"text": ")" + place + R"(", "answer_start": )" +
             std::to_string(context.find(place)) + "}]}]}";
    table += (i % 2 ? "a good film" : "a bad film") + std::string(" ") + name + "\t" +
             (i % 2 ? "1" : "0") + "\n";
  }
  squad += "]}]}";
  const std::string folder = testing::temporary_folder("given_data");
  std::ofstream(folder + "/squad.json") << squad;
  std::ofstream(folder + "/films.tsv") << table;
  const Finished answers =
      RankProcesses({"squad", {"--task", "squad", "--data", folder + "/squad.json"}},
                    {"--steps", "2"}, "")
          .wait();
  ASSERT_EQ(answers.status, 0) << answers.err;
  EXPECT_THAT(answers.out,
              ::testing::HasSubstr("\"evaluation\":{\"sequences\":2,\"exact_match\":"));
  EXPECT_THAT(answers.out, ::testing::HasSubstr("20 questions, WordPiece vocabulary of"));
  const Finished classes =
      RankProcesses({"films",
                     {"--task", "classification", "--data", folder + "/films.tsv", "--vocabulary",
                      folder + "/vocab.txt"}},
                    {"--steps", "2"}, "")
          .wait();
  ASSERT_EQ(classes.status, 0) << classes.err;
  EXPECT_THAT(classes.out,
              ::testing::HasSubstr("\"evaluation\":{\"sequences\":2,\"eval_accuracy\":"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/vocab.txt"));
}

TEST(LoaderTime, IsInEachStepAndInTheSummary) {
  const Finished run = RankProcesses({"data", {}}, {"--steps", "3"}, "").wait();
  ASSERT_EQ(run.status, 0) << run.err;
  std::istringstream lines(run.out);
  double sum = 0;
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);) {
    last = nlohmann::json::parse(line);
    if (last["type"] == "step") {
      EXPECT_GE(last["parts"]["data"].get<double>(), 0);
      sum += last["parts"]["data"].get<double>();
    }
  }
  EXPECT_GT(sum, 0);
  EXPECT_NEAR(last["data_s"].get<double>(), sum, 1e-9);
  EXPECT_EQ(last["data_wait_s"], last["data_s"]) << "nothing is computed meanwhile on a CPU";
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// docs/cpu.md has the figures of more models.
class PeakMemory : public ::testing::TestWithParam<Option> {};

TEST_P(PeakMemory, is_as_predicted) {
  const Finished run = RankProcesses(GetParam(),
                                     {"--model", "bert-mini", "--micro-batch-size", "8",
                                      "--sequence-length", "128", "--steps", "2"},
                                     "")
                           .wait();
  if (refuses_bf16(run)) GTEST_SKIP() << "this processor multiplies no bf16";
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string text = run.out.substr(0, run.out.size() - 1);
  const nlohmann::json summary = nlohmann::json::parse(text.substr(text.rfind('\n') + 1));
  const auto measured = summary["measured_peak_bytes"].get<double>();
  EXPECT_NEAR(summary["predicted_peak_bytes"].get<double>(), measured, 0.03 * measured);
}

INSTANTIATE_TEST_SUITE_P(
    All, PeakMemory,
    ::testing::Values(Option{"fp32", {}}, Option{"bf16", {"--precision", "bf16"}},
                      Option{"fp16", {"--precision", "fp16"}},
                      Option{"checkpointing",
                             {"--activation-checkpointing", "--precision", "bf16"}},
                      Option{"inference", {"--inference", "--precision", "bf16"}},
                      Option{"all_positions", {"--all-positions", "--precision", "bf16"}}),
    [](const auto& one) { return one.param.name; });
#endif

class KilledAtAnyInstant : public ::testing::TestWithParam<Option> {};

TEST_P(KilledAtAnyInstant, goes_on_to_the_same_losses) {
  const Option& option = GetParam();
  constexpr int kSteps = 6;
  constexpr int kKills = 3;
  const std::string folder = testing::temporary_folder("killed_" + option.name);
  const std::vector<std::string> words{"--steps", std::to_string(kSteps)};
  RankProcesses whole(option, words, "");
  const Finished run = whole.wait();
  if (refuses_bf16(run)) GTEST_SKIP() << "this processor multiplies no bf16";
  ASSERT_EQ(run.status, 0) << run.err;
  std::map<int, double> wanted, got;
  take_losses(run.out, wanted);
  ASSERT_EQ(std::ssize(wanted), kSteps);

  std::vector<std::string> kept = words;
  kept.insert(kept.end(), {"--checkpoint", folder + "/kept", "--checkpoint-every", "2"});
  const auto resumed = [&] {
    std::vector<std::string> words_now = kept;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/kept", none)) {
      if (entry.path().extension() != ".ckpt") continue;
      words_now.insert(words_now.end(), {"--resume", folder + "/kept"});
      break;
    }
    return words_now;
  };
  std::seed_seq seed(option.name.begin(), option.name.end());
  std::mt19937 random(seed);
  for (int kill = 0; kill < kKills; ++kill) {
    const std::string out = folder + "/" + std::to_string(kill) + ".log";
    RankProcesses job(option, resumed(), out);
    // After so many steps of this start, and a moment more: in a step, a checkpoint, a rename.
    job.first().wait_for_output("\"type\":\"step\"", static_cast<int>(random() % 4));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40000));
    job.kill();
    job.wait();
    take_losses(testing::read_file(out), got);
  }
  const Finished rest = RankProcesses(option, resumed(), "").wait();
  // A start that was killed after its last checkpoint had nothing left to do.
  if (rest.err.find("are done already") == std::string::npos) {
    ASSERT_EQ(rest.status, 0) << rest.err;
  }
  take_losses(rest.out, got);
  EXPECT_EQ(got, wanted);
}

INSTANTIATE_TEST_SUITE_P(
    All, KilledAtAnyInstant,
    ::testing::Values(Option{"fp32", {}}, Option{"bf16", {"--precision", "bf16"}},
                      Option{"fp16", {"--precision", "fp16", "--loss-scale-initial", "1e9"}},
                      Option{"zero", {"--zero", "1"}, 2},
                      Option{"unpadded", {"--unpadded", "--lengths", "uniform"}},
                      Option{"two_ranks", {}, 2}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace bert
