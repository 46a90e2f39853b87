// notebook: what a notebook of benchmarks prints of its runs, as a page or an exported script has
// it.
//
//   bert_2 = Config('bert-large-uncased', 128, 56, bf16=True)
//   run_bert(bert_2)
//
//   Total used GPU memory:	18.2 GB
//   # samples per second:	133.5
//   Measured TFLOPs:	34.8
//
// Each block is a run: a closing statement with the settings of the call before it
// (notebook_settings.h). The rate is the Trainer's train_samples_per_second, of the whole job. A
// gigabyte is 1e9 bytes, as the notebook divides. The printed TFLOPS are left to `audit`.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/table_parser.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/notebook_settings.h"

namespace bertbench {
namespace {

constexpr std::string_view kMemory = "Total used GPU memory:", kRate = "# samples per second:";
constexpr std::string_view kOutOfMemory = "Out of GPU memory, try a smaller batch size";
constexpr std::string_view kAnchors[] = {NotebookSettings::kMark, kMemory, kRate, kOutOfMemory};

enum class Meaning {
  model,
  sequence_length,
  micro_batch,
  accumulation,
  devices,
  bf16,
  fp16,
  checkpointing,
  optimizer,
  left_out,  // says how long the run is, not what it does
};
struct Name {
  std::string_view name;
  Meaning meaning;
};
// Options of the Trainer's scripts, and the names that such notebooks give to their settings.
constexpr Name kNames[] = {
    {"model_name_or_path", Meaning::model},
    {"model", Meaning::model},
    {"model_name", Meaning::model},
    {"max_seq_length", Meaning::sequence_length},
    {"block_size", Meaning::sequence_length},
    {"seq_len", Meaning::sequence_length},
    {"seq_length", Meaning::sequence_length},
    {"sequence_length", Meaning::sequence_length},
    {"per_device_train_batch_size", Meaning::micro_batch},
    {"micro_batch_size", Meaning::micro_batch},
    {"gradient_accumulation_steps", Meaning::accumulation},
    {"grad_accum", Meaning::accumulation},
    {"gpus", Meaning::devices},
    {"bf16", Meaning::bf16},
    {"fp16", Meaning::fp16},
    {"gradient_checkpointing", Meaning::checkpointing},
    {"grad_ckpt", Meaning::checkpointing},
    {"optim", Meaning::optimizer},
    {"optimizer", Meaning::optimizer},
    {"steps", Meaning::left_out},
    {"max_steps", Meaning::left_out},
};

std::optional<Meaning> meaning_of(std::string_view name) {
  const auto at = std::find_if(std::begin(kNames), std::end(kNames),
                               [&](const Name& each) { return each.name == name; });
  return at == std::end(kNames) ? std::nullopt : std::optional(at->meaning);
}

// '0,1' names two devices.
std::optional<std::int64_t> devices_of(const PythonValue& value) {
  if (!value.quoted) return to_int(value.text);
  std::int64_t devices = 0;
  for (const std::string_view each : split(value.text, ',')) {
    if (!to_int(trim(each))) return std::nullopt;
    ++devices;
  }
  return devices;
}

void set_count(Fact<std::int64_t>& fact, std::optional<std::int64_t> value) {
  if (value && *value >= 1 && *value < 1'000'000'000) fact.set(*value, FactSource::log);
}

void set_facts(const NotebookRun& run, Facts& facts) {
  std::optional<bool> bf16, fp16;
  for (const auto& [field, value] : run.settings) {
    // The option that the page puts the field into says what it is; else its own name does.
    const auto option = run.options.find(field);
    auto meaning = option == run.options.end() ? std::nullopt : meaning_of(option->second);
    if (!meaning) meaning = meaning_of(field);
    const bool on = value.text == "True";
    if (!meaning) {
      // Another setting: part of the identity where it is set.
      if (value.text != "False" && value.text != "None" && !value.text.empty()) {
        facts.axes[field] = on ? "true" : value.text;
      }
      continue;
    }
    switch (*meaning) {
      case Meaning::model:
        facts.model.set(value.text, FactSource::log);
        break;
      case Meaning::sequence_length:
        set_count(facts.sequence_length, to_int(value.text));
        break;
      case Meaning::micro_batch:
        set_count(facts.micro_batch_size, to_int(value.text));
        break;
      case Meaning::accumulation:
        set_count(facts.gradient_accumulation_steps, to_int(value.text));
        break;
      case Meaning::devices:
        set_count(facts.gpus_per_node, devices_of(value));
        if (facts.gpus_per_node.known()) facts.nodes.set(1, FactSource::log);
        break;
      case Meaning::bf16:
        bf16 = on;
        break;
      case Meaning::fp16:
        fp16 = on;
        break;
      case Meaning::checkpointing:
        if (on) facts.axes["activation_checkpointing"] = "true";
        break;
      case Meaning::optimizer:
        facts.axes["optimizer"] = value.text;
        break;
      case Meaning::left_out:
        break;
    }
  }
  if (bf16.value_or(false) || fp16.value_or(false)) {
    facts.precision.set(bf16.value_or(false) ? "bf16" : "fp16", FactSource::log);
  } else if (bf16 && fp16) {
    facts.precision.set("fp32", FactSource::log);
  }
  for (const auto& [name, value] : run.environment) {
    if (value != "0") facts.axes["env." + name] = value;
  }
}

class NotebookParser final : public TableParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override {
    ++lines_;
    const std::string_view text = trim(line.text);
    marked_ = marked_ || text.starts_with(NotebookSettings::kMark);
    if (text.starts_with(kMemory)) {
      Cursor cursor(line);
      cursor.skip_past(kMemory);
      cursor.blanks();
      if (const auto used = cursor.number(); used && *used > 0 && *used < 1e6) {
        cursor.blanks();
        if (cursor.literal("GB")) memory_bytes_ = static_cast<std::int64_t>(*used * 1e9);
      }
      return true;
    }
    if (text.starts_with(kRate)) {
      const auto rate = number_after(line, kRate);
      if (!rate || !(*rate > 0)) return true;
      RunDraft& draft = begin(line, out);
      draft.log.summary = Stated{*rate, RateUnit::sequences_per_second, line.number};
      draft.ended_well = true;
      return true;
    }
    if (text.starts_with(kOutOfMemory)) {
      begin(line, out).stated_outcome = Outcome{
          Status::out_of_memory, std::nullopt, line.number, {log_line(std::string(kOutOfMemory))}};
      return true;
    }
    // A line that is not taken is shown again without what may be a label: settings are as they
    // lie.
    if (line.number != seen_) settings_.see(line.text, line.number);
    seen_ = line.number;
    return false;
  }

  /// Settings and calls hold no literal.
  [[nodiscard]] bool wants_every_line() const override {
    constexpr std::int64_t kLinesOfPage = 100'000;
    return marked_ && lines_ < kLinesOfPage;
  }

 private:
  RunDraft& begin(const Line& line, RunBuilder& out) {
    RunDraft& draft = out.extra(WorkKind::training, line.number);
    draft.own_facts = true;
    draft.last_line = line.number;
    draft.official_end = true;
    draft.log.facts.framework.set("pytorch", FactSource::log);
    if (const auto run = settings_.take_run()) set_facts(*run, draft.log.facts);
    if (memory_bytes_ > 0) {
      draft.log.memory = MemoryUse{std::exchange(memory_bytes_, 0), 0};
    }
    return draft;
  }

  NotebookSettings settings_;
  std::int64_t memory_bytes_ = 0;  ///< printed before the rate
  std::int64_t lines_ = 0, seen_ = 0;
  bool marked_ = false;
};

std::unique_ptr<LineParser> make() { return std::make_unique<NotebookParser>(); }

}  // namespace

extern const Format format_notebook;
const Format format_notebook = {
    "notebook", "what a notebook of Hugging Face benchmarks prints of its runs",
    "https://github.com/mli/transformers-benchmarks transformers.ipynb", kAnchors, make};

}  // namespace bertbench
