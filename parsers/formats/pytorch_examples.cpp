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
// after one batch more than that: batch 0, whose time is in it. Batches after the last line of an
// epoch are in no line, and neither are evaluations. mnist counts samples (of its process) and
// prints no time at all.
#include <optional>
#include <utility>

#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_pytorch_examples {
namespace {

constexpr std::int64_t kMaxEpochs = 1'000'000, kMaxBatches = 1'000'000'000;

struct PytorchExamples {
  // Where the counter stands; false for a copy of the line before. A counter that goes back begins
  // another run.
  bool follow(std::int64_t n, std::int64_t here, std::int64_t all, const Begin& how, Emit emit) {
    const bool back = n < epoch || (n == epoch && (here < at || all != total));
    if (n == epoch && here == at && all == total) return false;
    if (!back && n != epoch && held && interval == 0) interval = here;  // an epoch begins
    if (back || n != epoch) {
      put_first(emit);
      if (back || epoch < 0) {
        emit(Begin{how});
        first_epoch = n;
      }
      at = -1;
    }
    epoch = n;
    total = all;
    return true;
  }

  bool batches_line(const Line& line, Emit emit) {
    std::int64_t n = 0, batch = 0, all = 0;
    const auto each = number_after(line, "| ms/batch");
    if (!Cursor(line).read(Past{"| epoch "}, kBlanks, n, " |", kBlanks, batch, kBlanks, "/",
                           kBlanks, all,
                           " batches | lr ") ||
        n > kMaxEpochs || batch < 1 || all < 1 || all > kMaxBatches ||
        batch > all + 1 ||  // the last batch may be one that the total does not count
        !each || !(*each >= 0)) {
      return false;
    }
    if (!follow(n, batch, all, kBatchRun, emit)) return true;
    batches = true;
    Step step{.step = (n - first_epoch) * all + batch,
              .iterations = batch,
              .loss = number_after(line, "| loss"),
              .line = line.number,
              .end_byte = line.end_byte,
              .rank = line.rank};
    if (*each > 0) step.seconds = *each / 1000;
    const std::int64_t before = std::exchange(at, batch);
    if (before < 0) {
      held = step;
      return true;
    }
    interval = step.iterations = batch - before;
    put_first(emit);
    step.seconds *= static_cast<double>(interval);
    emit(step);
    return true;
  }

  // The first line of an epoch comes at batch n, the interval, and n + 1 batches are done. In a log
  // without its head the first line may be any: the next one decides.
  void put_first(Emit emit) {
    if (!held) return;
    Step step = *std::exchange(held, std::nullopt);
    const bool any = interval > 0 && step.iterations > interval;
    const std::int64_t divisor = any ? interval : step.iterations;
    step.iterations = any ? interval : divisor + 1;
    step.seconds *= static_cast<double>(divisor);
    emit(step);
  }

  bool samples_line(const Line& line, Emit emit) {
    Cursor cursor = Cursor::after(line);
    std::int64_t n = 0, here = 0, all = 0;
    double percent = 0, seconds = 0, rate = 0;
    if (!cursor.read(n, " [", kBlanks, here, "/", all, " (", percent, "%)]") || n > kMaxEpochs ||
        all < 1 || all > kMaxBatches || here > all) {
      return false;
    }
    const bool timed = cursor.skip_past("Batch (t)");
    if (!follow(n, here, all, timed ? kClipRun : kSampleRun, emit)) return true;
    at = here;
    (timed ? clip : samples) = true;
    Step step{.step = (n - first_epoch) * all + here,
              .loss = number_after(line, {"Loss:", "loss="})};
    // "Batch (t): 0.512, 4096.00/s, 512.000/s/gpu": the mean time of the batches since the line
    // before, and the samples/s of the job in its newest. The first open_clip has but the time of
    // this batch.
    cursor.literal(":");
    if (timed && cursor.read(kBlanks, seconds) && seconds > 0) {
      if (!cursor.literal(", ")) {
        step.iterations = 1;
        step.seconds = seconds;
      } else if (cursor.read(rate, "/s") && rate > 0) {
        step.rate = rate;
        step.rate_unit = RateUnit::sequences_per_second;
      }
    }
    emit(step);
    return true;
  }

  bool end(const Line&, Emit emit) {
    put_first(emit);
    if (batches) emit(End{});
    return batches;
  }

  // A test follows every epoch: after the last one the script is done.
  bool test(const Line&, Emit emit) {
    if (samples) emit(End{});
    return samples;
  }

  void finish(Emit emit) {
    put_first(emit);
    if (samples) {
      emit.note(NoticeCode::no_rate_in_log, "counters of samples of one process and no time");
    }
    if (clip) emit.note(NoticeCode::rate_of_single_iterations, "a printed rate or time");
    if (batches) {
      emit.note(NoticeCode::iterations_in_no_line,
                "the batches after the last line of an epoch, and its validation,");
    }
  }

  static constexpr Begin kBatchRun{
      .unit = IterationUnit::micro_step, .restart = Restart::never, .after_end = AfterEnd::reopens};
  static constexpr Begin kSampleRun{.restart = Restart::never, .after_end = AfterEnd::reopens};
  static constexpr Begin kClipRun{.restart = Restart::never,
                                  .after_end = AfterEnd::reopens,
                                  .own_facts = true};  // a sample is one sequence

  std::int64_t first_epoch = -1, epoch = -1, at = 0, total = 0;
  std::int64_t interval = 0;  ///< batches from one line to the next, once it is known
  std::optional<Step> held;   ///< first line of an epoch or of the log; seconds are of one batch
  bool samples = false, batches = false, clip = false;
};

constexpr Row kRows[] = {
    on<&PytorchExamples::batches_line>(" batches | lr "),
    on<&PytorchExamples::samples_line>("Train Epoch: "),
    on<&PytorchExamples::end>("| End of training | "),
    on<&PytorchExamples::test>("Test set: Average loss: "),
};

constexpr Begin kRuns[] = {PytorchExamples::kBatchRun};

}  // namespace

extern const Format entry{
    .name = "pytorch-examples",
    .title = "PyTorch examples without meters: word_language_model, mnist",
    .reference = "https://github.com/pytorch/examples word_language_model/main.py, mnist/main.py",
    .framework = "pytorch",
    .table = table_of<PytorchExamples>(kRows, kRuns)};

}  // namespace bertbench::format_pytorch_examples
