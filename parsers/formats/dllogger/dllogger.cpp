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
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/dllogger/dll_run.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench::format_dllogger {
namespace {

constexpr std::string_view kAnchors[] = {"DLL 20", "  IMS_PER_BATCH: "};

constexpr std::string_view kLosses[] = {
    "step_loss :",  "average_loss :", "final_loss :", "train.loss :",
    "train_loss :", " loss :",        "| loss",       "| d loss"};

bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

std::optional<double> iteration_of(const Line& said) {
  if (const auto n = number_after(said, "Iteration:")) return n;
  if (Cursor speech(said); speech.literal("epoch ") && speech.skip_past("| iter ")) {
    speech.blanks();
    return speech.number();
  }
  Cursor cursor(said);  // "(epoch, iteration)"; three numbers are an evaluation's
  if (!cursor.literal("(") || !cursor.integer() || !cursor.literal(", ")) return std::nullopt;
  const auto n = cursor.number();
  return n && cursor.literal(")") ? n : std::nullopt;
}

// Images/s of the job; ResNet for MXNet has but one rate.
std::optional<double> image_rate(const Line& said) {
  const auto total = number_after(said, "train.total_ips :");
  return total ? total : number_after(said, "train.ips :");
}

class DlloggerParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override {
    DllRun::finish(out);
    out.facts.framework.set(mxnet_ ? "mxnet" : "pytorch", FactSource::log);
    if (out.drafts().empty()) fill_arguments(out.facts);  // failed before its first record
    for (const auto& draft :
         out.drafts()) {  // of several, those that were not stated at their head
      Facts& facts = draft->log.facts;
      if (out.drafts().size() == 1 || !facts.world_size.known()) fill_arguments(facts);
    }
    if (notice_.line > 0) {
      for (const auto& draft : out.drafts()) draft->log.notices.push_back(notice_);
    }
  }

 private:
  bool read_parameter(const Line& said);
  void fill_arguments(Facts& facts) const;
  void fill_open(RunBuilder& out);
  void fill_mxnet(Facts& facts) const;
  bool read_closing(const Line& said, RunBuilder& out);
  static bool read_epoch(const Line& said, RunBuilder& out);
  static bool read_benchmark(const Line& said, RunBuilder& out);
  static bool read_image_epoch(const Line& said, RunBuilder& out);
  bool read_speech(const Line& said, double time_s, RunBuilder& out);

  DllRun run_;
  const RunDraft* filled_ = nullptr;  ///< the arguments before it
  Notice notice_;
  std::optional<std::int64_t> speech_iteration_;  ///< Tacotron 2, WaveGlow: from "glob_iter"
  std::optional<double> speech_loss_;
  std::optional<std::int64_t> world_, batch_;  ///< the arguments'; the batch is of one GPU
  std::optional<std::int64_t> accumulation_;   ///< NCF's
  std::optional<std::int64_t> whole_;          ///< Mask R-CNN's and NCF's batch, of all GPUs
  std::optional<std::int64_t> mxnet_gpus_, mxnet_batch_;  ///< of a node; of all of the run's GPUs
  bool mxnet_ = false, iterations_ = false, speech_ = false;
  bool amp_ = false, no_amp_ = false;
};

bool DlloggerParser::parse(const Line& line, RunBuilder& out) {
  const auto at = line.text.find("DLL 20");
  if (at == std::string_view::npos) {
    // Of the solver; after it stands the test's.
    if (world_ && !whole_) whole_ = size_after(line, "  IMS_PER_BATCH:");
    return false;
  }
  const auto time = date_time(line.text.substr(at + 4));
  const auto dash = line.text.find(" - ", at);
  if (!time || dash == std::string_view::npos) return false;
  Line said = line;
  said.text = line.text.substr(dash + 3);
  if (read_epoch(said, out) || (!iterations_ && read_image_epoch(said, out))) {
    fill_open(out);
    return true;
  }
  if (read_benchmark(said, out)) return true;
  if (has(said.text, "throughput_train") || has(said.text, "train_throughput")) return false;
  if (said.text.starts_with("PARAMETER ")) return read_parameter(said);
  if (read_speech(said, *time, out)) return true;
  const auto iteration = iteration_of(said);
  if (!iteration) return read_closing(said, out);
  if (has(said.text, "alidation") || has(said.text, "valuation")) return true;
  DllStep step;
  step.iteration = *iteration;
  step.epoch = number_after(said, "Epoch:");
  if (!step.epoch && said.text.starts_with("epoch ")) step.epoch = number_after(said, "epoch");
  if (!step.epoch && said.text.starts_with("(")) step.epoch = number_after(said, "(");
  step.time_s = *time;
  step.skipped = number_after(said, "skipped_steps :");
  step.last = has(said.text, "final_loss :");
  for (const std::string_view key : kLosses) {
    if (!step.loss) step.loss = number_after(said, key);
  }
  if (!step.loss) return false;  // no training iteration, or cut by the end of input
  step.rate = image_rate(said).value_or(kUnknown);
  run_.read_step(step, line, out);
  if (mxnet_) fill_mxnet(out.run(WorkKind::training, line.number).log.facts);
  fill_open(out);
  iterations_ = true;
  return true;
}

// A step again after the run's closing statement: the file's next launch.
void close_ended(std::int64_t step, RunBuilder& out) {
  const RunDraft* open = out.open(WorkKind::training);
  const bool ended = open != nullptr && open->ended_well && open->last() != nullptr;
  if (ended && step <= open->last()->step) out.close(WorkKind::training);
}

// Four lines an iteration: its number over all epochs, loss, items/s (no sequences) and time.
bool DlloggerParser::read_speech(const Line& said, double time_s, RunBuilder& out) {
  Cursor cursor(said);
  if (cursor.literal("() run_time : ")) {
    RunDraft* run = out.open(WorkKind::training);
    if (run == nullptr || !speech_loss_) return false;
    run->end_well(said.number);
    return true;
  }
  if (cursor.literal("() train_items_per_sec : ")) {
    const auto items = cursor.number();
    RunDraft* run = out.open(WorkKind::training);
    if (!items || run == nullptr || !speech_loss_ || said.terminator == 0) return false;
    run->log.notices.push_back(make_notice(NoticeCode::items_per_second, said.number, *items));
    return true;
  }
  if (!cursor.literal("(") || !cursor.integer() || !cursor.literal(", ") || !cursor.integer() ||
      !cursor.literal(") ")) {
    return false;
  }
  if (cursor.literal("glob_iter/iters_per_epoch : ")) {
    const auto iteration = cursor.integer();
    if (iteration && *iteration >= 0 && *iteration < 1'000'000'000'000) {
      speech_iteration_ = iteration;
    }
    return true;
  }
  if (!speech_iteration_) return false;
  if (cursor.literal("train_loss : ")) {
    speech_loss_ = cursor.number();
    return true;
  }
  if (!cursor.literal("train_iter_time : ")) return cursor.literal("train_items_per_sec : ");
  const auto seconds = cursor.number();
  if (!seconds || !(*seconds > 0) || said.terminator == 0) return true;
  Sample sample = sample_on(said);
  sample.step = *speech_iteration_ + 1;
  sample.iterations = 1;
  sample.seconds = *seconds;
  sample.time_s = time_s;
  sample.loss = speech_loss_;
  close_ended(sample.step, out);
  RunDraft& draft = out.run(WorkKind::training, said.number);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.clock_is_wall = true;
  draft.log.clock_resolution_s = 1e-6;
  draft.add(sample);
  fill_open(out);
  return true;
}

// A record that is an epoch, of unknown iterations.
void put_epoch(std::int64_t epoch, double rate, std::optional<double> loss, const Line& said,
               RunBuilder& out, double seconds = kUnknown) {
  Sample sample;
  sample.step = epoch + 1;
  sample.iterations = 1;
  sample.seconds = seconds;
  sample.rate = rate;
  sample.loss = loss;
  sample.line = said.number;
  sample.end_byte = said.end_byte;
  close_ended(sample.step, out);
  RunDraft& draft = out.add(WorkKind::training, sample);
  draft.log.iteration_unit = IterationUnit::unknown;
  draft.log.rate_unit = RateUnit::sequences_per_second;
}

// NCF, a record an epoch; after the last one stands "() best_train_throughput : ... ".
bool DlloggerParser::read_epoch(const Line& said, RunBuilder& out) {
  Cursor cursor(said);
  if (cursor.literal("() best_train_throughput : ")) {
    RunDraft* run = out.open(WorkKind::training);
    if (run == nullptr) return false;
    run->end_well(said.number);
    const auto best = cursor.number();
    if (best && *best > 0 && std::isfinite(*best) && said.terminator != 0) {
      run->log.summary = Stated{*best, RateUnit::sequences_per_second, said.number};
      run->log.notices.push_back(
          make_notice(NoticeCode::closing_rate_of_best_epoch, said.number, *best));
    }
    return true;
  }
  if (!cursor.literal("(")) return false;
  const auto epoch = cursor.integer();
  if (!epoch || *epoch < 0 || *epoch > 1'000'000) return false;
  if (cursor.literal(",) train_time : ")) {
    const auto seconds = cursor.number();
    if (!seconds || !(*seconds > 0) || !has(said.text, "hr@10 :")) return false;
    const bool first = out.open(WorkKind::training) == nullptr;
    put_epoch(*epoch, kUnknown, std::nullopt, said, out, *seconds);
    if (first) {
      out.run(WorkKind::training, said.number)
          .log.notices.push_back(make_notice(NoticeCode::times_of_epochs, said.number, "times"));
    }
    return true;
  }
  if (!cursor.literal(",) train_throughput : ")) return false;
  put_epoch(*epoch, cursor.number().value_or(kUnknown), number_after(said, "train_loss :"), said,
            out);
  return true;
}

// nnU-Net's benchmark: images/s of all GPUs, after the whole run.
bool DlloggerParser::read_benchmark(const Line& said, RunBuilder& out) {
  Cursor cursor(said);
  if (!cursor.literal("() throughput_")) return false;
  const bool training = cursor.literal("train : ");
  if (!training && !cursor.literal("predict : ")) return false;
  const auto rate = cursor.number();
  if (!rate || !(*rate > 0) || !has(said.text, " latency_")) return false;
  RunDraft& run = out.run(training ? WorkKind::training : WorkKind::inference, said.number);
  run.log.summary = Stated{*rate, RateUnit::sequences_per_second, said.number};
  run.end_well(said.number);
  return true;
}

// ConvNets where only epochs are shown, as they are without --verbose: "Epoch: 0  train.loss : 6.06
// None train.compute_ips : 5816.83 images/s train.total_ips : 5793.51 images/s".
bool DlloggerParser::read_image_epoch(const Line& said, RunBuilder& out) {
  Cursor cursor(said);
  if (!cursor.literal("Epoch: ")) return false;
  const auto epoch = cursor.integer();
  const auto rate = image_rate(said);
  if (!epoch || *epoch < 0 || *epoch > 1'000'000 || !rate || has(said.text, "Iteration:")) {
    return false;
  }
  put_epoch(*epoch, *rate, number_after(said, "train.loss :"), said, out);
  return true;
}

// The ranks, and the batch of one GPU. The batch_size of NCF and DLRM is of all GPUs.
void DlloggerParser::fill_arguments(Facts& facts) const {
  if (world_) facts.world_size.set(*world_, FactSource::log);
  if (whole_) facts.global_batch_size.set(*whole_, FactSource::log);
  if (accumulation_) facts.gradient_accumulation_steps.set(*accumulation_, FactSource::log);
  if (amp_ && !no_amp_) facts.precision.set("fp16", FactSource::log);
  run_.fill_convnet(facts);
  if (!world_ || !batch_) return;
  facts.micro_batch_size.set(*batch_, FactSource::log);
  if (speech_) facts.gradient_accumulation_steps.set(1, FactSource::log);  // knows no other
}

// The arguments before a run, not those of the file's next one.
void DlloggerParser::fill_open(RunBuilder& out) {
  RunDraft* draft = out.open(WorkKind::training);
  if (draft != nullptr && std::exchange(filled_, draft) != draft) fill_arguments(draft->log.facts);
}

// ResNet for MXNet, of which one log may hold several runs.
void DlloggerParser::fill_mxnet(Facts& facts) const {
  if (mxnet_gpus_) facts.gpus_per_node.set(*mxnet_gpus_, FactSource::log);
  if (!mxnet_batch_) return;
  facts.global_batch_size.set(*mxnet_batch_, FactSource::log);
  facts.gradient_accumulation_steps.set(1, FactSource::log);  // knows no other
}

// A log that fails before its first step holds nothing else.
bool DlloggerParser::read_parameter(const Line& said) {
  speech_ = speech_ || has(said.text, " model_name : Tacotron2") ||
            has(said.text, " model_name : WaveGlow");
  if (const auto world = size_after(said, " world_size :")) world_ = world;
  if (const auto gpus = size_after(said, "PARAMETER gpu_count :")) world_ = gpus;  // Mask R-CNN
  const auto batch = size_after(said, " batch_size :");
  const auto update = number_after(said, " optimizer_batch_size :");
  if (speech_ && batch) batch_ = batch;
  if (has(said.text, " arch :") && batch && update && std::abs(*update) < 1e9) {
    run_.read_convnet(*batch, world_.value_or(0), static_cast<std::int64_t>(*update));
  }
  if (has(said.text, " negative_samples :")) {  // NCF
    if (batch) whole_ = batch;
    accumulation_ = size_after(said, " grads_accumulated :");
  }
  amp_ = amp_ || has(said.text, " amp : True");
  no_amp_ = no_amp_ || has(said.text, " amp : False");
  if (has(said.text, "kv_store :")) {
    mxnet_ = true;
    // The workers of a distributed store have a batch each.
    const bool whole = !has(said.text, "kv_store : dist");
    mxnet_batch_ = whole ? batch : std::nullopt;
    Cursor cursor(said);
    mxnet_gpus_.reset();
    if (cursor.skip_past(" gpus : [")) {
      if (const auto gpus = cursor.until("]")) mxnet_gpus_ = 1 + std::ranges::count(*gpus, ',');
    }
  }
  const bool stated = number_after(said, "batch_size_per_gpu :").has_value();
  if (const auto each = size_after(said, "batch_size_per_gpu :")) run_.note_micro_batch(*each);
  return stated || has(said.text, "Config :") || has(said.text, "train_start :") ||
         has(said.text, "SEED :") || has(said.text, "batch_size :");
}

// Closing statements alone, of one run after another: another rate is another run's.
void part_runs(WorkKind kind, double rate, RunBuilder& out) {
  const RunDraft* open = out.open(kind);
  if (open != nullptr && open->count() == 0 && open->log.summary &&
      open->log.summary->value != rate) {
    out.close(kind);
  }
}

bool DlloggerParser::read_closing(const Line& said, RunBuilder& out) {
  // SQuAD's prediction: of its own kind, whatever was trained before.
  if (const auto rate = number_after(said, "inference_sequences_per_second :")) {
    part_runs(WorkKind::inference, *rate, out);
    RunDraft& run = out.run(WorkKind::inference, said.number);
    run.log.summary = Stated{*rate, RateUnit::sequences_per_second, said.number};
    if (const auto seconds = number_after(said, "e2e_inference_time :")) {
      run.log.totals.training_s = *seconds;
    }
    run.end_well(said.number);
    return true;
  }
  DllClosing closing;
  closing.rate = number_after(said, "training_sequences_per_second :");
  if (const auto fps = number_after(said, "train_perf_fps :"); fps && !closing.rate) {
    closing.rate = fps;  // Mask R-CNN: the batch of all GPUs over the mean time of an iteration
    notice_ = make_notice(NoticeCode::unit_of_sequences, said.number, "images");
  }
  closing.wall_s = number_after(said, "e2e_train_time :");
  closing.training_s = number_after(said, "raw_train_time :");
  const bool ssd = said.text.starts_with("() total time : ");  // of its epochs, not the evaluations
  if (ssd) closing.training_s = number_after(said, "() total time :");
  if (!closing.rate && said.text.starts_with("Summary:")) {
    closing.rate = image_rate(said);
    const auto compute = number_after(said, "train.compute_ips :");
    if (closing.rate && compute) {
      notice_ = make_notice(NoticeCode::two_rates_of_images, said.number);
    }
  }
  if (!closing.rate && !closing.wall_s && !(ssd && closing.training_s)) return false;
  if (closing.rate) part_runs(WorkKind::training, *closing.rate, out);
  run_.read_closing(closing, said, out);
  return true;
}

std::unique_ptr<LineParser> make() { return std::make_unique<DlloggerParser>(); }

}  // namespace

extern const Format entry;
const Format entry = {"dllogger", "NVIDIA DLLogger, text: DeepLearningExamples for PyTorch",
                      "https://github.com/NVIDIA/dllogger (StdOutBackend); DeepLearningExamples "
                      "PyTorch/LanguageModeling/BERT/run_pretraining.py",
                      kAnchors, make};

}  // namespace bertbench::format_dllogger
