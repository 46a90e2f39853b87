// flax: JAX trainers that log through absl: clu's metric writer, T5X, Flax and init2winit examples.
//
//   I1127 10:22:26.140852 139938806449728 logging_writer.py:48] [100] steps_per_sec=3.20687
//   I0419 12:00:00.000000 139 logging_writer.py:35] [200] learning_rate=0.1, train_loss=2.303
//   I0709 15:29:52.025554 128 logging_writer.py:48] [0] collection=train timing/seconds=1.9
//   I0709 15:29:52.025554 128 local.py:50] Setting work unit notes: 2.0 steps/s, 6.7% (100/1500),
//       ETA: 11m                                                        (progress; one line)
//
// The step stands in brackets; several lines tell of one step. The clock is absl's stamp, which has
// no year. A writer may run behind the training by an asynchronous step, which shifts its stamps
// but not their distances. steps_per_sec is over the steps since it was printed last. Metrics whose
// names say eval, test or valid, or whose collection does, are not of training. The lines of
// progress count where there are no metrics; their one decimal is no rate.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/line_cleaner.h"

namespace bertbench {
namespace {

constexpr std::string_view kAnchors[] = {"logging_writer.py:", "local.py:"};

struct Metric {
  std::string_view name;
  double value = kUnknown;
};

bool of_evaluation(std::string_view name) {
  return name.find("eval") != std::string_view::npos ||
         name.find("test") != std::string_view::npos ||
         name.find("valid") != std::string_view::npos || name.starts_with("val");
}

// "a=1.5, b=2" and, with a collection, "collection=train a=1.5 b=2".
void read_metrics(std::string_view text, bool cut, std::vector<Metric>& out) {
  out.clear();
  std::size_t at = 0;
  while (at < text.size()) {
    const auto equals = text.find('=', at);
    if (equals == std::string_view::npos) return;
    auto begin = text.find_last_of(" ,", equals);
    begin = begin == std::string_view::npos || begin < at ? at : begin + 1;
    const std::string_view name = text.substr(begin, equals - begin);
    Cursor cursor(text.substr(equals + 1), cut);
    const auto value = cursor.number();
    at = equals + 1 + (value ? cursor.at() : 0);
    if (!name.empty()) out.push_back({name, value.value_or(kUnknown)});
    if (out.size() >= 256) return;
  }
}

class FlaxParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  bool see_progress(const Line& line, RunBuilder& out);
  bool take_metrics(Sample& sample, RateUnit& unit) const;
  void put(Sample sample, RateUnit unit, RunBuilder& out);

  std::vector<Metric> metrics_;
  bool rates_ = false;
  bool told_ = false;             ///< metrics were
  RunDraft* progress_ = nullptr;  ///< a run of lines of progress
};

double stamp_of(std::string_view text) {
  if (const auto behind = behind_host_label(text); !behind.empty()) text = behind;
  return absl_time(text).value_or(kUnknown);
}

// "2.0 steps/s, 6.7% (100/1500), ETA: 11m (0s : 1.0% checkpoint)"
bool FlaxParser::see_progress(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("Setting work unit notes: ") || !cursor.number() ||
      !cursor.literal(" steps/s, ") || !cursor.number() || !cursor.literal("% (")) {
    return false;
  }
  const auto step = cursor.integer();
  const auto all = step && cursor.literal("/") ? cursor.integer() : std::nullopt;
  if (!all || *step < 0 || *all < *step || *all > 1'000'000'000'000) return false;
  if (told_) return true;
  Sample sample;
  sample.step = *step;
  sample.time_s = stamp_of(line.text);
  sample.line = line.number;
  sample.rank = line.rank;
  progress_ = &out.add(WorkKind::training, sample);
  progress_->log.iteration_unit = IterationUnit::optimizer_step;
  progress_->log.clock_resolution_s = 1e-6;
  progress_->log.clock_is_wall = true;
  progress_->planned = *all;
  return true;
}

// "[...] [20] collection=train loss=9.9, steps_per_sec=2.1": a step and its metrics.
bool FlaxParser::parse(const Line& line, RunBuilder& out) {
  Cursor cursor(line);
  if (!cursor.skip_past("logging_writer.py:")) return see_progress(line, out);
  if (!cursor.integer() || !cursor.literal("] [")) return false;
  const auto step = cursor.integer();
  if (!step || *step < 0 || *step > 1'000'000'000'000 || !cursor.literal("] ")) return false;
  std::string_view text = cursor.rest();
  bool evaluation = false;
  if (text.starts_with("collection=")) {
    const auto blank = text.find(' ');
    evaluation =
        of_evaluation(text.substr(11, blank == std::string_view::npos ? blank : blank - 11));
    text = blank == std::string_view::npos ? std::string_view{} : text.substr(blank + 1);
  }
  read_metrics(text, line.terminator == 0, metrics_);
  if (metrics_.empty()) return false;
  if (evaluation) return true;
  Sample sample;
  RateUnit unit = RateUnit::unknown;
  if (!take_metrics(sample, unit)) return true;  // an evaluation's, or of nothing that is known
  sample.step = *step;
  sample.line = line.number;
  sample.rank = line.rank;
  sample.time_s = stamp_of(line.text);
  put(sample, unit, out);
  return true;
}

/// Whether the metrics are of training; its loss and its rate.
bool FlaxParser::take_metrics(Sample& sample, RateUnit& unit) const {
  bool training = false;
  for (const Metric& metric : metrics_) {
    if (of_evaluation(metric.name)) continue;
    const auto named = [&](std::string_view what) {
      return metric.name == what || metric.name.ends_with("/" + std::string(what)) ||
             metric.name == "train_" + std::string(what);
    };
    const auto take = [&](RateUnit of) {
      if (!(metric.value > 0)) return;
      sample.rate = metric.value;
      unit = of;
    };
    if (named("steps_per_sec") || named("steps_per_second") || named("timing/steps_per_second")) {
      if (unit != RateUnit::sequences_per_second) take(RateUnit::iterations_per_second);
      training = true;
    } else if (named("seqs_per_second") || named("examples_per_second")) {
      take(RateUnit::sequences_per_second);
      training = true;
    } else if (named("loss") || metric.name == "training_loss" || named("cross_ent_loss")) {
      sample.loss = metric.value;
      training = true;
    } else if (named("uptime") || metric.name.starts_with("train") || named("learning_rate")) {
      training = true;
    }
  }
  return training;
}

void FlaxParser::put(Sample sample, RateUnit unit, RunBuilder& out) {
  told_ = true;
  if (progress_ != nullptr) {
    progress_->discard = true;
    out.close(WorkKind::training);
    progress_ = nullptr;
  }
  RunDraft* open = out.open(WorkKind::training);
  // Metrics of one step come in any order and a little late: only a new run begins much earlier.
  if (open != nullptr && open->last() != nullptr && sample.step < open->last()->step) {
    if (!open->goes_back(sample)) return;
    out.close(WorkKind::training);
  }
  RunDraft& draft = out.run(WorkKind::training, sample.line);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.clock_resolution_s = 1e-6;
  draft.log.clock_is_wall = true;
  if (!std::isnan(sample.rate)) {
    if (draft.log.rate_unit == RateUnit::unknown) draft.log.rate_unit = unit;
    if (draft.log.rate_unit != unit) sample.rate = kUnknown;
    rates_ = true;
  }
  draft.add(sample);
}

void FlaxParser::finish(RunBuilder& out) {
  out.facts.framework.set("jax", FactSource::log);
  for (const auto& draft : out.drafts()) {
    draft->log.notices.push_back(make_notice(NoticeCode::time_includes, 0,
                                             "the time between two stamps of the metric writer",
                                             "evaluations"));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<FlaxParser>(); }

}  // namespace

extern const Format format_flax;
const Format format_flax = {
    "flax", "Flax and JAX trainers: clu's metric writer in absl logs",
    "https://github.com/google/CommonLoopUtils clu/metric_writers/logging_writer.py, "
    "clu/periodic_actions.py",
    kAnchors, make};

}  // namespace bertbench
