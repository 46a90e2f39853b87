// pytorch-examples: scripts of pytorch/examples that print no meters, and the many made from them.
//
//   | epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 12.31 | loss  7.63 | ppl  2065.01
//   | end of epoch   1 | time: 42.17s | valid loss  5.91 | valid ppl   368.04
//   | End of training | test loss  5.21 | test ppl   183.09          (word_language_model,
//   AWD-LSTM) Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.300825 Test set: Average loss: 0.0500,
//   Accuracy: 9800/10000 (98%)       (mnist, Horovod's and others)
//   Train Epoch: 0 [ 51200/2901824 (2%)] Data (t): 0.001 Batch (t): 0.512, 4096.00/s, 512.000/s/gpu
//   LR: 0.000001 Loss: 6.9 (6.9)                                                    (open_clip)
//   2021-08-05 11:40:22,317 - INFO - main.py - train - 52 - 【train】 epoch:0 118/360 loss:0.2040
//   Iter:    100,  Train Loss:   0.4,  Train Acc: 86.72%,  Val Loss:  0.36,  Val Acc: 89.57%, Time:
//   0:00:37 *                        (Bert-Chinese-Text-Classification and what is made after it)
//
// ms/batch is the time since the line before over --log-interval. The first line of an epoch comes
// after one batch more than that: batch 0, whose time is in it. Batches behind the last line of an
// epoch are in no line, and neither are evaluations. mnist counts samples (of its process) and
// tells no time at all. 【train】, of many BERT scripts in Chinese, numbers the batches of all
// epochs, most from 0 on; its clock is the logger's stamp. Iter does so too; its time is since the
// start, in whole seconds, with the evaluation in front of every line.
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "parsers/format.h"
#include "parsers/runs/run_builder.h"
#include "parsers/runs/training_clock.h"
#include "parsers/text/clock.h"
#include "parsers/text/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {
    " batches | lr ",  "| End of training | ", "Train Epoch: ", "Test set: Average loss: ",
    "【train】 epoch", "[eval] loss",          "【dev】 loss",  "Use single gpu in: ",
    " Train Loss: ",   " Test Acc: "};

constexpr std::int64_t kMostEpochs = 1'000'000, kMostBatches = 1'000'000'000;

/// Time of the stamped lines without the evaluations between them: an interval that holds one
/// counts as long as its iterations took in the newest that held none.
class StampedClock {
 public:
  void see_evaluation() {
    evaluated_ = true;
    clock_.see_evaluation();
  }
  double at(double stamp_s, std::int64_t step) {
    const double took = stamp_s - std::exchange(stamp_s_, stamp_s);
    const auto iterations = static_cast<double>(step - std::exchange(step_, step));
    if (!std::exchange(evaluated_, false) && iterations > 0) each_s_ = took / iterations;
    return clock_.at(stamp_s, each_s_ * iterations);
  }

 private:
  TrainingClock clock_;
  bool evaluated_ = false;
  std::int64_t step_ = 0;
  double stamp_s_ = kUnknown, each_s_ = kUnknown;
};

class PytorchExamplesParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_batches(const Line& line, RunBuilder& out);
  bool see_samples(const Line& line, RunBuilder& out);
  bool see_stamped(const Line& line, RunBuilder& out);
  bool see_iteration(const Line& line, RunBuilder& out);
  std::optional<std::int64_t> count(std::int64_t step, RunBuilder& out);
  void see_batch_time(Cursor cursor, Sample& sample, RunDraft& draft);
  bool see_end(const Line& line, RunBuilder& out);
  bool follow(std::int64_t epoch, std::int64_t at, std::int64_t total, RunBuilder& out);
  void put_first(RunBuilder& out);

  std::int64_t first_epoch_ = -1, epoch_ = -1, at_ = 0, total_ = 0;
  std::int64_t interval_ = 0;   ///< batches from one line to the next, once it is known
  std::optional<Sample> held_;  ///< first line of an epoch or of the log; seconds are of one batch
  bool samples_ = false, batches_ = false, clip_ = false, iterations_ = false, others_ = false;
  StampedClock clock_;
  std::int64_t from_zero_ = 0;  ///< 1 where they number the first batch 0
  bool one_gpu_ = false;
};

// A colon of ASCII or the full-width one.
bool colon(Cursor& cursor) { return cursor.literal(":") || cursor.literal("："); }

/// "【train】 epoch:0 118/360 loss:0.2040", "【train】 epoch：0/3 step：118/360 loss：0.2040".
struct StampedBatch {
  std::int64_t step = 0, total = 0;
  double loss = 0;
};

std::optional<StampedBatch> stamped_batch(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("【train】 epoch") || !colon(cursor) || !cursor.integer()) {
    return std::nullopt;
  }
  if (cursor.literal("/") && !cursor.integer()) return std::nullopt;
  cursor.blanks();
  if (cursor.literal("step") && !colon(cursor)) return std::nullopt;
  const auto step = cursor.integer();
  if (!step || *step < 0 || !cursor.literal("/")) return std::nullopt;
  const auto total = cursor.integer();
  if (!total || *total < 1 || *total > kMostBatches || *step > *total) return std::nullopt;
  cursor.blanks();
  if (!cursor.literal("loss") || !colon(cursor)) return std::nullopt;
  cursor.blanks();
  const auto loss = cursor.number();
  if (!loss) return std::nullopt;
  return StampedBatch{*step, *total, *loss};
}

/// "0:00:37", "1 day, 2:03:04": seconds, whole ones.
std::optional<double> duration(Cursor& cursor) {
  constexpr std::int64_t kMostHours = 1'000'000;
  std::int64_t days = 0;
  auto hours = cursor.integer();
  if (hours && cursor.literal(" day")) {
    days = *hours;
    cursor.literal("s");
    if (!cursor.literal(", ")) return std::nullopt;
    hours = cursor.integer();
  }
  if (!hours || *hours < 0 || *hours > kMostHours || days < 0 || days > kMostHours ||
      !cursor.literal(":")) {
    return std::nullopt;
  }
  const auto minutes = cursor.integer();
  if (!minutes || *minutes < 0 || *minutes > 59 || !cursor.literal(":")) return std::nullopt;
  const auto seconds = cursor.integer();
  if (!seconds || *seconds < 0 || *seconds > 59) return std::nullopt;
  return static_cast<double>(((days * 24 + *hours) * 60 + *minutes) * 60 + *seconds);
}

// Where the counter stands; false for a copy of the line before. A counter that goes back begins
// another run.
bool PytorchExamplesParser::follow(std::int64_t epoch, std::int64_t at, std::int64_t total,
                                   RunBuilder& out) {
  const bool back = epoch < epoch_ || (epoch == epoch_ && (at < at_ || total != total_));
  if (epoch == epoch_ && at == at_ && total == total_) return false;
  if (!back && epoch != epoch_ && held_ && interval_ == 0) interval_ = at;  // an epoch begins
  if (back || epoch != epoch_) put_first(out);
  if (back) out.close(WorkKind::training);
  if (back || first_epoch_ < 0) first_epoch_ = epoch;
  if (back || epoch != epoch_) at_ = -1;
  epoch_ = epoch;
  total_ = total;
  return true;
}

bool PytorchExamplesParser::see_batches(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("| epoch ")) return false;
  cursor.blanks();
  const auto epoch = cursor.integer();
  if (!epoch || *epoch < 0 || *epoch > kMostEpochs || !cursor.literal(" |")) return false;
  cursor.blanks();
  const auto batch = cursor.integer();
  cursor.blanks();
  if (!batch || !cursor.literal("/")) return false;
  cursor.blanks();
  const auto total = cursor.integer();
  if (!total || !cursor.literal(" batches | lr ")) return false;
  // The last batch may be one that the total does not count.
  if (*batch < 1 || *total < 1 || *total > kMostBatches || *batch > *total + 1) return false;
  const auto each = number_after(line, "| ms/batch");
  if (!each || !(*each >= 0)) return false;
  if (!follow(*epoch, *batch, *total, out)) return true;
  Sample sample;
  sample.step = (*epoch - first_epoch_) * *total + *batch;
  if (*each > 0) sample.seconds = *each / 1000;
  sample.loss = number_after(line, "| loss");
  sample.line = line.number;
  sample.rank = line.rank;
  const std::int64_t before = at_;
  at_ = *batch;
  batches_ = true;
  if (before < 0) {
    held_ = sample;
    held_->iterations = *batch;
    out.run(WorkKind::training, line.number).ended_well = false;
    return true;
  }
  interval_ = *batch - before;
  put_first(out);
  sample.iterations = interval_;
  sample.seconds *= static_cast<double>(interval_);
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.ended_well = false;
  draft.log.iteration_unit = IterationUnit::micro_step;
  draft.add(sample);
  return true;
}

// The first line of an epoch comes at batch n, the interval, and n + 1 batches are done. In a log
// without its head the first line may be any: the next one tells.
void PytorchExamplesParser::put_first(RunBuilder& out) {
  if (!held_) return;
  Sample sample = *held_;
  held_.reset();
  const bool any = interval_ > 0 && sample.iterations > interval_;
  const std::int64_t divisor = any ? interval_ : sample.iterations;
  sample.iterations = any ? interval_ : divisor + 1;
  sample.seconds *= static_cast<double>(divisor);
  RunDraft& draft = out.run(WorkKind::training, sample.line);
  draft.log.iteration_unit = IterationUnit::micro_step;
  draft.add(sample);
}

bool PytorchExamplesParser::see_samples(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("Train Epoch: ")) return false;
  const auto epoch = cursor.integer();
  if (!epoch || *epoch < 0 || *epoch > kMostEpochs || !cursor.literal(" [")) return false;
  cursor.blanks();
  const auto at = cursor.integer();
  if (!at || *at < 0 || !cursor.literal("/")) return false;
  const auto total = cursor.integer();
  if (!total || *total < 1 || *total > kMostBatches || *at > *total) return false;
  if (!cursor.literal(" (") || !cursor.number() || !cursor.literal("%)]")) return false;
  if (!follow(*epoch, *at, *total, out)) return true;
  Sample sample;
  sample.step = (*epoch - first_epoch_) * *total + *at;
  sample.loss = number_after(line, {"Loss:", "loss="});
  sample.line = line.number;
  sample.rank = line.rank;
  at_ = *at;
  RunDraft& draft = out.run(WorkKind::training, line.number);
  draft.ended_well = false;
  see_batch_time(cursor, sample, draft);
  draft.add(sample);
  return true;
}

// "Batch (t): 0.512, 4096.00/s, 512.000/s/gpu": the mean time of the batches since the line before,
// and the samples/s of the job in its newest. The first open_clip tells but the time of this batch.
void PytorchExamplesParser::see_batch_time(Cursor cursor, Sample& sample, RunDraft& draft) {
  if (!cursor.skip_past("Batch (t)")) {
    samples_ = true;
    return;
  }
  clip_ = true;
  cursor.literal(":");
  cursor.blanks();
  const auto seconds = cursor.number();
  if (!seconds || !(*seconds > 0)) return;
  draft.own_facts = true;  // a sample is one sequence
  if (!cursor.literal(", ")) {
    sample.iterations = 1;
    sample.seconds = *seconds;
    return;
  }
  const auto rate = cursor.number();
  if (!rate || !(*rate > 0) || !cursor.literal("/s")) return;
  draft.log.rate_unit = RateUnit::sequences_per_second;
  sample.rate = *rate;
}

bool PytorchExamplesParser::see_stamped(const Line& line, RunBuilder& out) {
  if (line.text.find("[eval] loss") != std::string_view::npos ||
      line.text.find("【dev】 loss") != std::string_view::npos) {
    clock_.see_evaluation();
    return false;
  }
  one_gpu_ |= line.text.find("Use single gpu in: [") != std::string_view::npos;
  const auto at = stamped_batch(line);
  if (!at) return false;
  const auto step = count(at->step, out);
  if (!step) return true;
  Sample sample;
  sample.step = *step;
  sample.loss = at->loss;
  sample.line = line.number;
  sample.rank = line.rank;
  if (const auto stamp = date_time(line.text)) {
    sample.time_s = clock_.at(*stamp, at->step);
  }
  RunDraft& draft = out.run(WorkKind::training, line.number);
  if (draft.last() == nullptr) sample.iterations = 1;
  draft.log.iteration_unit = IterationUnit::micro_step;
  draft.log.clock_resolution_s = 1e-3;
  draft.log.clock_is_wall = true;
  draft.planned = at->total;
  if (one_gpu_) draft.log.facts.world_size.set(1, FactSource::log);
  draft.add(sample);
  return true;
}

// The step after the batch that a line numbers so; none for a copy of the line before, of a logger
// with two handlers. A counter that goes back begins another run.
std::optional<std::int64_t> PytorchExamplesParser::count(std::int64_t step, RunBuilder& out) {
  const RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && open->last() != nullptr) {
    const std::int64_t before = open->last()->step, now = step + from_zero_;
    if (now == before) return std::nullopt;
    if (now > before) return now;
    out.close(WorkKind::training);
    clock_ = {};
  }
  from_zero_ = step == 0 ? 1 : 0;
  return step + from_zero_;
}

bool PytorchExamplesParser::see_iteration(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("Iter:")) return false;
  cursor.blanks();
  const auto at = cursor.integer();
  if (!at || *at < 0 || *at > kMostBatches || !cursor.literal(",")) return false;
  cursor.blanks();
  if (!cursor.literal("Train Loss:")) return false;
  cursor.blanks();
  Sample sample;
  const auto loss = cursor.number();
  if (!loss || !cursor.skip_past(" Time:")) return false;
  cursor.blanks();
  const auto since = duration(cursor);
  if (!since) return false;
  const auto step = count(*at, out);
  if (!step) return true;
  sample.step = *step;
  sample.loss = *loss;
  sample.time_s = *since;
  sample.line = line.number;
  sample.rank = line.rank;
  iterations_ = true;
  RunDraft& draft = out.run(WorkKind::training, line.number);
  if (draft.last() == nullptr) sample.iterations = 1;
  draft.ended_well = false;
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.clock_resolution_s = 1;
  draft.log.clock_is_wall = true;
  draft.add(sample);
  return true;
}

// A test follows every epoch: behind the last one the script is done.
bool PytorchExamplesParser::see_end(const Line& line, RunBuilder& out) {
  put_first(out);
  RunDraft* draft = out.open(WorkKind::training);
  if (draft == nullptr) return false;
  const bool end = line.text.find("| End of training | ") != std::string_view::npos && batches_;
  const bool test =
      line.text.find("Test set: Average loss: ") != std::string_view::npos && samples_;
  const bool tested = iterations_ && line.text.starts_with("Test Loss:") &&
                      line.text.find(" Test Acc: ") != std::string_view::npos;
  if (!end && !test && !tested) return false;
  draft->ended_well = true;
  draft->last_line = line.number;
  return true;
}

bool PytorchExamplesParser::parse(const Line& line, RunBuilder& out) {
  if (see_batches(line, out) || see_samples(line, out) || see_stamped(line, out)) {
    others_ = true;
    return true;
  }
  return see_iteration(line, out) || see_end(line, out);
}

void PytorchExamplesParser::finish(RunBuilder& out) {
  put_first(out);
  // Iter is a line of TensorFlow scripts too.
  if (others_ || !iterations_) out.facts.framework.set("pytorch", FactSource::log);
  for (const auto& draft : out.drafts()) {
    if (draft->count() == 0) continue;
    if (samples_) {
      draft->log.notices.push_back(
          {0, "the lines count samples of one process and tell no time: there is no rate"});
    }
    if (iterations_) {
      draft->log.notices.push_back(
          {0, "the times hold an evaluation in front of every line: rates are of both"});
    }
    if (clip_) {
      draft->log.notices.push_back(
          {0, "the counter is of samples of the job; rates and times are of single batches"});
    }
    if (batches_) {
      draft->log.notices.push_back(
          {0, "the batches behind the last line of an epoch, and its validation, are in no line"});
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<PytorchExamplesParser>(); }

}  // namespace

extern const Format format_pytorch_examples;
const Format format_pytorch_examples = {
    "pytorch-examples", "PyTorch examples without meters: word_language_model, mnist",
    "https://github.com/pytorch/examples word_language_model/main.py, mnist/main.py", kAnchors,
    make};

}  // namespace bertbench
