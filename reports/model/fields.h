// The members of a result's structs, each named once: the writer of JSON, its reader and the packer
// of trials visit these lists, so that they cannot drift apart.
//
//   template <class S, class V> void fields(S& s, V& v) { v("key", s.member, rule); ... }
//
// Structured bindings name all members of a struct: one that is added does not compile before it is
// listed.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "parsers/core/run_log.h"
#include "reports/model/result_set.h"

namespace bertbench {

template <class T, class U>
concept Of = std::same_as<std::remove_const_t<T>, U>;

/// What holds of a member beyond its type. By themselves members are written where they are known:
/// an optional that is set, a text or list that is not empty, a finite number, a true flag.
struct MemberRule {
  bool required = false;      ///< a file without the key is refused
  bool always = false;        ///< written even where it is empty or false
  bool zero_unknown = false;  ///< 0 is not written
  bool above_zero = false;    ///< a file with 0 is refused
  bool copy = false;          ///< a second key of the same value: read only where that is unknown
  bool own_text = false;      ///< the text differs from trial to trial
  std::int64_t least = 0;     ///< of whole numbers
};

// The last of each enumeration that has names.
constexpr Status last_of(Status) { return Status::no_data; }
constexpr WorkKind last_of(WorkKind) { return WorkKind::inference; }
constexpr Steadiness last_of(Steadiness) { return Steadiness::no_steady_state; }

template <Of<Interval> S, class V>
void fields(S& s, V& v) {
  auto& [low, high, coverage] = s;
  v("low", low, {.required = true});
  v("high", high, {.required = true});
  v("coverage", coverage, {.required = true});
}

template <Of<IterationCounts> S, class V>
void fields(S& s, V& v) {
  auto& [seen, dropped, used] = s;
  v("seen", seen);
  v("dropped", dropped);
  v("used", used);
}

template <Of<WindowUsed> S, class V>
void fields(S& s, V& v) {
  auto& [rule, chosen_by, covered, first_step, last_step] = s;
  v("rule", rule, {.always = true});
  v("chosen_by", chosen_by, {.always = true});
  v("covered", covered, {.required = true, .always = true});
  v("first_step", first_step, {.least = -1});
  v("last_step", last_step);
}

template <Of<Reconciliation> S, class V>
void fields(S& s, V& v) {
  auto& [sequences, training_s, wall_s, rate, gaps] = s;
  v("sequences", sequences);
  v("training_s", training_s);
  v("wall_s", wall_s);
  v("rate", rate);
  v("gaps", gaps);
}

template <Of<StepTimes> S, class V>
void fields(S& s, V& v) {
  auto& [p50, p90, p99] = s;
  v("p50", p50);
  v("p90", p90);
  v("p99", p99);
}

template <Of<PartRecord> S, class V>
void fields(S& s, V& v) {
  auto& [p50] = s;
  v("p50", p50);
}

template <Of<SteadyRecord> S, class V>
void fields(S& s, V& v) {
  auto& [state, first_step, change] = s;
  v("state", state, {.required = true});
  v("first_step", first_step, {.least = -1});
  v("change", change);
}

template <Of<PeriodicWork> S, class V>
void fields(S& s, V& v) {
  auto& [period, phase, count, extra_s, share] = s;
  v("period", period);
  v("phase", phase);
  v("count", count);
  v("extra_s", extra_s);
  v("share", share);
}

template <Of<PeriodicRecord> S, class V>
void fields(S& s, V& v) {
  auto& [work, sequences_per_second_without] = s;
  fields(work, v);
  v("sequences_per_second_without", sequences_per_second_without);
}

template <Of<TimeRecord::Span> S, class V>
void fields(S& s, V& v) {
  auto& [part, begin_s, end_s] = s;
  v("part", part, {.always = true});
  v("begin_s", begin_s);
  v("end_s", end_s);
}

template <Of<TimeRecord> S, class V>
void fields(S& s, V& v) {
  auto& [total_s, parts_s, timeline] = s;
  v("total_s", total_s);
  v("parts_s", parts_s, {.always = true});
  v("timeline", timeline, {.always = true});
}

template <Of<RankRecord::Rank> S, class V>
void fields(S& s, V& v) {
  auto& [rank, node, own_s, ratio, windows, slow, slowest] = s;
  v("rank", rank, {.required = true});
  v("node", node);
  v("own_s", own_s, {.required = true});
  v("ratio", ratio, {.required = true});
  v("windows", windows);
  v("slow", slow);
  v("slowest", slowest);
}

template <Of<RankRecord::Node> S, class V>
void fields(S& s, V& v) {
  auto& [node, ranks, min_s, median_s, max_s] = s;
  v("node", node);
  v("ranks", ranks);
  v("min_s", min_s);
  v("median_s", median_s);
  v("max_s", max_s);
}

template <Of<RankRecord::Row> S, class V>
void fields(S& s, V& v) {
  auto& [rank, ratio] = s;
  v("rank", rank, {.required = true});
  v("ratio", ratio);
}

template <Of<RankRecord> S, class V>
void fields(S& s, V& v) {
  auto& [ranks, first_step, last_step, spread, slowest, stragglers, nodes, steps, rows] = s;
  v("ranks", ranks, {.required = true});
  v("first_step", first_step);
  v("last_step", last_step);
  v("spread", spread);
  v("slowest", slowest);
  v("stragglers", stragglers, {.always = true});
  v("nodes", nodes);
  v("steps", steps);
  v("rows", rows);
}

template <Of<BlockPlace> S, class V>
void fields(S& s, V& v) {
  auto& [session, position] = s;
  v("session", session, {.least = 1});
  v("position", position, {.least = 1});
}

template <Of<MemoryRecord> S, class V>
void fields(S& s, V& v) {
  auto& [peak_bytes, capacity_bytes, source] = s;
  v("peak_bytes", peak_bytes);
  v("capacity_bytes", capacity_bytes, {.zero_unknown = true});
  v("source", source);
}

/// As a trial is packed; in JSON it is the list [step, loss].
template <Of<LossPoint> S, class V>
void fields(S& s, V& v) {
  auto& [step, loss] = s;
  v("step", step);
  v("loss", loss);
}

template <Of<LossRecord> S, class V>
void fields(S& s, V& v) {
  auto& [first, last, not_finite_from, at, planned_step, every] = s;
  v("first", first);
  v("last", last);
  v("not_finite_from", not_finite_from);
  v("at", at);
  v("planned_step", planned_step);
  v("every", every);
}

template <Of<Outcome> S, class V>
void fields(S& s, V& v) {
  auto& [status, step, line, details] = s;
  v("status", status, {.required = true});
  v("step", step);
  v("line", line, {.zero_unknown = true});
  v.notices("detail", "detail_notices", details, [&] { return detail_text(s); });
}

/// As a trial is packed; in JSON it is a NoticeText.
template <Of<Notice> S, class V>
void fields(S& s, V& v) {
  auto& [code, line, values, log] = s;
  v("code", code);
  v("line", line);
  v("values", values);
  v("log", log);
}

/// A notice in JSON: names for its code and values, and the sentence.
struct NoticeText {
  std::string code;
  std::int64_t line = 0;
  std::string log;
  std::vector<std::pair<std::string, NoticeValue>> values;
  std::string text;
};
[[nodiscard]] NoticeText named(const Notice& notice);
/// A notice of an older result, or of a release that has other codes, keeps its text.
[[nodiscard]] Notice notice_of(NoticeText text);

template <Of<NoticeText> S, class V>
void fields(S& s, V& v) {
  auto& [code, line, log, values, text] = s;
  v("code", code);
  v("line", line, {.zero_unknown = true});
  v("log", log);
  v("values", values);
  v("text", text, {.always = true});
}

template <Of<Trial> S, class V>
void fields(S& s, V& v) {
  auto& [trial, attempt, block, log, format, outcome, iterations, skipped_steps, window,
         sequences_per_second, tokens_per_second, iterations_per_second, epochs_per_second,
         estimator, estimators, resolution, expected_error, reconciliation, step_time,
         rate_interval, steady_state, periodic, time_parts, ranks, memory, telemetry, energy_j,
         energy_per_sequence_j, loss, parts, stated, simulated, seed, scores, iterations_file,
         notices] = s;
  v("trial", trial, {.least = 1});
  v("attempt", attempt, {.least = 1});
  v("block", block);
  v("log", log, {.own_text = true});
  v("format", format);
  v("outcome", outcome);
  v("iterations", iterations);
  v("skipped_steps", skipped_steps);
  v("window", window, {.required = true});
  v("sequences_per_second", sequences_per_second, {.above_zero = true});
  v("tokens_per_second", tokens_per_second, {.above_zero = true});
  v("iterations_per_second", iterations_per_second, {.above_zero = true});
  v("epochs_per_second", epochs_per_second, {.above_zero = true});
  v("estimator", estimator);
  v("estimators", estimators);
  v("resolution", resolution);
  v("expected_error", expected_error);
  v("reconciliation", reconciliation);
  v("step_time", step_time);
  v("rate_interval", rate_interval);
  v("steady_state", steady_state);
  v("periodic", periodic);
  v("time_parts", time_parts);
  v("ranks", ranks);
  v("memory", memory);
  v("telemetry", telemetry);
  v("energy_j", energy_j);
  v("energy_per_sequence_j", energy_per_sequence_j);
  v("loss", loss);
  v("parts", parts);
  v("stated", stated);
  v("simulated", simulated);
  v("seed", seed);
  v("scores", scores);
  v("iterations_file", iterations_file, {.own_text = true});
  v("notices", notices);
}

template <Of<ThroughputSummary> S, class V>
void fields(S& s, V& v) {
  auto& [unit, n, mean, median, stddev, cv, median_interval, mean_interval] = s;
  v("unit", unit, {.always = true});
  v("n", n);
  v("mean", mean, {.above_zero = true});
  v("median", median, {.above_zero = true});
  v("stddev", stddev);
  v("cv", cv);
  v("median_interval", median_interval);
  v("mean_interval", mean_interval);
}

template <Of<Spread> S, class V>
void fields(S& s, V& v) {
  auto& [n, mean, stddev, min, max] = s;
  v("n", n, {.required = true});
  v("mean", mean, {.required = true});
  v("stddev", stddev);
  v("min", min, {.required = true});
  v("max", max, {.required = true});
}

template <Of<FlopsUse> S, class V>
void fields(S& s, V& v) {
  auto& [tflops_per_gpu, mfu, hfu] = s;
  v("tflops_per_gpu", tflops_per_gpu);
  v("mfu", mfu);
  v("hfu", hfu);
}

template <Of<Ratio> S, class V>
void fields(S& s, V& v) {
  auto& [value, base] = s;
  v("value", value, {.required = true});
  v("base", base);
}

template <Of<Identity> S, class V>
void fields(S& s, V& v) {
  auto& [framework, model, precision, sequence_length, micro_batch_size,
         gradient_accumulation_steps, nodes, gpus_per_node, axes] = s;
  v("framework", framework);
  v("model", model);
  v("precision", precision);
  v("sequence_length", sequence_length, {.least = 1});
  v("micro_batch_size", micro_batch_size, {.least = 1});
  v("gradient_accumulation_steps", gradient_accumulation_steps, {.least = 1});
  v("nodes", nodes, {.least = 1});
  v("gpus_per_node", gpus_per_node, {.least = 1});
  v.other_keys(axes);
}

template <Of<Cell> S, class V>
void fields(S& s, V& v) {
  using Summary = std::conditional_t<std::is_const_v<S>, const CellSummary, CellSummary>;
  auto& [key, result, identity, kind, throughput, stability, sequences_per_second_per_gpu, speedup,
         scaling_efficiency, scaling, precision_speedup, time_to_train_s, time_to_train_speedup,
         power_w, energy_per_sequence_j, flops, tflops_per_gpu, mfu, hfu, flops_formula, peak,
         memory, stated_world_size, stated_global_batch_size, gpu, emulated, warnings, context] =
      static_cast<Summary&>(s);
  v("key", key, {.required = true, .always = true});
  v("result", result);
  v("identity", identity);
  v("kind", kind);
  // The facts once more, for tables and for whoever reads no identity.
  v("model", identity.model, {.copy = true});
  v("framework", identity.framework, {.copy = true});
  v("precision", identity.precision, {.copy = true});
  v("sequence_length", identity.sequence_length, {.copy = true, .least = 1});
  v("nodes", identity.nodes, {.copy = true, .least = 1});
  v("gpus_per_node", identity.gpus_per_node, {.copy = true, .least = 1});
  v.computed("world_size", s.world_size(), stated_world_size, {.least = 1});
  v("micro_batch_size", identity.micro_batch_size, {.copy = true, .least = 1});
  v("gradient_accumulation_steps", identity.gradient_accumulation_steps,
    {.copy = true, .least = 1});
  v.computed("global_batch_size", s.global_batch_size(), stated_global_batch_size, {.least = 1});
  v("gpu", gpu);
  v("emulated", emulated);
  v.written("simulated", identity.simulated());
  v("context", context);
  v("trials", s.trials, {.required = true, .always = true});
  v("throughput", throughput);
  v.written("tokens_per_second", s.tokens_per_second());
  v("stability", stability);
  v("sequences_per_second_per_gpu", sequences_per_second_per_gpu);
  v("speedup", speedup);
  v("scaling_efficiency", scaling_efficiency);
  v("scaling", scaling);
  v("precision_speedup", precision_speedup);
  v("time_to_train_s", time_to_train_s);
  v("time_to_train_speedup", time_to_train_speedup);
  v("power_w", power_w);
  v("energy_per_sequence_j", energy_per_sequence_j);
  v("memory", memory);
  v("tflops_per_gpu", tflops_per_gpu);
  v("mfu", mfu);
  v("hfu", hfu);
  v("flops_formula", flops_formula);
  v("peak", peak);
  v("flops", flops);
  v.notices("warnings", "warning_notices", warnings, [&] { return texts_of(warnings); });
}

template <Of<ToolStamp> S, class V>
void fields(S& s, V& v) {
  auto& [version, commit] = s;
  v("version", version, {.always = true});
  v("commit", commit, {.always = true});
}

template <Of<ResultSet> S, class V>
void fields(S& s, V& v) {
  auto& [tool, created, environment, cells, partial] = s;
  v.constant("schema", kResultSchema);
  v("tool", tool);
  v("created", created);
  v("environment", environment, {.always = true});
  v("partial", partial);
  v("cells", cells, {.required = true, .always = true});
}

}  // namespace bertbench
