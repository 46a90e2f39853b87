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
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/notebook_settings.h"

namespace bertbench::format_notebook {
namespace {

/// Options of the Trainer's scripts, and the names that such notebooks give to their settings.
constexpr std::array<std::string_view, 2> kNames[] = {
    {"model_name_or_path", "model"},
    {"model_name", "model"},
    {"max_seq_length", "sequence_length"},
    {"block_size", "sequence_length"},
    {"seq_len", "sequence_length"},
    {"seq_length", "sequence_length"},
    {"per_device_train_batch_size", "micro_batch_size"},
    {"grad_accum", "gradient_accumulation_steps"},
    {"gradient_checkpointing", "activation_checkpointing"},
    {"grad_ckpt", "activation_checkpointing"},
    {"optim", "optimizer"},
    {"max_steps", "steps"},
};

std::optional<std::string_view> known_name(std::string_view name) {
  for (const auto& [alias, meant] : kNames) {
    if (alias == name) return meant;
  }
  return std::nullopt;
}

// '0,1' names two devices.
std::optional<std::int64_t> devices_of(const PythonValue& value) {
  return value.quoted ? count_of_list(value.text) : to_int(value.text);
}

Facts facts_of(const NotebookRun& run) {
  Facts facts;
  const auto set = [](Fact<std::int64_t>& fact, std::optional<std::int64_t> value) {
    if (value && *value >= 1 && *value < 1'000'000'000) fact.set(*value, FactSource::log);
  };
  std::optional<bool> bf16, fp16;
  for (const auto& [field, value] : run.settings) {
    // The option that the page puts the field into names it; else its own name does.
    const auto option = run.options.find(field);
    auto known = option == run.options.end() ? std::nullopt : known_name(option->second);
    if (!known) known = known_name(field);
    const std::string_view name = known.value_or(field);
    const bool on = value.text == "True";
    if (name == "model") {
      facts.model.set(value.text, FactSource::log);
    } else if (name == "sequence_length") {
      set(facts.sequence_length, to_int(value.text));
    } else if (name == "micro_batch_size") {
      set(facts.micro_batch_size, to_int(value.text));
    } else if (name == "gradient_accumulation_steps") {
      set(facts.gradient_accumulation_steps, to_int(value.text));
    } else if (name == "gpus") {
      set(facts.gpus_per_node, devices_of(value));
      if (facts.gpus_per_node.known()) facts.nodes.set(1, FactSource::log);
    } else if (name == "bf16") {
      bf16 = on;
    } else if (name == "fp16") {
      fp16 = on;
    } else if (name != "steps" && value.text != "False" && value.text != "None" &&
               !value.text.empty()) {  // how many steps a run has is not what it does in one
      facts.axes[std::string(name)] = on ? "true" : value.text;
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
  facts.framework.set("pytorch", FactSource::log);
  return facts;
}

struct Notebook {
  void mark(const Line& line) { marked |= leads(line); }

  bool memory(const Line& line) {
    if (!leads(line)) return false;
    double used = 0;
    if (Cursor::after(line).read(kBlanks, used, kBlanks, "GB") && used > 0 && used < 1e6) {
      memory_bytes = static_cast<std::int64_t>(used * 1e9);
    }
    return true;
  }

  bool rate(const Line& line, Emit emit) {
    if (!leads(line)) return false;
    double rate = 0;
    if (!Cursor::after(line).read(kBlanks, rate) || !(rate > 0)) return true;
    end({.official = true}, emit);
    emit(Statement{.summary = Stated{rate, RateUnit::sequences_per_second}});
    return true;
  }

  bool out_of_memory(const Line& line, Emit emit) {
    if (!leads(line)) return false;
    const std::string words(line.text.substr(line.at, line.end - line.at));
    end({.well = false,
         .official = true,
         .outcome = Outcome{Status::out_of_memory, std::nullopt, line.number, {log_line(words)}}},
        emit);
    return true;
  }

  // What ends a block is all that is printed of its run.
  void end(End end, Emit emit) {
    emit(Begin{kRun});
    const auto run = settings.take_run();
    emit(Known{.of = Of::begun, .facts = run ? facts_of(*run) : Facts{}});
    if (memory_bytes > 0) {
      emit(Statement{.memory = MemoryUse{std::exchange(memory_bytes, 0), 0}});
    }
    emit(end);
  }

  // Settings and calls hold no literal.
  [[nodiscard]] bool wants_every_line() const {
    constexpr std::int64_t kLinesOfPage = 100'000;
    return marked && lines < kLinesOfPage;
  }

  // A line comes again without what may be a label: settings are as they lie.
  bool row(const Line& line, Emit) {
    if (std::exchange(seen, line.number) != line.number) settings.see(line.text, line.number);
    ++lines;
    return false;
  }

  static constexpr Begin kRun{.own_facts = true};

  NotebookSettings settings;
  std::int64_t memory_bytes = 0;  ///< printed before the rate
  std::int64_t lines = 0, seen = 0;
  bool marked = false;
};

constexpr Row kRows[] = {
    on<&Notebook::mark>(NotebookSettings::kMark),
    on<&Notebook::memory>("Total used GPU memory:"),
    on<&Notebook::rate>("# samples per second:"),
    on<&Notebook::out_of_memory>("Out of GPU memory, try a smaller batch size"),
};

constexpr Begin kRuns[] = {Notebook::kRun};

}  // namespace

extern const Format entry{
    .name = "notebook",
    .title = "what a notebook of Hugging Face benchmarks prints of its runs",
    .reference = "https://github.com/mli/transformers-benchmarks transformers.ipynb",
    .framework = "pytorch",
    .table = table_of<Notebook>(kRows, kRuns)};

}  // namespace bertbench::format_notebook
