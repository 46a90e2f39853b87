// pytorch-examples: scripts of pytorch/examples that print no meters, and the many made from them.
//
//   | epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 12.31 | loss  7.63 | ppl  2065.01
//   | end of epoch   1 | time: 42.17s | valid loss  5.91 | valid ppl   368.04
//   | End of training | test loss  5.21 | test ppl   183.09     (word_language_model, AWD-LSTM)
//
//   Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.300825
//   Test set: Average loss: 0.0500, Accuracy: 9800/10000 (98%)  (mnist, Horovod's and others)
//
//   Train Epoch: 0 [ 51200/2901824 (2%)] Data (t): 0.001 Batch (t): 0.512, 4096.00/s,
//       512.000/s/gpu LR: 0.000001 Loss: 6.9 (6.9)              (open_clip, one line)
//
// ms/batch is the time since the line before over --log-interval. The first line of an epoch comes
// after one batch more than that: batch 0, whose time is in it. Batches behind the last line of an
// epoch are in no line, and neither are evaluations. mnist counts samples (of its process) and
// tells no time at all.
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {" batches | lr ", "| End of training | ",
                                         "Train Epoch: ", "Test set: Average loss: "};

constexpr std::int64_t kMostEpochs = 1'000'000, kMostBatches = 1'000'000'000;

class PytorchExamplesParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_batches(const Line& line, RunBuilder& out);
  bool see_samples(const Line& line, RunBuilder& out);
  void see_batch_time(Cursor cursor, Sample& sample, RunDraft& draft);
  bool see_end(const Line& line, RunBuilder& out);
  bool follow(std::int64_t epoch, std::int64_t at, std::int64_t total, RunBuilder& out);
  void put_first(RunBuilder& out);

  std::int64_t first_epoch_ = -1, epoch_ = -1, at_ = 0, total_ = 0;
  std::int64_t interval_ = 0;   ///< batches from one line to the next, once it is known
  std::optional<Sample> held_;  ///< first line of an epoch or of the log; seconds are of one batch
  bool samples_ = false, batches_ = false, clip_ = false;
};

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

// A test follows every epoch: behind the last one the script is done.
bool PytorchExamplesParser::see_end(const Line& line, RunBuilder& out) {
  put_first(out);
  RunDraft* draft = out.open(WorkKind::training);
  if (draft == nullptr) return false;
  const bool end = line.text.find("| End of training | ") != std::string_view::npos && batches_;
  const bool test =
      line.text.find("Test set: Average loss: ") != std::string_view::npos && samples_;
  if (!end && !test) return false;
  draft->ended_well = true;
  draft->last_line = line.number;
  return true;
}

bool PytorchExamplesParser::parse(const Line& line, RunBuilder& out) {
  return see_batches(line, out) || see_samples(line, out) || see_end(line, out);
}

void PytorchExamplesParser::finish(RunBuilder& out) {
  put_first(out);
  out.facts.framework.set("pytorch", FactSource::log);
  for (const auto& draft : out.drafts()) {
    if (draft->count() == 0) continue;
    if (samples_) {
      draft->log.notices.push_back(make_notice(NoticeCode::no_rate_in_log, 0,
                                               "counters of samples of one process and no time"));
    }
    if (clip_) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::rate_of_single_iterations, 0, "a printed rate or time"));
    }
    if (batches_) {
      draft->log.notices.push_back(
          make_notice(NoticeCode::iterations_in_no_line, 0,
                      "the batches after the last line of an epoch, and its validation,"));
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
