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
#include <utility>

#include "parsers/assemble/tf_updates.h"
#include "parsers/core/text.h"
#include "parsers/formats/dllogger/dll_line.h"
#include "parsers/formats/dllogger/dll_run.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/json_line.h"

namespace bertbench::format_dllogger_json {
namespace {

using Json = nlohmann::json;

enum Track : std::uint8_t { kTraining, kEvaluation };
constexpr std::string_view kBegin = "DLLL ";  ///< then the object
constexpr std::string_view kTrained = "\"throughput_train\"";

// "step": [epoch, iteration]
std::optional<double> epoch_of(const Line& line) {
  double epoch = 0;
  const bool two = Cursor(line).read(Past{"\"step\":"}, kBlanks, "[", epoch, ",");
  return two ? std::optional(epoch) : std::nullopt;
}

struct DlloggerJson {
  // "step": [epoch] holds the means of an epoch where iterations have two numbers, or values that
  // no iteration has; else it is the number of an iteration.
  bool of_an_epoch(double iteration, const Line& line, std::optional<double>& epoch) {
    if (pairs && iteration == newest + 1) return false;
    const auto own = epoch_of(line);
    pairs = pairs || own.has_value();
    // The reader leaves out the epoch, which matters where the iteration goes back only.
    if (!(iteration >= newest)) epoch = own;
    if (own) return false;
    return pairs || has(line, "\"val_loss\"") || has(line, "\"test_bleu\"");
  }

  bool line(const Line& line, Emit emit) {
    const std::string_view object = line.text.substr(line.at + kBegin.size());
    DllStep usual;
    if (!tensorflow && read_dll_line(object, usual) && (usual.loss || !has(line, kTrained))) {
      read_usual(usual, line, emit);
      return true;
    }
    const Json json = parse_json_line(object);
    if (!json.is_object()) return false;
    const auto step = json.find("step");
    const auto data = json.find("data");
    if (step == json.end() || data == json.end() || !data->is_object()) return false;
    if (step->is_string()) {
      read_parameters(*data);
      return true;
    }
    if (step->is_array() && step->empty()) {
      read_closing(*data, line, emit);
      return true;
    }
    if (step->is_number()) {
      read_iteration(step->get<double>(), json, *data, line, emit);
      return true;
    }
    if (!step->is_array() || step->empty() || !step->back().is_number()) return true;
    if (step->size() == 3) return read_speech(*step, json, *data, emit);
    if (step->size() > 3) return true;
    read_iteration(step->back().get<double>(), json, *data, line, emit);
    return true;
  }

  void read_closing(const Json& data, const Line& line, Emit emit) {
    DllClosing closing;
    closing.rate = number_in(data, "training_sequences_per_second");
    closing.wall_s = number_in(data, "e2e_train_time");
    closing.training_s = number_in(data, "raw_train_time");
    // ConvNets, NCF, BERT for TensorFlow and nnU-Net, ResNet for TensorFlow
    for (const char* key :
         {"train.total_ips", "mean_train_throughput", "throughput_train", "train_throughput"}) {
      if (!closing.rate) closing.rate = number_in(data, key);
    }
    if (const auto rate = number_in(data, "throughput_val"); rate && tensorflow) {
      emit(Statement{.track = kEvaluation,
                     .of = Of::begun,
                     .summary = Stated{*rate, RateUnit::sequences_per_second}});
      emit(End{.track = kEvaluation});
    }
    if (!tensorflow && (closing.rate || closing.wall_s)) run.read_closing(closing, emit);
    if (!tensorflow || !closing.rate) return;
    closed.on(line.number).summary =
        Stated{*closing.rate, RateUnit::sequences_per_second, line.number};
    closed.well = true;
  }

  // An iteration of BERT for TensorFlow.
  bool read_update(double iteration, const Json& json, const Json& data, const Line& line,
                   Emit emit) {
    const auto rate = number_in(data, "throughput_train");
    if (!rate || !(*rate >= 0) || !data.contains("mlm_loss")) return false;
    if (!(iteration >= 0 && iteration < 1e12)) return true;
    TfDleLine read;
    read.iteration = static_cast<std::int64_t>(iteration);
    read.rate = *rate;
    read.time_s = number_in(json, "timestamp").value_or(kUnknown);
    read.loss = number_in(data, "total_loss");
    read.one_ahead = true;
    read.scaled = data.contains("loss_scaler");
    const bool again = updates.begins_anew(*read.iteration) ||
                       (closed.well && updates.stands_still(*read.iteration));
    if (again) updates.end(kTraining, std::exchange(closed, {}), emit);
    if (again || !std::exchange(tensorflow, true)) {
      Begin begin = kDllTraining;
      begin.unit = IterationUnit::optimizer_step;
      emit(begin);
    }
    updates.headed = true;
    updates.read_step(read, line, emit);
    return true;
  }

  // BERT states the batch of one GPU in a line of its own, ConvNets all arguments in one.
  void read_parameters(const Json& data) {
    const auto size = [&](const char* key) -> std::int64_t {
      const double value = number_in(data, key).value_or(0);
      return std::abs(value) < 1e9 ? static_cast<std::int64_t>(value) : 0;  // a NaN is not less
    };
    if (const auto batch = size("batch_size_per_gpu"); batch >= 1) run.note_micro_batch(batch);
    if (!data.contains("arch") || !data.contains("optimizer_batch_size")) return;
    run.read_convnet(size("batch_size"), size("world_size"), size("optimizer_batch_size"));
    const auto mixed = data.find("amp");
    amp = mixed != data.end() && mixed->is_boolean() && mixed->get<bool>();
  }

  // Three numbers are an evaluation's, but FastPitch's are epoch, iteration and iterations of an
  // epoch: "step": [1, 2, 40], "data": {"train_loss": 31.5, ..., "train_took": 5.5}.
  bool read_speech(const Json& step, const Json& json, const Json& data, Emit emit) {
    if (!number_in(data, "train_took") || !step[0].is_number() || !step[1].is_number()) return true;
    pairs = true;
    DllStep at;
    at.epoch = step[0].get<double>();
    at.iteration = step[1].get<double>();
    at.loss = number_in(data, "train_loss");
    at.time_s = number_in(json, "timestamp").value_or(kUnknown);
    if (at.loss) run.read_step(at, emit);
    return true;
  }

  void read_usual(DllStep& usual, const Line& line, Emit emit) {
    if (!usual.loss || of_an_epoch(usual.iteration, line, usual.epoch)) return;
    newest = usual.iteration;
    run.read_step(usual, emit);
  }

  void read_iteration(double iteration, const Json& json, const Json& data, const Line& line,
                      Emit emit) {
    if (read_update(iteration, json, data, line, emit)) return;
    DllStep step;
    step.iteration = iteration;
    step.skipped = number_in(data, "skipped_steps");
    step.time_s =
        number_in(data, "timestamp").value_or(number_in(json, "timestamp").value_or(kUnknown));
    step.last = data.contains("final_loss");
    for (const char* key :
         {"step_loss", "average_loss", "final_loss", "train.loss", "train_loss"}) {
      if (!step.loss) step.loss = number_in(data, key);
    }
    step.rate = number_in(data, "train.total_ips").value_or(kUnknown);
    read_usual(step, line, emit);
  }

  void facts(Facts& facts) const {
    run.fill_convnet(facts);
    if (amp) facts.precision.set("fp16", FactSource::log);
  }

  void finish(Emit emit) {
    if (tensorflow) updates.end(kTraining, closed, emit);
    emit.log_fact(&Facts::framework, tensorflow ? "tensorflow" : "pytorch");
  }

  DllRun run;
  TfUpdates updates{kTraining};  ///< TensorFlow's
  TfClosing closed;              ///< likewise
  bool tensorflow = false;
  bool amp = false;          ///< ConvNets'
  bool pairs = false;        ///< an iteration's step is [epoch, iteration]
  double newest = kUnknown;  ///< iteration
};

constexpr Row kRows[] = {on<&DlloggerJson::line>("DLLL {")};
constexpr Begin kRuns[] = {kDllTraining, {.track = kEvaluation, .work = WorkKind::evaluation}};

}  // namespace

extern const Format entry{.name = "dllogger-json",
                          .title = "NVIDIA DLLogger, JSON: DeepLearningExamples",
                          .reference = "https://github.com/NVIDIA/dllogger (JSONStreamBackend)",
                          .table = table_of<DlloggerJson>(kRows, kRuns)};

}  // namespace bertbench::format_dllogger_json
