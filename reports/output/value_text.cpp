#include "reports/output/value_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "parsers/core/text.h"
#include "reports/output/cell_table.h"

namespace bertbench {
namespace {

std::string flat_value(const nlohmann::ordered_json& json) {
  if (json.is_string()) return json.get<std::string>();
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void flatten(const nlohmann::ordered_json& json, const std::string& path,
             std::vector<std::pair<std::string, std::string>>& out) {
  if (json.empty()) return;  // null as well
  if (json.is_object()) {
    for (const auto& [key, value] : json.items())
      flatten(value, path.empty() ? key : path + "." + key, out);
    return;
  }
  if (json.front().is_structured()) {
    for (std::size_t i = 0; i < json.size(); ++i)
      flatten(json[i], fmt::format("{}[{}]", path, i), out);
    return;
  }
  if (json.is_array()) {
    std::string list;
    for (const auto& item : json) list += (list.empty() ? "" : ", ") + flat_value(item);
    out.emplace_back(path, list);
    return;
  }
  out.emplace_back(path, flat_value(json));
}

}  // namespace

std::string number_text(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::fabs(value);
  if (size >= 1e15) return fmt::format("{:.3e}", value);
  if (size >= 10000) return fmt::format("{:.0f}", value);
  if (size >= 100) return fmt::format("{:.1f}", value);
  if (size >= 10) return fmt::format("{:.2f}", value);
  if (size >= 0.1 || size == 0) return fmt::format("{:.3f}", value);
  return fmt::format("{:.3g}", value);
}

std::string percent_text(double fraction, int decimals) {
  if (!std::isfinite(fraction)) return "-";
  return fmt::format("{:.{}f} %", fraction * 100, decimals);
}

std::string change_text(double fraction) { return fmt::format("{:+.1f} %", fraction * 100); }

std::string ratio_text(double ratio) {
  // A format string is a constant of the compiler: a choice of two is none.
  return std::fabs(ratio) >= 1e15 ? fmt::format("{:.3e}x", ratio) : fmt::format("{:.2f}x", ratio);
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0)) return "-";
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.3g} s", seconds);
  if (seconds > 1e12) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const std::int64_t minutes = (whole + 30) / 60;
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string power_text(double watts) {
  return watts < 10000 ? number_text(watts) + " W" : number_text(watts / 1000) + " kW";
}

std::string energy_text(double joules) {
  if (joules < 0.1) return number_text(joules * 1000) + " mJ";
  return joules < 10000 ? number_text(joules) + " J" : number_text(joules / 1000) + " kJ";
}

std::string bytes_text(double bytes) {
  static constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::string key_with_kind(const std::string& key, WorkKind kind) {
  return kind == WorkKind::training ? key : key + " (" + std::string(name(kind)) + ")";
}

bool is_nameless(std::string_view key) {
  const std::string nothing = Identity{}.key();
  return key == nothing || key.starts_with(nothing + "#");
}

bool shows_kind(const Trial& trial) {
  if (trial.iterations.seen > 0 || trial.rate()) return true;
  const auto has = [](const std::vector<Notice>& notices, NoticeCode code) {
    return std::ranges::any_of(notices, [&](const Notice& it) { return it.code == code; });
  };
  const bool bars_or_none =
      trial.format.empty() || trial.format == "unknown" || trial.format == "tqdm";
  return !bars_or_none || has(trial.notices, NoticeCode::near_to_a_rate) ||
         has(trial.outcome.details, NoticeCode::cut_after_banner);
}

std::string more_than_name(const Outcome& outcome) {
  std::string text = detail_text(outcome);
  const std::string_view word = name(outcome.status);
  const bool repeats = std::ranges::equal(text, word, {}, [](char c) { return lower(c); });
  return repeats ? std::string() : text;
}

std::string topology_text(const Identity& identity) {
  if (!identity.nodes && !identity.gpus_per_node) return {};
  const auto part = [](const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : std::string("?");
  };
  return part(identity.nodes) + "n" + part(identity.gpus_per_node) + "g";
}

void FailureWords::add(const Trial& trial) {
  // "nan at step 120" and "nan at step 130" are kept apart; trials that only miss the window are
  // no failures, but a reader must see why they do not count.
  if (is_failure(trial.outcome.status)) {
    std::string words(name(trial.outcome.status));
    if (trial.outcome.step) words += fmt::format(" at step {}", *trial.outcome.step);
    ++count_[words];
  } else if (!trial.window.covered) {
    ++count_["window not covered"];
  } else if (!trial.rate()) {
    ++count_["no rate"];
  }
  ++trials_;
  if (trial.outcome.status == Status::out_of_memory && !trial.window.covered) ++out_of_memory_;
  if (memory_.empty() && trial.memory && trial.memory->capacity_bytes > 0) {
    memory_ = fmt::format("{} of {}", bytes_text(static_cast<double>(trial.memory->peak_bytes)),
                          bytes_text(static_cast<double>(trial.memory->capacity_bytes)));
  }
}

std::string FailureWords::out_of_memory_text() const {
  return ran_out_of_memory() ? memory_ : std::string();
}

std::string FailureWords::text() const {
  std::string text;
  for (const auto& [words, n] : count_)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, words);
  const auto memory = out_of_memory_text();
  return memory.empty() ? text : text + ": " + memory;
}

FailureWords failures_of(const Cell& cell) {
  FailureWords out;
  for (const Trial& trial : cell.trials) out.add(trial);
  return out;
}

int failed_trials(const Cell& cell) {
  std::map<int, int> last;  // attempt of each trial
  for (const Trial& trial : cell.trials) {
    int& newest = last[trial.trial];
    newest = std::max(newest, trial.attempt);
  }
  return static_cast<int>(std::ranges::count_if(cell.trials, [&](const Trial& trial) {
    return ended_badly(trial.outcome.status) && trial.attempt == last[trial.trial];
  }));
}

std::optional<ShownInterval> shown_interval(const Cell& cell) {
  if (cell.throughput.median_interval)
    return ShownInterval{*cell.throughput.median_interval, false};
  if (cell.throughput.mean_interval) return ShownInterval{*cell.throughput.mean_interval, true};
  return {};
}

std::string_view estimator_meaning(std::string_view estimator) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kMeanings = {{
      {"step_time", "sequences of the window over the sum of the step times that the log prints"},
      {"counter_clock", "difference of the log's counter over the difference of its clock"},
      {"arrival", "difference of the log's counter over the time in which its lines came"},
      {"unsmoothed",
       "difference of a bar's counter over the moments that its smoothed rates imply within the "
       "seconds it shows"},
      {"printed_last", "work over the time that the last redraws of each step imply"},
      {"printed", "work over the time that the rates imply which the log prints"},
      {"printed_mean", "arithmetic mean of the printed rates, as scripts take it"},
      {"printed_first", "mean of the rate in the first redraw of each step, as scripts take it"},
      {"log_summary", "the log's own closing throughput, or its work over its closing time"},
      {"total_time", "all sequences over all time, start-up and pauses included"},
  }};
  for (const auto& [known, meaning] : kMeanings)
    if (known == estimator) return meaning;
  return {};
}

std::string_view gpu_word(const Cell& cell) {
  if (cell.identity.simulated()) return "simulated GPU";
  return cell.emulated ? "rank" : "GPU";
}

namespace {

/// "auto (mser-5)" of "auto (mser-5: 10:286)", which names each trial's own records.
std::map<std::string, int> without_records(const std::map<std::string, int>& windows) {
  std::map<std::string, int> out;
  for (const auto& [window, trials] : windows) {
    const auto records = window.find(": "), end = window.find(')');
    const bool automatic = window.starts_with("auto (") && records < end && end != window.npos;
    out[automatic ? window.substr(0, records) + window.substr(end) : window] += trials;
  }
  return out;
}

}  // namespace

Provenance provenance(const ResultSet& set) {
  constexpr std::size_t kWindowsNamedWhole = 3;
  Provenance out;
  for (const Cell& cell : set.cells) {
    out.emulated = out.emulated || cell.emulated;
    out.simulated = out.simulated || cell.identity.simulated();
    out.failed += failed_trials(cell);
    for (const Trial& trial : cell.trials) {
      ++out.trials;
      if (trial.attempt > 1) ++out.retried;
      if (!trial.format.empty()) ++out.formats[trial.format];
      if (!trial.rate()) continue;
      ++out.counted;
      std::string window = trial.window.rule.empty() ? "unknown" : trial.window.rule;
      if (!trial.window.chosen_by.empty()) window += " (chosen by " + trial.window.chosen_by + ")";
      ++out.windows[window];
      ++out.estimators[trial.estimator.empty() ? "unknown" : trial.estimator];
    }
  }
  if (out.windows.size() > kWindowsNamedWhole) out.windows = without_records(out.windows);
  return out;
}

std::map<std::string, int> flops_formulas(const ResultSet& set) {
  std::map<std::string, int> out;
  for (const Cell& cell : set.cells) {
    if (!cell.tflops_per_gpu) continue;
    const std::string peak = cell.peak.empty() ? "no peak known" : "peak " + cell.peak;
    ++out[(cell.flops_formula.empty() ? "unknown" : cell.flops_formula) + ", " + peak];
  }
  return out;
}

std::string memory_text(const std::optional<MemoryRecord>& memory, bool with_capacity) {
  if (!memory || memory->peak_bytes <= 0) return {};
  const std::string peak = bytes_text(static_cast<double>(memory->peak_bytes));
  if (!with_capacity || memory->capacity_bytes <= 0) return peak;
  return peak + " of " + bytes_text(static_cast<double>(memory->capacity_bytes));
}

std::map<std::string, int> memory_sources(const ResultSet& set) {
  std::map<std::string, int> out;
  for (const Cell& cell : set.cells) {
    if (!memory_text(cell.memory).empty()) {
      ++out[cell.memory->source.empty() ? "unknown" : cell.memory->source];
    }
  }
  return out;
}

std::string_view whose_memory(const std::map<std::string, int>& sources) {
  if (!sources.contains("proc")) return "one GPU";
  return sources.size() == 1 ? "all ranks of a machine"
                             : "one GPU, or of all ranks of a machine by proc";
}

std::vector<std::pair<std::string, std::string>> environment_lines(const ResultSet& set) {
  std::vector<std::pair<std::string, std::string>> out;
  flatten(*set.environment, "", out);
  return out;
}

}  // namespace bertbench
