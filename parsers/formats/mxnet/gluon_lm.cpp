// gluon-lm: the recurrent language models and the classifiers of gluon-nlp.
//
//   [Epoch 0 Batch 200/372] current loss 7.74, ppl 2288.02, throughput 650.82 samples/s, lr 28.71
//   [Epoch 0] throughput 44198.16 samples/s
//   [Epoch 0] time cost 50.10s, valid loss 6.38, valid ppl 592.45, lr 30.00
//   [Epoch 0 Batch 1000] loss 6.59, ppl 731.39, throughput 8822.41 samples/s      (big RNN)
//   [Epoch 0 Batch 60/62] avg loss 0.0130829, throughput 4.87524K wps           (sentiment, words)
//   [Epoch 0] train avg loss 0.0134182, dev acc 0.6372, dev avg loss 0.656585, throughput ...K wps
//
//   [Epoch 0 Iter 100/3000, Overall 100/30000] loss=6.1, ppl=445.9, throughput=54.01K wps, total
//       wc=3240.60K, wpb=25.10K, ...                  (translation of release 1.0; one line)
//
// A sample is a sequence of bptt tokens on the lines of batches, of all GPUs. The epoch's own line
// has the same unit and counts tokens instead: it is not read (ordinary lines say "] throughput ").
#include <optional>
#include <string>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {", throughput ", "training throughput ",
                                         "K wps, total wc=", ", bptt=", "save_prefix='"};

class GluonLmParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_batch(const Line& line, RunBuilder& out);
  bool see_update(const Line& line, RunBuilder& out);
  bool see_epoch(const Line& line, RunBuilder& out) const;

  std::int64_t epoch_ = -1, base_ = 0, per_epoch_ = 0, step_ = 0;
  std::int64_t last_batch_ = 0;         ///< that an epoch before told of
  std::optional<std::int64_t> epochs_;  ///< planned
  bool untold_ = false;
};

bool GluonLmParser::see_batch(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("[Epoch ")) return false;
  const auto epoch = cursor.integer();
  if (!epoch || *epoch < 0 || *epoch > 1'000'000 || !cursor.literal(" Batch ")) return false;
  const auto batch = cursor.integer();
  if (!batch || *batch < 1 || *batch > 1'000'000'000'000) return false;
  std::int64_t all = 0;
  if (cursor.literal("/")) all = cursor.integer().value_or(0);
  if (all > 1'000'000'000) return false;
  if (!cursor.literal("] ")) return false;
  const bool words = cursor.literal("avg ");
  if (!words) cursor.literal("current ");
  if (!cursor.literal("loss ")) return false;
  const auto loss = cursor.number();
  auto rate = number_after(line, ", throughput ");
  if (!loss || !rate) return false;
  if (words && line.text.find("K wps") != std::string_view::npos) {
    *rate *= 1000;
  } else if (line.text.find(words ? " wps" : " samples/s") == std::string_view::npos) {
    return false;
  }
  RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && *epoch > epoch_) {
    untold_ = untold_ || per_epoch_ < 1;
    last_batch_ = step_ - base_;
    base_ = per_epoch_ > 0 ? base_ + per_epoch_ * (*epoch - epoch_) : step_;
  } else if (open != nullptr && (*epoch < epoch_ || base_ + *batch < step_)) {
    out.close(WorkKind::training);
    base_ = 0;
  }
  epoch_ = *epoch;
  per_epoch_ = all;
  Sample sample;
  sample.step = base_ + *batch;
  sample.rate = *rate;
  sample.loss = *loss;
  sample.line = line.number;
  RunDraft& draft = out.add(WorkKind::training, sample);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.rate_unit = words ? RateUnit::tokens_per_second : RateUnit::sequences_per_second;
  // Nothing else that is rare stands behind the big RNN's last epoch.
  draft.ended_well = all == 0 && epochs_ && *epoch == *epochs_ - 1 && *batch == last_batch_;
  step_ = sample.step;
  return true;
}

// The words of the interval, of all workers and both languages, over their rate are its time.
bool GluonLmParser::see_update(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("[Epoch ") || !cursor.integer() || !cursor.literal(" Iter ") ||
      !cursor.integer() || !cursor.literal("/") || !cursor.integer() ||
      !cursor.literal(", Overall ")) {
    return false;
  }
  const auto step = cursor.integer();
  const auto all = step && cursor.literal("/") ? cursor.integer() : std::nullopt;
  if (!all || *step < 1 || *all < *step || *all > 1'000'000'000'000) return false;
  const auto rate = number_after(line, "throughput="), words = number_after(line, " total wc=");
  constexpr double kMost = 1e15;
  if (!rate || !words || !(*rate > 0 && *rate < kMost)) return false;
  if (!(*words > 0 && *words < kMost)) return false;
  RunDraft* open = out.open(WorkKind::training);
  if (open != nullptr && *step < step_) out.close(WorkKind::training);
  const bool first = out.open(WorkKind::training) == nullptr;
  Sample sample;
  sample.step = *step;
  sample.iterations = first || *step == step_ ? *step : *step - step_;
  sample.seconds = *words / *rate;
  sample.rate = *rate * 1000;
  sample.loss = number_after(line, "] loss=");
  sample.line = line.number;
  sample.rank = line.rank;
  RunDraft& draft = out.run(WorkKind::training, line.number);
  if (draft.count() == 1) draft.mend_headless(sample);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.rate_unit = RateUnit::tokens_per_second;
  draft.planned = *all;
  draft.add(sample);
  step_ = *step;
  return true;
}

// "[Epoch 2] train avg loss 0.0134182, ..." of the classifiers.
bool GluonLmParser::see_epoch(const Line& line, RunBuilder& out) const {
  Cursor cursor(line);
  RunDraft* open = out.open(WorkKind::training);
  if (open == nullptr || !cursor.skip_past("[Epoch ")) return false;
  const auto epoch = cursor.integer();
  if (!epoch || *epoch != epoch_ || !cursor.literal("] train avg loss ")) return false;
  open->ended_well = epochs_ && *epoch == *epochs_ - 1;
  open->last_line = line.number;
  return true;
}

bool GluonLmParser::parse(const Line& line, RunBuilder& out) {
  if (see_batch(line, out) || see_update(line, out) || see_epoch(line, out)) return true;
  if (line.text.starts_with("Namespace(")) epochs_ = size_after(line, " epochs=");
  RunDraft* open = out.open(WorkKind::training);
  if (open == nullptr || !line.text.starts_with("Total training throughput ") ||
      line.text.find(" samples/s") == std::string_view::npos) {
    return false;
  }
  open->ended_well = true;
  open->last_line = line.number;
  return true;
}

void GluonLmParser::finish(RunBuilder& out) {
  out.facts.framework.set("mxnet", FactSource::log);
  for (const auto& draft : out.drafts()) {
    const auto tell = [&](std::int64_t line, const char* what) {
      draft->log.notices.push_back(foreign_notice(line, what));
    };
    if (draft->log.rate_unit == RateUnit::tokens_per_second) {
      tell(0, "wps counts words by the script's rule: it is no rate of sequences");
      continue;
    }
    tell(0, "a sample is a sequence of bptt tokens");
    tell(0,
         "the throughput of an epoch and of the whole training says samples/s and counts tokens: "
         "neither is used");
    if (untold_) {
      tell(0,
           "the length of an epoch is not told: the batches behind its last line are not counted");
    }
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<GluonLmParser>(); }

}  // namespace

extern const Format format_gluon_lm;
const Format format_gluon_lm = {"gluon-lm",
                                "MXNet gluon-nlp: recurrent language models, classifiers",
                                "https://github.com/dmlc/gluon-nlp "
                                "scripts/language_model/word_language_model.py",
                                kAnchors, make};

}  // namespace bertbench
