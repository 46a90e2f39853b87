// dllogger-json: the JSON file of NVIDIA's DLLogger, one object a line after "DLLL ".
//
// Times are strings. "step" is "PARAMETER", [] for the closing line, or [epoch, iteration]; the
// last iteration may be a float that counts the skipped updates as well. BERT for TensorFlow has
// the number alone, one above the updates done, and rates: "step": 2, "data": {"throughput_train":
// ...}.
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/assemble/tf_updates.h"
#include "parsers/core/text.h"
#include "parsers/formats/dllogger/dll_line.h"
#include "parsers/formats/dllogger/dll_run.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/json_line.h"
#include "parsers/scan/byte_search.h"

namespace bertbench::format_dllogger_json {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kAnchors[] = {"DLLL {"};
constexpr std::string_view kTrained = "\"throughput_train\"";

std::optional<double> number(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return std::nullopt;
  if (at->is_number()) return at->get<double>();
  if (at->is_string()) return to_double(at->get_ref<const std::string&>());
  return std::nullopt;
}

class DlloggerJsonParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override {
    if (tensorflow_) {
      updates_.end(out.open(WorkKind::training));
    } else {
      DllRun::finish(out);
    }
    out.facts.framework.set(tensorflow_ ? "tensorflow" : "pytorch", FactSource::log);
    fill_arguments(out.facts);
    for (const auto& draft : out.drafts()) fill_arguments(draft->log.facts);
  }

 private:
  void read_parameters(const Json& data);
  void fill_arguments(Facts& facts) const {
    run_.fill_convnet(facts);
    if (amp_) facts.precision.set("fp16", FactSource::log);
  }
  void read_usual(DllStep& usual, const Line& line, RunBuilder& out);
  bool read_speech(const Json& step, const Json& json, const Json& data, const Line& line,
                   RunBuilder& out);
  void read_iteration(double iteration, const Json& json, const Json& data, const Line& line,
                      RunBuilder& out);
  bool read_update(double iteration, const Json& json, const Json& data, const Line& line,
                   RunBuilder& out);
  void read_closing(const Json& data, const Line& line, RunBuilder& out);
  bool of_an_epoch(double iteration, const Line& line, std::optional<double>& epoch);
  DllRun run_;
  TfUpdates updates_;  ///< TensorFlow's
  bool tensorflow_ = false;
  bool amp_ = false;          ///< ConvNets'
  bool pairs_ = false;        ///< an iteration's step is [epoch, iteration]
  double newest_ = kUnknown;  ///< iteration
};

// "step": [epoch, iteration]
std::optional<double> epoch_of(const Line& line) {
  Cursor cursor(line);
  if (!cursor.skip_past("\"step\":")) return std::nullopt;
  cursor.blanks();
  if (!cursor.literal("[")) return std::nullopt;
  const auto epoch = cursor.number();
  return epoch && cursor.literal(",") ? epoch : std::nullopt;
}

// "step": [epoch] holds the means of an epoch where iterations have two numbers, or values that no
// iteration has; else it is the number of an iteration.
bool DlloggerJsonParser::of_an_epoch(double iteration, const Line& line,
                                     std::optional<double>& epoch) {
  if (pairs_ && iteration == newest_ + 1) return false;
  const auto own = epoch_of(line);
  pairs_ = pairs_ || own.has_value();
  // The reader leaves out the epoch, which matters where the iteration goes back only.
  if (!(iteration >= newest_)) epoch = own;
  if (own) return false;
  return pairs_ || find_text(line.text, "\"val_loss\"") != std::string_view::npos ||
         find_text(line.text, "\"test_bleu\"") != std::string_view::npos;
}

bool DlloggerJsonParser::parse(const Line& line, RunBuilder& out) {
  const auto at = line.text.starts_with(kAnchors[0]) ? 0 : line.text.find(kAnchors[0]);
  if (at == std::string_view::npos) return false;
  DllStep usual;
  if (!tensorflow_ && read_dll_line(line.text.substr(at + 5), usual) &&
      (usual.loss || find_text(line.text, kTrained) == std::string_view::npos)) {
    read_usual(usual, line, out);
    return true;
  }
  const Json json = parse_json_line(line.text.substr(at + 5));
  if (!json.is_object()) return false;
  const auto step = json.find("step");
  const auto data = json.find("data");
  if (step == json.end() || data == json.end() || !data->is_object()) return false;
  if (step->is_string()) {
    read_parameters(*data);
    return true;
  }
  if (step->is_array() && step->empty()) {
    read_closing(*data, line, out);
    return true;
  }
  if (step->is_number()) {
    read_iteration(step->get<double>(), json, *data, line, out);
    return true;
  }
  if (!step->is_array() || step->empty() || !step->back().is_number()) return true;
  if (step->size() == 3) return read_speech(*step, json, *data, line, out);
  if (step->size() > 3) return true;
  if (step->size() == 1 && pairs_) return true;
  pairs_ = pairs_ || step->size() == 2;
  read_iteration(step->back().get<double>(), json, *data, line, out);
  return true;
}

void DlloggerJsonParser::read_closing(const Json& data, const Line& line, RunBuilder& out) {
  DllClosing closing;
  closing.rate = number(data, "training_sequences_per_second");
  closing.wall_s = number(data, "e2e_train_time");
  closing.training_s = number(data, "raw_train_time");
  // ConvNets, NCF, BERT for TensorFlow and nnU-Net, ResNet for TensorFlow
  for (const char* key :
       {"train.total_ips", "mean_train_throughput", "throughput_train", "train_throughput"}) {
    if (!closing.rate) closing.rate = number(data, key);
  }
  if (const auto rate = number(data, "throughput_val"); rate && tensorflow_) {
    RunDraft& evaluation = out.run(WorkKind::evaluation, line.number);
    evaluation.log.summary = Stated{*rate, RateUnit::sequences_per_second, line.number};
    evaluation.end_well(line.number);
  }
  if (!closing.rate && !closing.wall_s) return;
  if (!tensorflow_) {
    run_.read_closing(closing, line, out);
    return;
  }
  RunDraft& run = out.run(WorkKind::training, line.number);
  run.log.summary = Stated{*closing.rate, RateUnit::sequences_per_second, line.number};
  run.end_well(line.number);
}

// An iteration of BERT for TensorFlow.
bool DlloggerJsonParser::read_update(double iteration, const Json& json, const Json& data,
                                     const Line& line, RunBuilder& out) {
  const auto rate = number(data, "throughput_train");
  if (!rate || !(*rate >= 0) || !data.contains("mlm_loss")) return false;
  if (!(iteration >= 0 && iteration < 1e12)) return true;
  tensorflow_ = true;
  TfDleLine read;
  read.iteration = static_cast<std::int64_t>(iteration);
  read.rate = *rate;
  read.time_s = number(json, "timestamp").value_or(kUnknown);
  read.loss = number(data, "total_loss");
  read.one_ahead = true;
  read.scaled = data.contains("loss_scaler");
  RunDraft* open = out.open(WorkKind::training);
  const bool ended = open != nullptr && open->ended_well;
  if (updates_.begins_anew(*read.iteration) || (ended && updates_.stands_still(*read.iteration))) {
    updates_.end(open);
    out.close(WorkKind::training);
  }
  updates_.note_head();
  RunDraft& run = out.run(WorkKind::training, line.number);
  run.log.iteration_unit = IterationUnit::optimizer_step;
  run.log.clock_resolution_s = 1e-6;
  run.log.clock_is_wall = true;
  updates_.read_step(read, line, run);
  return true;
}

// BERT states the batch of one GPU in a line of its own, ConvNets all arguments in one.
void DlloggerJsonParser::read_parameters(const Json& data) {
  const auto size = [&](const char* key) -> std::int64_t {
    const double value = number(data, key).value_or(0);
    return std::abs(value) < 1e9 ? static_cast<std::int64_t>(value) : 0;  // a NaN is not less
  };
  if (const auto batch = size("batch_size_per_gpu"); batch >= 1) run_.note_micro_batch(batch);
  if (!data.contains("arch") || !data.contains("optimizer_batch_size")) return;
  run_.read_convnet(size("batch_size"), size("world_size"), size("optimizer_batch_size"));
  const auto amp = data.find("amp");
  amp_ = amp != data.end() && amp->is_boolean() && amp->get<bool>();
}

// Three numbers are an evaluation's, but FastPitch's are epoch, iteration and iterations of an
// epoch: "step": [1, 2, 40], "data": {"train_loss": 31.5, ..., "train_took": 5.5}.
bool DlloggerJsonParser::read_speech(const Json& step, const Json& json, const Json& data,
                                     const Line& line, RunBuilder& out) {
  if (!number(data, "train_took") || !step[0].is_number() || !step[1].is_number()) return true;
  pairs_ = true;
  DllStep said;
  said.epoch = step[0].get<double>();
  said.iteration = step[1].get<double>();
  said.loss = number(data, "train_loss");
  said.time_s = number(json, "timestamp").value_or(kUnknown);
  if (said.loss) run_.read_step(said, line, out);
  return true;
}

void DlloggerJsonParser::read_usual(DllStep& usual, const Line& line, RunBuilder& out) {
  if (!usual.loss || of_an_epoch(usual.iteration, line, usual.epoch)) return;
  newest_ = usual.iteration;
  run_.read_step(usual, line, out);
}

void DlloggerJsonParser::read_iteration(double iteration, const Json& json, const Json& data,
                                        const Line& line, RunBuilder& out) {
  if (read_update(iteration, json, data, line, out)) return;
  DllStep step;
  step.iteration = iteration;
  step.skipped = number(data, "skipped_steps");
  step.time_s = number(data, "timestamp").value_or(number(json, "timestamp").value_or(kUnknown));
  step.last = data.contains("final_loss");
  for (const char* key : {"step_loss", "average_loss", "final_loss", "train.loss", "train_loss"}) {
    if (!step.loss) step.loss = number(data, key);
  }
  step.rate = number(data, "train.total_ips").value_or(kUnknown);
  if (step.loss) run_.read_step(step, line, out);
}

std::unique_ptr<LineParser> make() { return std::make_unique<DlloggerJsonParser>(); }

}  // namespace

extern const Format entry;
const Format entry = {"dllogger-json", "NVIDIA DLLogger, JSON: DeepLearningExamples",
                      "https://github.com/NVIDIA/dllogger (JSONStreamBackend)", kAnchors, make};

}  // namespace bertbench::format_dllogger_json
