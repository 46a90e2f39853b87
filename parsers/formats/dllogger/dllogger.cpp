// dllogger: the text lines of NVIDIA's DLLogger as its PyTorch examples print them.
//
//   DLL 2023-07-28 15:23:58.489487 - Training Epoch: 0 Training Iteration: 15  average_loss : 8.77
//   DLL <date> - (0, 470) step_loss : 3.1                                    (2020)
//   DLL <date> - (0, 1) glob_iter/iters_per_epoch : 1/3  ... (0, 1) train_iter_time : 1.94
//   DLL <date> - () train_items_per_sec : 45622.6 items/s                    (Tacotron 2, WaveGlow)
//   DLL <date> - epoch    1 | iter   1/24 | loss 13.65 | ... | took 6.11 s   (FastPitch, QuartzNet)
//   DLL <date> - (0,) train_throughput : 1.325e+08 samples/s ... train_epoch_time : 0.749 s   (NCF)
//   DLL <date> - (26,) train_time : 9.89  eval_time : 0.67  hr@10 : 0.95     (NCF of 2020)
//   DLL <date> - () throughput_train : 37.3  latency_train_mean : 53.6 ...   (nnU-Net)
//   DLL <date> -  e2e_train_time : 439.92  train_perf_fps : 130.93           (Mask R-CNN)
//   DLL <date> -  e2e_train_time : 428.12 s training_sequences_per_second : 5055.56 sequences/s
//
// Pairs are "key : value[ unit]". "throughput_train" of BERT for TensorFlow is the format tf's.
#include <cmath>
#include <optional>
#include <string>

#include "parsers/formats/dllogger/dll_run.h"
#include "parsers/formats/format.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_dllogger {
namespace {

constexpr std::string_view kLosses[] = {
    "step_loss :",  "average_loss :", "final_loss :", "train.loss :",
    "train_loss :", " loss :",        "| loss",       "| d loss"};

std::optional<double> iteration_of(const Line& body) {
  if (const auto n = number_after(body, "Iteration:")) return n;
  if (body.text.starts_with("epoch ") && has(body, "| iter ")) return number_after(body, "| iter ");
  // "(epoch, iteration)"; three numbers are an evaluation's.
  std::int64_t epoch = 0;
  double iteration = 0;
  const bool both = Cursor(body).read("(", epoch, ", ", iteration, ")");
  return both ? std::optional(iteration) : std::nullopt;
}

// Images/s of the job; ResNet for MXNet has but one rate.
std::optional<double> image_rate(const Line& body) {
  const auto total = number_after(body, "train.total_ips :");
  return total ? total : number_after(body, "train.ips :");
}

enum Track : std::uint8_t { kTraining, kInference };
constexpr Begin kInferenceRun{.track = kInference, .work = WorkKind::inference};

struct Dllogger {
  bool line(const Line& line, Emit emit) {
    const auto time = date_time(line.text.substr(line.at + 4));
    const auto dash = line.text.find(" - ", line.at);
    if (!time || dash == std::string_view::npos) return false;
    Line body = line;  // what stands after the stamp
    body.text = line.text.substr(dash + 3);
    if (read_epoch(body, emit) || (!iterations && read_image_epoch(body, emit))) return true;
    if (read_benchmark(body, emit)) return true;
    if (has(body, "throughput_train") || has(body, "train_throughput")) return false;
    if (body.text.starts_with("PARAMETER ")) return read_parameter(body);
    if (read_speech(body, *time, emit)) return true;
    const auto iteration = iteration_of(body);
    if (!iteration) return read_closing(body, emit);
    if (has(body, "alidation") || has(body, "valuation")) return true;
    DllStep step;
    step.iteration = *iteration;
    step.epoch = number_after(body, "Epoch:");
    if (!step.epoch && body.text.starts_with("epoch ")) step.epoch = number_after(body, "epoch");
    if (!step.epoch && body.text.starts_with("(")) step.epoch = number_after(body, "(");
    step.time_s = *time;
    step.skipped = number_after(body, "skipped_steps :");
    step.last = has(body, "final_loss :");
    for (const std::string_view key : kLosses) {
      if (!step.loss) step.loss = number_after(body, key);
    }
    if (!step.loss) return false;  // no training iteration, or cut by the end of input
    step.rate = image_rate(body).value_or(kUnknown);
    if (const auto newest = run.read_step(step, emit); newest >= 0) {
      training = {.open = true, .ended = step.last, .step = newest};
      iterations = true;
    }
    return true;
  }

  // Of Mask R-CNN's solver; after it stands the test's.
  void solver_batch(const Line& line) {
    if (world && !whole) whole = size_here(line);
  }

  /// The open run of a track.
  struct Open {
    bool open = false, ended = false;
    std::int64_t step = -1;        ///< newest; -1: no record
    std::optional<double> rate{};  ///< as stated
  };

  // A step again after the run's closing statement is the file's next launch.
  void put(Step step, Emit emit) {
    const bool again = training.ended && step.step == training.step;
    if (training.open && (again || step.step < training.step)) {
      emit(kDllTraining);
      training = {};
    }
    emit(step);
    training = {.open = true, .step = step.step};
  }

  // Four lines an iteration: its number over all epochs, loss, items/s (no sequences) and time.
  bool read_speech(const Line& body, double time_s, Emit emit) {
    Cursor cursor(body);
    if (cursor.literal("() run_time : ")) {
      if (!training.open || !speech_loss) return false;
      emit(End{});
      training.ended = true;
      return true;
    }
    if (cursor.literal("() train_items_per_sec : ")) {
      const auto items = cursor.number();
      if (!items || !training.open || !speech_loss || body.terminator == 0) return false;
      emit.note_here(NoticeCode::items_per_second, *items);
      return true;
    }
    std::int64_t epoch = 0, iteration = 0;
    if (!cursor.read("(", epoch, ", ", iteration, ") ")) return false;
    if (cursor.literal("glob_iter/iters_per_epoch : ")) {
      if (cursor.read(iteration)) speech_iteration = iteration;
      return true;
    }
    if (!speech_iteration) return false;
    if (cursor.literal("train_loss : ")) {
      speech_loss = cursor.number();
      return true;
    }
    if (!cursor.literal("train_iter_time : ")) return cursor.literal("train_items_per_sec : ");
    const auto seconds = cursor.number();
    if (!seconds || !(*seconds > 0) || body.terminator == 0) return true;
    put({.step = *speech_iteration + 1,
         .iterations = 1,
         .seconds = *seconds,
         .time_s = time_s,
         .loss = speech_loss,
         .unit = IterationUnit::optimizer_step},
        emit);
    return true;
  }

  // A record that is an epoch, of unknown iterations.
  void put_epoch(std::int64_t epoch, double rate, std::optional<double> loss, Emit emit,
                 double seconds = kUnknown) {
    put({.step = epoch + 1,
         .iterations = 1,
         .seconds = seconds,
         .rate = rate,
         .loss = loss,
         .rate_unit = RateUnit::sequences_per_second},
        emit);
  }

  // NCF, a record an epoch; after the last one stands "() best_train_throughput : ... ".
  bool read_epoch(const Line& body, Emit emit) {
    Cursor cursor(body);
    if (cursor.literal("() best_train_throughput : ")) {
      if (!training.open) return false;
      emit(End{});
      training.ended = true;
      const auto best = cursor.number();
      if (best && *best > 0 && std::isfinite(*best) && body.terminator != 0) {
        emit(Statement{.summary = Stated{*best, RateUnit::sequences_per_second}});
        emit.note_here(NoticeCode::closing_rate_of_best_epoch, *best);
      }
      return true;
    }
    std::int64_t epoch = 0;
    double seconds = 0;
    if (!cursor.read("(", epoch)) return false;
    if (cursor.literal(",) train_time : ")) {
      if (!cursor.read(seconds) || !(seconds > 0) || !has(body, "hr@10 :")) return false;
      const bool first = !training.open;
      put_epoch(epoch, kUnknown, std::nullopt, emit, seconds);
      if (first) emit.note_here(NoticeCode::times_of_epochs, "times");
      return true;
    }
    if (!cursor.literal(",) train_throughput : ")) return false;
    put_epoch(epoch, cursor.number().value_or(kUnknown), number_after(body, "train_loss :"), emit);
    return true;
  }

  /// A closing rate of a run that may have no records: another rate than the one before is then
  /// another run's.
  void state_rate(Track track, double rate, std::optional<double> seconds, Emit emit) {
    Open& of = track == kTraining ? training : inference;
    part_runs(track, rate, emit);
    of.open = of.ended = true;
    of.rate = rate;
    emit(Statement{.track = track,
                   .of = Of::begun,
                   .summary = Stated{rate, RateUnit::sequences_per_second},
                   .totals = {.training_s = seconds}});
    emit(End{.track = track});
  }
  void part_runs(Track track, double rate, Emit emit) {
    Open& of = track == kTraining ? training : inference;
    if (!of.open || of.step >= 0 || !of.rate || *of.rate == rate) return;
    emit(track == kTraining ? kDllTraining : kInferenceRun);
    of = {};
  }

  // nnU-Net's benchmark: images/s of all GPUs, after the whole run.
  bool read_benchmark(const Line& body, Emit emit) {
    Cursor cursor(body);
    if (!cursor.literal("() throughput_")) return false;
    double rate = 0;
    const bool trains = cursor.read("train : ", rate);
    if (!trains && !cursor.read("predict : ", rate)) return false;
    if (!(rate > 0) || !has(body, " latency_")) return false;
    state_rate(trains ? kTraining : kInference, rate, std::nullopt, emit);
    return true;
  }

  // ConvNets where only epochs are shown, as they are without --verbose: "Epoch: 0  train.loss :
  // 6.06 None train.compute_ips : 5816.83 images/s train.total_ips : 5793.51 images/s".
  bool read_image_epoch(const Line& body, Emit emit) {
    const auto rate = image_rate(body);
    std::int64_t epoch = 0;
    if (!Cursor(body).read("Epoch: ", epoch) || !rate || has(body, "Iteration:")) return false;
    put_epoch(epoch, *rate, number_after(body, "train.loss :"), emit);
    return true;
  }

  // The ranks, and the batch of one GPU. The batch_size of NCF and DLRM is of all GPUs, and so is
  // that of ResNet for MXNet, of which one log may hold several runs.
  void facts(Facts& facts) const {
    facts.world_size.set(world, FactSource::log);
    facts.global_batch_size.set(whole, FactSource::log);
    facts.gradient_accumulation_steps.set(accumulation, FactSource::log);
    run.fill_convnet(facts);
    if (mxnet) facts.gpus_per_node.set(mxnet_gpus, FactSource::log);
    if (mxnet && mxnet_batch) {
      facts.global_batch_size.set(*mxnet_batch, FactSource::log);
      facts.gradient_accumulation_steps.set(1, FactSource::log);  // knows no other
    }
    if (!world || !batch) return;
    facts.micro_batch_size.set(*batch, FactSource::log);
    if (speech) facts.gradient_accumulation_steps.set(1, FactSource::log);  // knows no other
  }

  // A log that fails before its first step holds nothing else.
  bool read_parameter(const Line& body) {
    speech = speech || has(body, " model_name : Tacotron2") || has(body, " model_name : WaveGlow");
    if (const auto ranks = size_after(body, " world_size :")) world = ranks;
    if (const auto gpus = size_after(body, "PARAMETER gpu_count :")) world = gpus;  // Mask R-CNN
    const auto size = size_after(body, " batch_size :");
    const auto update = number_after(body, " optimizer_batch_size :");
    if (speech && size) batch = size;
    if (has(body, " arch :") && size && update && std::abs(*update) < 1e9) {
      run.read_convnet(*size, world.value_or(0), static_cast<std::int64_t>(*update));
    }
    if (has(body, " negative_samples :")) {  // NCF
      if (size) whole = size;
      accumulation = size_after(body, " grads_accumulated :");
    }
    if (has(body, "kv_store :")) {
      mxnet = true;
      // The workers of a distributed store have a batch each.
      const bool all = !has(body, "kv_store : dist");
      mxnet_batch = all ? size : std::nullopt;
      Cursor cursor(body);
      mxnet_gpus.reset();
      if (cursor.skip_past(" gpus : [")) {
        if (const auto gpus = cursor.until("]")) mxnet_gpus = count_of_list(*gpus);
      }
    }
    if (const auto each = size_after(body, "batch_size_per_gpu :")) run.note_micro_batch(*each);
    return has(body, "batch_size") || has(body, "Config :") || has(body, "train_start :") ||
           has(body, "SEED :");
  }

  bool read_closing(const Line& body, Emit emit) {
    // SQuAD's prediction: of its own kind, whatever was trained before.
    if (const auto rate = number_after(body, "inference_sequences_per_second :")) {
      state_rate(kInference, *rate, number_after(body, "e2e_inference_time :"), emit);
      return true;
    }
    DllClosing closing;
    closing.rate = number_after(body, "training_sequences_per_second :");
    if (const auto fps = number_after(body, "train_perf_fps :"); fps && !closing.rate) {
      closing.rate = fps;  // Mask R-CNN: the batch of all GPUs over the mean time of an iteration
      notice = make_notice(NoticeCode::unit_of_sequences, body.number, "images");
    }
    closing.wall_s = number_after(body, "e2e_train_time :");
    closing.training_s = number_after(body, "raw_train_time :");
    const bool ssd = body.text.starts_with("() total time : ");  // of its epochs, not evaluations
    if (ssd) closing.training_s = number_after(body, "() total time :");
    if (!closing.rate && body.text.starts_with("Summary:")) {
      closing.rate = image_rate(body);
      const auto compute = number_after(body, "train.compute_ips :");
      if (closing.rate && compute) {
        notice = make_notice(NoticeCode::two_rates_of_images, body.number);
      }
    }
    if (!closing.rate && !closing.wall_s && !(ssd && closing.training_s)) return false;
    if (closing.rate) part_runs(kTraining, *closing.rate, emit);
    training.open = training.ended = true;
    if (closing.rate) training.rate = closing.rate;
    run.read_closing(closing, emit);
    return true;
  }

  void finish(Emit emit) {
    emit.log_fact(&Facts::framework, mxnet ? "mxnet" : "pytorch");
    if (notice.line > 0) emit(Note{notice, kEveryTrack, Of::all});
  }

  DllRun run;
  Open training, inference;
  Notice notice;
  std::optional<std::int64_t> speech_iteration;  ///< Tacotron 2, WaveGlow: from "glob_iter"
  std::optional<double> speech_loss;
  std::optional<std::int64_t> world, batch;  ///< the arguments'; the batch is of one GPU
  std::optional<std::int64_t> accumulation;  ///< NCF's
  std::optional<std::int64_t> whole;         ///< Mask R-CNN's and NCF's batch, of all GPUs
  std::optional<std::int64_t> mxnet_gpus, mxnet_batch;  ///< of a node; of all of the run's GPUs
  bool mxnet = false, iterations = false, speech = false;
};

constexpr Row kRows[] = {on<&Dllogger::line>("DLL 20"),
                         on<&Dllogger::solver_batch>("  IMS_PER_BATCH: ")};
constexpr Begin kRuns[] = {kDllTraining, kInferenceRun};

}  // namespace

extern const Format entry{
    .name = "dllogger",
    .title = "NVIDIA DLLogger, text: DeepLearningExamples for PyTorch",
    .reference =
        "https://github.com/NVIDIA/dllogger (StdOutBackend); DeepLearningExamples "
        "PyTorch/LanguageModeling/BERT/run_pretraining.py",
    .table = table_of<Dllogger>(kRows, kRuns)};

}  // namespace bertbench::format_dllogger
