// synthetic: tf_cnn_benchmarks, and Horovod's benchmarks on synthetic data.
//
// tf_cnn_benchmarks:
//   Batch size:  512 global
//                64 per device
//   Mode:        training
//   1       images/sec: 205.3 +/- 0.0 (jitter = 0.0)        9.1
//   total images/sec: 204.75
//
// Horovod:
//   Batch size: 32
//   Number of GPUs: 4
//   Iter #0: 108.3 img/sec per GPU
//   Img/sec per GPU: 108.2 +-1.2
//   Total img/sec on 4 GPU(s): 432.8 +-4.9
//
// A line of tf_cnn_benchmarks tells the mean speed since the first timed step, of the process that
// prints it; "total" is the job's, and under horovod every process prints it. An "Iter" of Horovod
// is a round of batches whose number is not told.
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"images/sec: ",   " img/sec",      "Img/sec per ",
                                         "Batch size: ",   "per device",    "Mode:        ",
                                         "Number of GPUs", "Number of CPUs"};

std::optional<std::int64_t> whole(std::optional<double> value) {
  if (!value || !(*value >= 1 && *value < 1e9) || *value != std::floor(*value)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*value);
}

class SyntheticParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_mean(const Line& line, RunBuilder& out);
  bool see_round(const Line& line, RunBuilder& out);
  bool see_total(const Line& line, RunBuilder& out);
  void see_setting(const Line& line);
  void see_own_mean(RunDraft& draft);
  void tell_setting(Facts& facts) const;

  WorkKind kind_ = WorkKind::training;
  std::optional<std::int64_t> batch_, global_, world_;
  std::int64_t step_ = 0, copies_ = 0, line_ = 0;
  double mean_ = kUnknown;  ///< newest, of one process
  bool untold_world_ = false, rounds_ = false;
};

// "10\timages/sec: 204.8 +/- 0.1 (jitter = 0.6)\t9.228"
bool SyntheticParser::see_mean(const Line& line, RunBuilder& out) {
  const auto unit = line.text.find("images/sec: ");
  if (unit == std::string_view::npos || line.text.find(" +/- ", unit) == std::string_view::npos) {
    return false;
  }
  const auto front = line.text.find_last_not_of(" \t", unit == 0 ? 0 : unit - 1);
  if (unit == 0 || front == std::string_view::npos) return false;
  const auto before = line.text.find_last_not_of("0123456789", front);
  const std::size_t from = before == std::string_view::npos ? 0 : before + 1;
  const auto step = Cursor(line.text.substr(from, front + 1 - from), false).integer();
  const auto rate = number_after(line, "images/sec:");
  if (!step || *step < 1 || *step > 1'000'000'000 || !rate || !(*rate >= 0)) return false;
  if (*step < step_) {
    out.close(kind_);
    step_ = copies_ = 0;
  }
  const bool copy = *step == step_;
  copies_ += copy && line.rank < 0 ? 1 : 0;
  Sample sample;
  sample.step = *step;
  sample.iterations = copy ? 1 : *step - step_;
  if (const auto jitter = line.text.find("(jitter = "); jitter != std::string_view::npos) {
    Cursor after(line);
    after.move_to(jitter);
    if (after.skip_past(")")) {
      after.blanks();
      after.literal("\t");
      sample.loss = after.number();
    }
  }
  sample.line = line.number;
  sample.rank = line.rank;
  step_ = *step;
  mean_ = *rate;
  line_ = line.number;
  RunDraft& draft = out.run(kind_, line.number);
  tell_setting(draft.log.facts);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.ended_well = false;
  draft.add(sample);
  return true;
}

// "Iter #3: 108.7 img/sec per GPU"
bool SyntheticParser::see_round(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("Iter #")) return false;
  const auto round = cursor.integer();
  if (!round || *round < 0 || *round > 1'000'000'000 || !cursor.literal(": ")) return false;
  const auto rate = cursor.number();
  if (!rate || !(*rate > 0) || !cursor.literal(" img/sec per ")) return false;
  Sample sample;
  sample.step = *round + 1;
  sample.iterations = 1;
  if (world_) sample.rate = *rate * static_cast<double>(*world_);
  untold_world_ = untold_world_ || !world_;
  rounds_ = true;
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = out.add(kind_, sample);
  tell_setting(draft.log.facts);
  draft.log.iteration_unit = IterationUnit::unknown;
  draft.log.rate_unit = RateUnit::sequences_per_second;
  return true;
}

// "total images/sec: 204.75", "Total img/sec on 4 GPU(s): 432.8 +-4.9"
bool SyntheticParser::see_total(const Line& line, RunBuilder& out) {
  auto total = number_after(line, "total images/sec:");
  if (!total) {
    Cursor cursor(line);
    if (!cursor.skip_past("Total img/sec on ")) return false;
    if (const auto world = cursor.integer(); world && *world >= 1) world_ = world;
    if (!cursor.skip_past("(s): ")) return false;
    total = cursor.number();
  }
  if (!total || !(*total > 0)) return false;
  RunDraft& draft = out.run(kind_, line.number);
  tell_setting(draft.log.facts);
  draft.log.summary = Stated{*total, RateUnit::sequences_per_second, line.number};
  draft.ended_well = true;
  draft.last_line = line.number;
  return true;
}

void SyntheticParser::see_setting(const Line& line) {
  if (has(line, "Mode:        ")) {
    kind_ = has(line, "forward-only") ? WorkKind::inference
            : has(line, "evaluation") ? WorkKind::evaluation
                                      : WorkKind::training;
  } else if (has(line, " per device")) {
    const auto digits = line.text.find_first_of("0123456789");
    if (digits == std::string_view::npos) return;
    batch_ = whole(Cursor(line.text.substr(digits), false).number());
  } else if (const auto batch = whole(number_after(line, "Batch size:"))) {
    (has(line, " global") ? global_ : batch_) = batch;
  }
  for (const std::string_view key : {"Number of GPUs:", "Number of CPUs:"}) {
    if (const auto world = whole(number_after(line, key))) world_ = world;
  }
}

bool SyntheticParser::parse(const Line& line, RunBuilder& out) {
  if (see_mean(line, out) || see_round(line, out) || see_total(line, out)) return true;
  see_setting(line);
  return false;
}

// Without a closing line the newest mean stands for the run, where one process is the job.
void SyntheticParser::see_own_mean(RunDraft& draft) {
  if (draft.log.summary || std::isnan(mean_) || draft.last() == nullptr ||
      draft.last()->line > line_) {
    return;
  }
  const bool several = copies_ > 0 || (global_ && batch_ && *global_ > *batch_);
  if (several) {
    draft.log.notices.push_back(foreign_notice(
        line_,
        "the log ends before its total; its lines tell the mean speed of the process that prints "
        "them, and several print: no rate of the job is taken from them"));
    return;
  }
  draft.log.summary = Stated{mean_, RateUnit::sequences_per_second, line_};
  draft.log.notices.push_back(foreign_notice(
      line_,
      "the log ends before its total: the newest mean since the first timed step is taken; under "
      "horovod it is one worker's"));
}

// As told when the line stands there: the next run of the file may have other settings.
void SyntheticParser::tell_setting(Facts& facts) const {
  if (batch_) facts.micro_batch_size.set(*batch_, FactSource::log);
  if (global_) facts.global_batch_size.set(*global_, FactSource::log);
  if (world_) facts.world_size.set(*world_, FactSource::log);
}

void SyntheticParser::finish(RunBuilder& out) {
  if (!rounds_) out.facts.framework.set("tensorflow", FactSource::log);
  for (const auto& draft : out.drafts()) {
    if (out.drafts().size() == 1) tell_setting(draft->log.facts);
    draft->log.notices.push_back(foreign_notice(0, "sequences are images"));
    if (untold_world_) {
      draft->log.notices.push_back(foreign_notice(
          0, "img/sec is that of one GPU, and the log does not tell how many there are"));
    }
    if (!rounds_) see_own_mean(*draft);
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<SyntheticParser>(); }

}  // namespace

extern const Format format_synthetic;
const Format format_synthetic = {
    "synthetic", "tf_cnn_benchmarks and Horovod's benchmarks on synthetic data: images/sec",
    "https://github.com/tensorflow/benchmarks scripts/tf_cnn_benchmarks/benchmark_cnn.py; "
    "https://github.com/horovod/horovod examples (synthetic_benchmark)",
    kAnchors, make};

}  // namespace bertbench
