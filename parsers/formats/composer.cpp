// composer: the console logger of MosaicML Composer (and LLM Foundry).
//
//   [batch=40/300]:                                         (also [epoch=0][batch=40/300]:)
//            Train time/batch: 39
//            Train time/sample: 10240
//            Train throughput/batches_per_sec: 2.7330
//            Train throughput/samples_per_sec: 699.6
//            Train throughput/device/samples_per_sec: 87.45
//            Train time/train: 0.5249
//            Train loss/train/total: 8.4213
//
// throughput/ is of the whole job over the SpeedMonitor's last batches (window_size, 100 unless
// set), throughput/device/ of one GPU; time/train are hours, or what its time_unit says, without
// evaluations. A batch is an optimizer step. Blocks behind [Eval batch=...] are evaluations.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"[batch=",          "Eval batch=",
                                         "Train time/",      "Train throughput",
                                         "Train loss/train", "Train trainer/",
                                         "num_nodes: ",      "num_gpus_per_node: ",
                                         "n_gpus: ",         "global_train_batch_size: "};

class ComposerParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  struct Block {
    std::int64_t batch = 0, planned = 0, line = 0;
    int rank = -1;
    bool any = false;  ///< some line of the block was seen
    std::optional<double> samples_rate, batches_rate, device_rate, time, samples, loss;
  };
  bool see_head(const Line& line, RunBuilder& out);
  bool see_value(const Line& line);
  void see_setting(const Line& line);
  void flush(RunBuilder& out);
  RunDraft& run(std::int64_t line, RunBuilder& out) const;
  void take_rate(const Block& block, RunLog& log, Sample& sample);
  void see_batch_size(const Block& block, Fact<std::int64_t>& batch);

  std::optional<Block> block_;
  bool evaluating_ = false;
  std::int64_t last_batch_ = 0;
  std::optional<std::int64_t> nodes_, gpus_, world_, batch_;
  double samples_before_ = kUnknown;  ///< time/sample of the block before
  std::int64_t batch_before_ = 0;
  bool no_rate_ = true;
};

// "[batch=40/300]:", "[epoch=0][batch=40/300]:", "[epoch=1/3][batch=40/300]:"
bool ComposerParser::see_head(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  const auto at = line.text.find("[batch=");
  if (at == std::string_view::npos) {
    if (line.text.find("Eval batch=") == std::string_view::npos) return false;
    evaluating_ = true;
    return true;
  }
  const std::string_view head = trim(line.text.substr(0, at));
  if (!head.empty() && !(head.starts_with("[epoch=") && head.ends_with(']'))) return false;
  cursor.move_to(at + 7);
  const auto batch = cursor.integer();
  std::int64_t planned = 0;
  if (cursor.literal("/")) planned = cursor.integer().value_or(0);
  if (!batch || *batch < 0 || planned < 0 || !cursor.literal("]:")) return false;
  flush(out);
  evaluating_ = false;
  Block block;
  block.batch = *batch;
  // Where the plan is in epochs, the number behind the slash is the length of one.
  block.planned = head.empty() ? planned : 0;
  block.line = line.number;
  block.rank = line.rank;
  block_ = block;
  return true;
}

bool ComposerParser::see_value(const Line& line) {
  if (!block_ || evaluating_) return false;
  const std::string_view text = trim(line.text);
  if (!text.starts_with("Train ")) return false;
  const auto colon = text.find(": ");
  if (colon == std::string_view::npos) return false;
  const std::string_view key = text.substr(6, colon - 6);
  Cursor cursor(text.substr(colon + 2), line.terminator == 0);
  const auto value = cursor.number();
  if (!value) return false;
  block_->any = true;
  if (key == "throughput/samples_per_sec") {
    block_->samples_rate = value;
  } else if (key == "throughput/batches_per_sec") {
    block_->batches_rate = value;
  } else if (key == "throughput/device/samples_per_sec") {
    block_->device_rate = value;
  } else if (key == "time/train" || key == "wall_clock/train") {
    block_->time = value;
  } else if (key == "time/sample") {
    block_->samples = value;
  } else if (key == "time/batch" && *value >= 0 && *value < 1e15) {
    // Batches done before this one: [batch=] begins again with each epoch where the plan is epochs.
    block_->batch = static_cast<std::int64_t>(*value) + 1;
  } else if (key == "loss/train/total") {
    block_->loss = value;
  }
  return true;
}

void ComposerParser::flush(RunBuilder& out) {
  if (!block_) return;
  const Block block = *block_;
  block_.reset();
  if (!block.any || block.batch == 0) return;
  if (out.open(WorkKind::training) != nullptr && block.batch < last_batch_) {
    out.close(WorkKind::training);
    samples_before_ = kUnknown;
  }
  RunDraft& draft = run(block.line, out);
  last_batch_ = block.batch;
  Sample sample;
  sample.step = block.batch;
  sample.line = block.line;
  sample.rank = block.rank;
  sample.loss = block.loss;
  take_rate(block, draft.log, sample);
  see_batch_size(block, draft.log.facts.global_batch_size);
  if (block.time && *block.time >= 0) {
    draft.set_origin(0);
    sample.time_s = *block.time * 3600;
    draft.log.clock_resolution_s = 0.36;  // four digits of an hour
  }
  draft.add(sample);
  if (block.planned > 0) draft.planned = block.planned;
}

RunDraft& ComposerParser::run(std::int64_t line, RunBuilder& out) const {
  const bool fresh = out.open(WorkKind::training) == nullptr;
  RunDraft& draft = out.run(WorkKind::training, line);
  if (!fresh) return draft;
  draft.own_facts = true;
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  Facts& facts = draft.log.facts;
  facts.framework.set("pytorch", FactSource::log);
  if (world_) facts.world_size.set(*world_, FactSource::log);
  if (nodes_) facts.nodes.set(*nodes_, FactSource::log);
  if (gpus_) facts.gpus_per_node.set(*gpus_, FactSource::log);
  if (batch_) facts.global_batch_size.set(*batch_, FactSource::log);
  return draft;
}

void ComposerParser::take_rate(const Block& block, RunLog& log, Sample& sample) {
  if (block.samples_rate && *block.samples_rate > 0) {
    sample.rate = *block.samples_rate;
    log.rate_unit = RateUnit::sequences_per_second;
    no_rate_ = false;
    // Both rates are of the same batches, so that their ratio is the number of GPUs.
    if (!block.device_rate || !(*block.device_rate > 0) || log.facts.world()) return;
    const double world = *block.samples_rate / *block.device_rate;
    const double whole = std::round(world);
    if (whole >= 1 && whole < 1e6 && std::abs(world / whole - 1) < 0.001) {
      log.facts.world_size.set(static_cast<std::int64_t>(whole), FactSource::log);
    }
  } else if (block.batches_rate && *block.batches_rate > 0 &&
             log.rate_unit != RateUnit::sequences_per_second) {
    sample.rate = *block.batches_rate;
    log.rate_unit = RateUnit::iterations_per_second;
    no_rate_ = false;
  }
}

// Samples per batch by the two counters; a last, smaller batch does not divide.
void ComposerParser::see_batch_size(const Block& block, Fact<std::int64_t>& batch) {
  if (block.samples && !std::isnan(samples_before_) && block.batch > batch_before_ &&
      !batch.known()) {
    const double size =
        (*block.samples - samples_before_) / static_cast<double>(block.batch - batch_before_);
    if (size >= 1 && size < 1e9 && size == std::floor(size)) {
      batch.set(static_cast<std::int64_t>(size), FactSource::log);
    }
  }
  if (block.samples) samples_before_ = *block.samples;
  batch_before_ = block.batch;
}

void ComposerParser::see_setting(const Line& line) {
  const auto count = [&](std::string_view key, std::optional<std::int64_t>& value) {
    if (!trim(line.text).starts_with(key)) return;
    if (const auto found = size_after(line, key)) value = found;
  };
  count("num_nodes: ", nodes_);
  count("num_gpus_per_node: ", gpus_);
  count("n_gpus: ", world_);
  count("global_train_batch_size: ", batch_);
}

bool ComposerParser::parse(const Line& line, RunBuilder& out) {
  if (see_head(line, out) || see_value(line)) return true;
  see_setting(line);
  return false;
}

void ComposerParser::finish(RunBuilder& out) {
  flush(out);
  for (const auto& draft : out.drafts()) {
    RunLog& log = draft->log;
    if (no_rate_) {
      log.notices.push_back(
          make_notice(NoticeCode::no_rate_in_log, 0, "no lines of a SpeedMonitor"));
      continue;
    }
    log.notices.push_back(make_notice(NoticeCode::rate_is_mean_of_window, 0, "the rate",
                                      "the SpeedMonitor's window (100 batches unless set)"));
    if (std::isnan(log.clock_resolution_s)) continue;
    // time/train is in hours unless the monitor was told otherwise: the rates tell.
    const auto& records = draft->records();
    if (records.size() < 2 || log.rate_unit != RateUnit::sequences_per_second) continue;
    const auto batch = log.facts.global_batch_size.value;
    const double span = records.back().time_s - records.front().time_s;
    if (!batch || !(span > 0)) continue;
    const double by_clock = static_cast<double>(records.back().step - records.front().step) *
                            static_cast<double>(*batch) / span;
    const double ratio = by_clock / records.back().printed_rate;
    if (ratio < 0.2 || ratio > 5) {
      log.notices.push_back(make_notice(NoticeCode::clock_unit_unknown, 0));
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<ComposerParser>(); }

}  // namespace

extern const Format format_composer;
const Format format_composer = {
    "composer", "MosaicML Composer's console logger, LLM Foundry",
    "https://github.com/mosaicml/composer composer/loggers/console_logger.py, "
    "composer/callbacks/speed_monitor.py",
    kAnchors, make};

}  // namespace bertbench
