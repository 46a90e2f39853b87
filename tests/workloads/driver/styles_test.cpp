// The golden log of every style: scripted clock, scripted losses. BB_UPDATE_GOLDEN=1 rewrites.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/workloads/driver/process.h"
#include "workloads/bert/log_styles/log_style.h"
#include "workloads/bert/log_styles/text.h"

namespace bert {
namespace {

using ::testing::HasSubstr;

RunFacts facts() {
  RunFacts f;
  f.model = "bert-tiny";
  f.precision = "fp32";
  f.optimizer = "lamb";
  f.backend = "cpu, test";
  f.backend_name = "cpu";
  f.communicator = "tcp, test";
  f.data = "synthetic";
  f.micro_batch_size = 8;
  f.gradient_accumulation_steps = 3;
  f.sequence_length = 128;
  f.masked_per_sequence = 20;
  f.world_size = 4;
  f.nodes = 2;
  f.gpus_per_node = 2;
  f.parameters = 4433468;
  f.last_step = 6;
  f.log_every = 2;
  f.dropout = 0.1;
  f.learning_rate = 0.006;
  f.gradient_clipping = 1;
  f.weight_decay = 0.01;
  f.decay_steps = 6;
  f.bucket_bytes = 8388608;
  f.planned_bytes = 1000000;
  f.launcher = "torchrun";
  f.host = "node1";
  f.version = "0.1.0";
  f.commit = "0123456789ab";
  f.compiler = "GNU 12.2.0";
  f.command = {"bert_train", "--model", "bert-tiny", "--steps", "6"};
  return f;
}

// 2026-01-31 23:59:58.5 UTC when the program is two seconds old.
Stamp at(double seconds) { return {seconds, 1769903996.5 + seconds}; }

// Six optimizer steps of three micro-steps each, 0.33 s a micro-step; the fifth loss is NaN.
std::string log_of(const std::string& style, int signal = 0) {
  std::ostringstream out;
  const auto log = find_log_style(style)->make(out);
  const RunFacts f = facts();
  double now = 2;
  log->begin(f, at(now));
  std::int64_t micro = 0;
  const int last = signal == 0 ? 6 : 4;
  for (int step = 1; step <= last; ++step) {
    for (int k = 1; k <= 3; ++k) {
      now += 0.33;
      if (k == 3) {
        StepFacts s;
        s.step = step;
        s.masked_lm = step == 5 ? std::nan("") : 10.25 - 0.1 * step;
        s.next_sentence = 0.6931471805599453;
        s.loss = s.masked_lm + s.next_sentence;
        s.last_micro_loss = s.loss + 0.015625;
        s.learning_rate = 0.006 / step;
        s.gradient_norm = 3.5;
        s.communication_s = 0.02;
        s.exposed_communication_s = 0.005;
        log->step(s, at(now));
      }
      log->micro_step(++micro, at(now));
    }
  }
  RunEnd end;
  end.step = end.steps_done = last;
  end.training_s = now - 2;
  end.signal = signal;
  end.first_nan_step = signal == 0 ? 5 : 0;
  end.peak_bytes = 1234567;
  end.checkpoint = signal == 0 ? "" : "ckpt/step_00000004.ckpt";
  log->end(end, at(now));
  return out.str();
}

void expect_golden(const std::string& text, const std::string& name) {
  const std::string path = std::string(BB_TEST_DATA_DIR "/driver/golden/") + name;
  if (std::getenv("BB_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
  }
  EXPECT_EQ(text, testing::read_text(path)) << path;
}

TEST(LogStyles, EveryStyleMatchesItsGoldenLog) {
  ASSERT_GE(log_styles().size(), 3u);
  for (const LogStyleEntry& style : log_styles()) {
    const std::string name(style.name);
    expect_golden(log_of(name), name + ".log");
    expect_golden(log_of(name, 15), name + "_interrupted.log");
  }
}

TEST(NativeStyle, EveryLineIsJsonWithNotANumberAsText) {
  std::istringstream lines(log_of("native"));
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(lines, line);) {
    all.push_back(nlohmann::json::parse(line));
  }
  ASSERT_EQ(all.size(), 5u);  // header, steps 2, 4 and 6, summary
  EXPECT_EQ(all[0]["global_batch_size"], 96);
  EXPECT_EQ(all[1]["step"], 2);
  EXPECT_EQ(all[1]["steps"], 2);
  EXPECT_NEAR(all[1]["seconds"].get<double>(), 0.99, 1e-9);
  EXPECT_NEAR(all[1]["sequences_per_second"].get<double>(), 96 / 0.99, 1e-6);
  EXPECT_EQ(all[3]["mean_loss"], "nan");  // steps 5 and 6
  EXPECT_EQ(all[4]["first_nan_step"], 5);
}

TEST(NativeStyle, BytesThatAreNotUtf8DoNotBreakTheLog) {
  std::ostringstream out;
  RunFacts f = facts();
  f.host = "caf\xe9";
  make_native_style(out)->begin(f, at(0));
  EXPECT_TRUE(nlohmann::json::accept(out.str()));
}

TEST(TfStyle, EveryMessageStandsTwice) {
  std::istringstream lines(log_of("tf"));
  std::string first, second;
  int pairs = 0;
  while (std::getline(lines, first) && std::getline(lines, second)) {
    const std::string message = first.substr(first.find(":tensorflow:") + 12);
    EXPECT_TRUE(second.ends_with("] " + message)) << first << '\n' << second;
    ++pairs;
  }
  EXPECT_GT(pairs, 12);
}

TEST(LogStyles, NamesThatAreNotBuiltYetAreToldFromUnknownOnes) {
  EXPECT_EQ(unknown_log_style("deepspeed"),
            "log style \"deepspeed\" is not built yet; have: native, tqdm, tf");
  EXPECT_THAT(unknown_log_style("latex"), HasSubstr("unknown; have: native, tqdm, tf"));
}

TEST(NumberText, IsSpelledAsPythonAndNumpyDo) {
  EXPECT_EQ(python_float(0.006), "0.006");
  EXPECT_EQ(python_float(7.151985398522354e-05), "7.151985398522354e-05");
  EXPECT_EQ(python_float(7048), "7048.0");
  EXPECT_EQ(python_float(1e16), "1e+16");
  EXPECT_EQ(python_float(std::nan("")), "nan");
  EXPECT_EQ(python_float(-1.0 / 0.0), "-inf");
  EXPECT_EQ(numpy_float32(11.1450205), "11.1450205");
  EXPECT_EQ(percent_g(0.1845049), "0.184505");
  EXPECT_EQ(percent_g(1234567), "1.23457e+06");
  EXPECT_EQ(rfc3339(1769903999.9996), "2026-01-31T23:59:59.999Z");
}

}  // namespace
}  // namespace bert
