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
// A line of tf_cnn_benchmarks prints the mean speed since the first timed step, of the process that
// prints it; "total" is the job's, and under horovod every process prints it. An "Iter" of Horovod
// is a round of batches whose number is not stated.
#include <optional>
#include <string>
#include <utility>

#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_synthetic {
namespace {

constexpr RateUnit kSequences = RateUnit::sequences_per_second;

constexpr Begin runs_of(WorkKind work) {
  return {.work = work, .restart = Restart::back, .after_end = AfterEnd::reopens};
}
constexpr Begin kRuns[] = {runs_of(WorkKind::training)};

struct Synthetic {
  // "10\timages/sec: 204.8 +/- 0.1 (jitter = 0.6)\t9.228"
  bool mean(const Line& line, Emit emit) {
    const auto before = line.text.substr(0, line.text.find_last_not_of(" \t", line.at - 1) + 1);
    Cursor count(line), loss = Cursor::after(line);
    count.move_to(before.find_last_not_of("0123456789") + 1);
    Step at{.unit = IterationUnit::optimizer_step};
    double rate = 0;
    if (line.at == 0 || !has(line, " +/- ") || !count.read(at.step) || at.step < 1 ||
        !Cursor::after(line).read(rate) || !(rate >= 0)) {
      return false;
    }
    if (loss.read(Past{"(jitter = "}, Past{")"})) loss.read(kBlanks, at.loss);
    if (at.step < newest) {
      stand_in(emit);
      several = false;
    }
    several |= std::exchange(newest, at.step) == at.step && line.rank < 0;
    own = Stated{rate, kSequences, line.number};
    emit(at);
    return true;
  }

  // "Iter #3: 108.7 img/sec per GPU"
  bool round(const Line& line, Emit emit) {
    Step at{.iterations = 1, .rate_unit = kSequences};
    if (!Cursor(line).read(Past{"Iter #"}, at.step, ": ", at.rate, " img/sec per ") ||
        !(at.rate > 0)) {
      return false;
    }
    rounds = true;
    ++at.step;
    at.rate = world ? at.rate * static_cast<double>(*world) : kUnknown;
    emit(at);
    if (!world) emit.note(NoticeCode::rate_of_one_gpu, "img/sec");
    return true;
  }

  // "total images/sec: 204.75", "Total img/sec on 4 GPU(s): 432.8 +-4.9"
  bool total(const Line& line, Emit emit) {
    std::int64_t ranks = 0;
    double rate = 0;
    Cursor cursor = Cursor::after(line), of_ranks = cursor;
    if (of_ranks.read(ranks, " ", Past{"(s): "})) {
      cursor = of_ranks;
      if (ranks > 0) world = ranks;
    }
    if (!cursor.read(rate) || !(rate > 0)) return false;
    own.reset();
    emit(Statement{.of = Of::begun, .summary = Stated{rate, kSequences}});
    emit(End{});
    return true;
  }

  void mode(const Line& line, Emit emit) {
    const WorkKind work = has(line, "forward-only") ? WorkKind::inference
                          : has(line, "evaluation") ? WorkKind::evaluation
                                                    : WorkKind::training;
    if (std::exchange(kind, work) == work) return;
    stand_in(emit);
    emit(runs_of(work));
  }

  void batch_size(const Line& line) {
    if (const auto size = size_here(line)) (has(line, " global") ? global : batch) = size;
  }

  void per_device(const Line& line) {
    Cursor cursor(line);
    cursor.move_to(line.text.find_first_of("0123456789"));
    std::int64_t size = 0;
    if (cursor.read(size, " per device") && size > 0) batch = size;
  }

  // Without a closing line the newest mean stands for the run, where one process is the job.
  void stand_in(Emit emit) {
    if (!own) return;
    const bool one = !several && !(global && batch && *global > *batch);
    if (one) emit(Statement{.summary = own});
    emit(Note{make_notice(
        one ? NoticeCode::rate_of_one_process : NoticeCode::rate_of_one_process_left_out, own->line,
        "the newest mean of images/sec, of a log that ends before its total,")});
    own.reset();
  }

  void facts(Facts& facts) const {
    facts.micro_batch_size.set(batch, FactSource::log);
    facts.global_batch_size.set(global, FactSource::log);
    facts.world_size.set(world, FactSource::log);
  }

  void finish(Emit emit) {
    if (!rounds) emit.log_fact(&Facts::framework, "tensorflow");
    emit.note(NoticeCode::unit_of_sequences, "images");
    stand_in(emit);
  }

  WorkKind kind = WorkKind::training;
  std::optional<std::int64_t> batch, global, world;
  std::int64_t newest = 0;    ///< step
  std::optional<Stated> own;  ///< newest mean of one process, of a run without a total
  bool several = false;       ///< processes print the same steps
  bool rounds = false;
};

constexpr Row kRows[] = {
    on<&Synthetic::mean>("images/sec: "),        on<&Synthetic::round>(" img/sec per "),
    on<&Synthetic::total>("total images/sec: "), on<&Synthetic::total>("Total img/sec on "),
    on<&Synthetic::mode>("Mode:        "),       on<&Synthetic::per_device>(" per device"),
    on<&Synthetic::batch_size>("Batch size: "),  on<&Synthetic::world>("Number of GPUs:"),
    on<&Synthetic::world>("Number of CPUs:"),
};

}  // namespace

extern const Format entry{
    .name = "synthetic",
    .title = "tf_cnn_benchmarks and Horovod's benchmarks on synthetic data: images/sec",
    .reference =
        "https://github.com/tensorflow/benchmarks scripts/tf_cnn_benchmarks/benchmark_cnn.py; "
        "https://github.com/horovod/horovod examples (synthetic_benchmark)",
    .table = table_of<Synthetic>(kRows, kRuns)};

}  // namespace bertbench::format_synthetic
