#include "tests/truth/truth_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "parsers/core/text.h"
#include "parsers/reader/log_reader.h"
#include "reports/cells/result_builder.h"

namespace bertbench::truth {
namespace {

/// Ten digits show every change that a reader could see in a report, and none that another compiler
/// makes in the last bits of a double. Errors and gaps are differences of nearly equal numbers:
/// what they hold below kLeast is made by those bits alone.
std::string number(double value) {
  constexpr double kLeast = 1e-12, kSmall = 0.1;
  if (std::abs(value) < kSmall) value = std::round(value / kLeast) * kLeast;
  return fmt::format("{:.10g}", value == 0 ? 0.0 : value);  // never "-0"
}
/// Readings of bars are single precision.
std::string number(float value) { return fmt::format("{:.5g}", value); }

std::string word(FactSource source) {
  switch (source) {
    case FactSource::command_line:
      return "command line";
    case FactSource::log:
      return "log";
    case FactSource::path:
      return "path";
    case FactSource::unknown:
      return "unknown";
  }
  return "?";
}
std::string word(IterationUnit unit) {
  switch (unit) {
    case IterationUnit::unknown:
      return "unknown";
    case IterationUnit::micro_step:
      return "micro-step";
    case IterationUnit::epoch:
      return "epoch";
    case IterationUnit::sequence:
      return "sequence";
    case IterationUnit::process_sequence:
      return "sequence of a process";
    case IterationUnit::token:
      return "token";
    case IterationUnit::optimizer_step:
      return "optimizer step";
  }
  return "?";
}
std::string word(MarkKind kind) {
  switch (kind) {
    case MarkKind::checkpoint:
      return "checkpoint";
    case MarkKind::evaluation:
      return "evaluation";
  }
  return "?";
}

/// Text of the log within ours. What others wrote is quoted in a few words only: most collected
/// logs are not ours to copy. The hash shows a change of the rest.
std::string few_words(std::string_view text);

/// "step 3, loss 7.25": what is unknown or empty is left out.
class Fields {
 public:
  Fields& put(std::string_view key, const std::string& text) {
    if (text.empty()) return *this;
    text_ += fmt::format("{}{} {}", text_.empty() ? "" : ", ", key, text);
    return *this;
  }
  Fields& put(std::string_view key, const char* text) { return put(key, std::string(text)); }
  template <std::floating_point T>
  Fields& put(std::string_view key, T value) {
    return std::isnan(value) ? *this : put(key, number(value));
  }
  template <std::integral T>
  Fields& put(std::string_view key, T value) {
    return put(key, fmt::format("{}", value));
  }
  template <class T>
  Fields& put(std::string_view key, const std::optional<T>& value) {
    return value ? put(key, *value) : *this;
  }
  Fields& put(std::string_view key, const std::optional<Interval>& value) {
    if (!value) return *this;
    const auto& [low, high, coverage] = *value;
    return put(key, fmt::format("{} to {} ({})", number(low), number(high), number(coverage)));
  }
  template <class T>
  Fields& put(std::string_view key, const Fact<T>& fact) {
    const auto& [value, source] = fact;
    if (!value) return *this;
    if constexpr (std::same_as<T, std::string>) {
      return put(key, fmt::format("{} ({})", few_words(*value), word(source)));
    } else {
      return put(key, fmt::format("{} ({})", *value, word(source)));
    }
  }
  Fields& put(const std::map<std::string, double>& values) {
    for (const auto& [key, value] : values) put(key, value);
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// FNV-1a, 64 bits (draft-eastlake-fnv): short, and the same everywhere.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
  }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

std::string few_words(std::string_view text) {
  constexpr std::size_t kFewWords = 100;  // bytes
  std::string out = escape_for_terminal(text);
  if (out.size() <= kFewWords) return out;
  Hash hash;
  hash.add(out);
  // A cut within a character would make bytes that are no text.
  std::size_t end = kFewWords;
  while ((static_cast<unsigned char>(out[end]) & 0xC0U) == 0x80U) --end;
  return fmt::format("{}... ({} bytes, {})", out.substr(0, end), out.size(), hash.text());
}

class Page {
 public:
  void line(std::string_view label, const std::string& text) {
    if (!text.empty()) out_ += fmt::format("  {}: {}\n", label, text);
  }
  void line(std::string_view label, const Fields& fields) { line(label, fields.text()); }
  void head(const std::string& text) { out_ += text + "\n"; }

  /// The first and last three of a list, whole lists of six; of longer ones a hash of each `block`
  /// shows where a change is.
  void list(std::string_view label, const std::vector<std::string>& entries, std::size_t block) {
    if (entries.empty()) return;
    constexpr std::size_t kShown = 3;
    out_ += fmt::format("  {}: {}\n", label, entries.size());
    const bool whole = entries.size() <= 2 * kShown;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (whole || i < kShown || i + kShown >= entries.size()) {
        out_ += "    " + entries[i] + "\n";
      } else if (i == kShown) {
        out_ += "    ...\n";
      }
    }
    for (std::size_t i = 0; !whole && i < entries.size(); i += block) {
      Hash hash;
      const std::size_t end = std::min(entries.size(), i + block);
      for (std::size_t k = i; k < end; ++k) hash.add(entries[k] + "\n");
      out_ += fmt::format("    {} to {}: {}\n", i + 1, end, hash.text());
    }
  }
  [[nodiscard]] const std::string& text() const { return out_; }

 private:
  std::string out_;
};

/// "few_records: records 2": the sentence is made of these by one table.
std::string line_of(const Notice& notice) {
  const auto& [code, line, values, log] = notice;
  Fields out;
  out.put("log", log);
  const auto names = value_names(kind_of(code).text);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string key(i < names.size() ? names[i] : "?");
    std::visit(
        [&]<class T>(const T& value) {
          if constexpr (std::same_as<T, std::string>) {
            out.put(key, few_words(value));
          } else {
            out.put(key, value);
          }
        },
        values[i]);
  }
  std::string head(name(code));
  if (line != 0) head += fmt::format(", line {}", line);
  return out.text().empty() ? head : head + ": " + out.text();
}

std::string text_of(const Outcome& outcome) {
  const auto& [status, step, line, details] = outcome;
  Fields more;
  more.put("step", step);
  if (line != 0) more.put("line", line);
  for (const Notice& detail : details) more.put("detail", line_of(detail));
  return std::string(name(status)) + (more.text().empty() ? "" : ", " + more.text());
}

std::string text_of(const Record& record) {
  // Where the line ends (end_byte) follows from its number.
  [[maybe_unused]] const auto& [step, iterations, seconds, time_s, first_time_s, printed_rate,
                                printed_first, loss, rank_spread, bar_s, line, end_byte, merged] =
      record;
  Fields out;
  out.put("step", step).put("iterations", iterations).put("line", line).put("seconds", seconds);
  out.put("time_s", time_s).put("first_time_s", first_time_s).put("printed_rate", printed_rate);
  out.put("printed_first", printed_first).put("loss", loss).put("rank_spread", rank_spread);
  if (!std::ranges::all_of(bar_s, [](float each) { return std::isnan(each); })) {
    std::string readings;
    for (const float each : bar_s) readings += (readings.empty() ? "" : "/") + number(each);
    out.put("bar_s", readings);
  }
  if (merged != 1) out.put("merged", merged);
  return out.text();
}

void write(Page& page, const Facts& facts) {
  const auto& [framework, model, precision, sequence_length, micro_batch_size,
               gradient_accumulation_steps, nodes, gpus_per_node, world_size, global_batch_size,
               axes, versions] = facts;
  // A line for each, so that a difference shows the fact that changed.
  const auto put = [&](const char* key, const auto& fact) {
    if (fact.known()) page.line("fact", Fields().put(key, fact));
  };
  put("framework", framework);
  put("model", model);
  put("precision", precision);
  put("sequence_length", sequence_length);
  put("micro_batch_size", micro_batch_size);
  put("gradient_accumulation_steps", gradient_accumulation_steps);
  put("nodes", nodes);
  put("gpus_per_node", gpus_per_node);
  put("world_size", world_size);
  put("global_batch_size", global_batch_size);
  for (const auto& [key, value] : axes) page.line("axis", Fields().put(key, few_words(value)));
  for (const auto& [key, value] : versions) {
    page.line("version", Fields().put(key, few_words(value)));
  }
}

Fields fields_of(const Totals& totals) {
  const auto& [training_s, wall_s, iterations, optimizer_steps, skipped_steps, first_optimizer_step,
               last_optimizer_step, sequences] = totals;
  Fields out;
  out.put("training_s", training_s).put("wall_s", wall_s).put("iterations", iterations);
  out.put("optimizer_steps", optimizer_steps).put("skipped_steps", skipped_steps);
  out.put("first_optimizer_step", first_optimizer_step);
  return out.put("last_optimizer_step", last_optimizer_step).put("sequences", sequences);
}

Fields bytes_of(std::int64_t peak, std::int64_t capacity) {
  Fields out;
  out.put("peak_bytes", peak);
  return capacity == 0 ? out : out.put("capacity_bytes", capacity);  // 0: unknown
}

void write(Page& page, const RunLog& run) {
  // `path` is the name that text_of_log() gave; nobody watched the logs (arrivals); `planned`
  // decides outcomes and which curves of losses are compared.
  [[maybe_unused]] const auto& [path, format, kind, iteration_unit, rate_unit, facts, records,
                                records_seen, clock_resolution_s, off_clock, clock_is_wall, summary,
                                totals, memory, scores, planned, first_nan_step, outcome, survived,
                                marks, rank_times, parts, counters, stated, notices, first_line,
                                arrivals] = run;
  page.head(fmt::format("{} by {} from line {}", name(kind), format, first_line));
  Fields units;
  units.put("iteration", word(iteration_unit)).put("rate", std::string(name(rate_unit)));
  units.put("clock_resolution_s", clock_resolution_s);
  if (!off_clock.empty()) units.put("off_clock_s", run.off_clock_s());
  page.line("units", units.put("clock", clock_is_wall ? "time stamps" : "elapsed or none"));
  write(page, facts);
  page.line("outcome", text_of(outcome));
  if (survived) page.line("survived", text_of(*survived));
  page.line("first step without a finite loss", Fields().put("step", first_nan_step));
  if (summary) {
    const auto& [value, unit, line] = *summary;
    page.line("closing statement", fmt::format("{} {}, line {}", number(value), name(unit), line));
  }
  page.line("totals", fields_of(totals));
  if (memory) {
    const auto& [peak_bytes, capacity_bytes] = *memory;
    page.line("memory", bytes_of(peak_bytes, capacity_bytes));
  }
  page.line("scores", Fields().put(scores));
  std::vector<std::string> marks_text;
  for (const auto& [mark, line] : marks) {
    marks_text.push_back(fmt::format("{} line {}", word(mark), line));
  }
  page.list("marks", marks_text, marks_text.size());
  std::vector<std::string> parts_text;
  for (const PartTimes& times : parts.items()) {
    Fields of_line;
    of_line.put("line", times.line);
    for (std::size_t i = 0; i < kStepParts; ++i) {
      const double seconds = times.seconds[i];
      if (!std::isnan(seconds)) of_line.put(std::string(kStepPartNames[i]).c_str(), seconds);
    }
    parts_text.push_back(of_line.text());
  }
  page.list("parts", parts_text, 64);
  for (const Notice& notice : notices) page.line("notice", line_of(notice));
  constexpr std::size_t kBlock = 64;
  std::vector<std::string> lines;
  lines.reserve(records.size());
  for (const Record& record : records) lines.push_back(text_of(record));
  if (records_seen != static_cast<std::int64_t>(records.size())) {
    page.line("records seen", fmt::format("{}", records_seen));
  }
  page.list("records", lines, kBlock);
}

void write(Page& page, const TimeRecord& time) {
  const auto& [total_s, parts_s, timeline] = time;
  page.line("trial time", Fields().put("total_s", total_s).put(parts_s));
  std::vector<std::string> spans;
  for (const auto& [part, begin_s, end_s] : timeline) {
    spans.push_back(fmt::format("{} {} to {} s", part, number(begin_s), number(end_s)));
  }
  page.list("trial time line", spans, std::max<std::size_t>(spans.size(), 1));
}

std::string text_of(const RankRecord::Rank& one) {
  const auto& [rank, node, own_s, ratio, windows, slow, slowest] = one;
  Fields out;
  out.put("rank", rank).put("node", few_words(node)).put("own_s", own_s).put("ratio", ratio);
  return out.put("windows", windows).put("slow", slow).put("slowest", slowest).text();
}

void write(Page& page, const RankRecord& record) {
  const auto& [ranks, first_step, last_step, spread, slowest, stragglers, nodes, steps, rows] =
      record;
  Fields head;
  head.put("ranks", ranks).put("first_step", first_step).put("last_step", last_step);
  page.line("trial ranks", head.put("spread", spread));
  page.line("slowest rank", text_of(slowest));
  for (const auto& one : stragglers) page.line("straggler", text_of(one));
  for (const auto& [node, count, min_s, median_s, max_s] : nodes) {
    Fields out;
    out.put("node", few_words(node)).put("ranks", count).put("min_s", min_s);
    page.line("node", out.put("median_s", median_s).put("max_s", max_s));
  }
  for (const auto& [rank, ratio] : rows) {
    std::string text;
    for (std::size_t i = 0; i < ratio.size(); ++i) {
      text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", steps[i], number(ratio[i]));
    }
    page.line(fmt::format("rank {} to step", rank), text);
  }
}

/// What an estimator gave, on one line with what is known of its error.
void write_estimates(Page& page, const Trial& trial) {
  std::set<std::string> names;
  for (const auto* map : {&trial.estimators, &trial.resolution, &trial.expected_error}) {
    for (const auto& [name, value] : *map) names.insert(name);
  }
  for (const std::string& name : names) {
    Fields out;
    const auto put = [&](const char* key, const std::map<std::string, double>& values) {
      if (const auto found = values.find(name); found != values.end()) out.put(key, found->second);
    };
    put("rate", trial.estimators);
    put("resolution", trial.resolution);
    put("expected_error", trial.expected_error);
    page.line("trial estimate " + name, out);
  }
}

void write_parts(Page& page, const Trial& trial) {
  if (trial.reconciliation) {
    const auto& [sequences, training_s, wall_s, rate, gaps] = *trial.reconciliation;
    Fields out;
    out.put("sequences", sequences).put("training_s", training_s).put("wall_s", wall_s);
    page.line("trial reconciliation", out.put("rate", rate));
    page.line("trial gaps", Fields().put(gaps));
  }
  if (trial.step_time) {
    const auto& [p50, p90, p99] = *trial.step_time;
    page.line("trial step time", Fields().put("p50", p50).put("p90", p90).put("p99", p99));
  }
  Fields parts;
  for (const auto& [part, record] : trial.parts) parts.put(part.c_str(), record.p50);
  page.line("trial parts p50", parts);
  if (trial.steady_state) {
    const auto& [state, first_step, change] = *trial.steady_state;
    Fields out;
    out.put("state", std::string(name(state))).put("first_step", first_step);
    page.line("trial steady state", out.put("change", change));
  }
  if (trial.periodic) {
    const auto& [work, without] = *trial.periodic;
    const auto& [period, phase, count, extra_s, share] = work;
    Fields out;
    out.put("period", period).put("phase", phase).put("count", count).put("extra_s", extra_s);
    page.line("trial periodic work", out.put("share", share).put("rate_without", without));
  }
  if (trial.time_parts) write(page, *trial.time_parts);
  if (trial.ranks) write(page, *trial.ranks);
  if (trial.memory) {
    const auto& [peak_bytes, capacity_bytes, source] = *trial.memory;
    page.line("trial memory", bytes_of(peak_bytes, capacity_bytes).put("source", source));
  }
}

void write(Page& page, const MeasuredLog& measured, const RunLog& run) {
  const auto& [identity, kind, whole_trial, numbered, tree, world_size, global_batch_size, gpu] =
      measured;
  // key() holds all other members.
  [[maybe_unused]] const auto& [framework, model, precision, sequence_length, micro_batch_size,
                                gradient_accumulation_steps, nodes, gpus_per_node, axes] = identity;
  Fields cell;
  cell.put("framework", framework).put("kind", std::string(name(kind))).put("tree", tree);
  cell.put("world_size", world_size).put("global_batch_size", global_batch_size);
  page.line("cell " + escape_for_terminal(identity.key()), cell.put("gpu", few_words(gpu)));
  // Those that are unused here are written by write_estimates() and write_parts().
  [[maybe_unused]] const auto& [trial, attempt, block, log, format, outcome, iterations,
                                skipped_steps, window, sequences_per_second, tokens_per_second,
                                iterations_per_second, epochs_per_second, estimator, estimators,
                                resolution, expected_error, reconciliation, step_time,
                                rate_interval, steady_state, periodic, time_parts, ranks, memory,
                                telemetry, energy_j, energy_per_sequence_j, loss, parts, stated,
                                simulated, seed, scores, iterations_file, notices] = whole_trial;
  const auto& [rule, chosen_by, covered, first_step, last_step] = window;
  Fields used;
  used.put("rule", rule).put("chosen_by", chosen_by).put("covered", covered);
  page.line("trial window", used.put("first_step", first_step).put("last_step", last_step));
  const auto& [seen, dropped, in_use] = iterations;
  Fields head;
  head.put("records", seen).put("dropped", dropped).put("used", in_use);
  head.put("skipped_steps", skipped_steps).put("loss_first", loss ? loss->first : std::nullopt);
  head.put("loss_last", loss ? loss->last : std::nullopt).put("seed", seed);
  if (numbered) head.put("trial", trial);
  if (attempt != 1) head.put("attempt", attempt);
  if (simulated) head.put("simulated", simulated);
  if (log != run.path) head.put("log", few_words(log));
  if (format != run.format) head.put("format", format);
  if (scores != run.scores) head.put("scores:", Fields().put(scores).text());
  head.put("energy_j", energy_j).put("energy_per_sequence_j", energy_per_sequence_j);
  head.put("iterations_file", iterations_file);
  if (!telemetry.is_null()) head.put("telemetry", telemetry->dump());
  page.line("trial", head);
  page.line("trial states of one GPU", Fields().put(stated));
  if (outcome != run.outcome) page.line("trial outcome", text_of(outcome));
  Fields rate;
  rate.put("sequences_per_second", sequences_per_second);
  rate.put("tokens_per_second", tokens_per_second);
  rate.put("iterations_per_second", iterations_per_second);
  rate.put("epochs_per_second", epochs_per_second).put("estimator", estimator);
  page.line("trial rate", rate.put("interval", rate_interval));
  write_estimates(page, whole_trial);
  write_parts(page, whole_trial);
  // Those of the run stand above.
  for (const Notice& notice : notices) {
    if (std::ranges::count(run.notices, notice) == 0) page.line("trial notice", line_of(notice));
  }
  for (const Notice& notice : run.notices) {
    if (std::ranges::count(notices, notice) == 0) {
      page.line("notice that the trial lacks", line_of(notice));
    }
  }
}

std::string with_name(std::string text, const std::string& file, const std::string& name) {
  for (std::size_t at = text.find(file); at != std::string::npos; at = text.find(file, at)) {
    text.replace(at, file.size(), name);
    at += name.size();
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view line : split(text, '\n')) out.emplace_back(line);
  if (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

}  // namespace

std::string text_of_log(const std::string& file, const std::string& name) {
  auto runs = read_log(file, {});
  if (!runs) return with_name(runs.error().message(), file, name) + "\n";
  std::string out;
  for (RunLog& run : *runs) {
    run.path = name;
    for (Notice& notice : run.notices) {
      notice.log = with_name(notice.log, file, name);
      for (NoticeValue& value : notice.values) {
        if (auto* text = std::get_if<std::string>(&value)) *text = with_name(*text, file, name);
      }
    }
    Page page;
    write(page, run);
    write(page, measure_log(run, {}), run);
    out += (out.empty() ? "" : "\n") + page.text();
  }
  return out;
}

std::string changed_lines(const std::string& before, const std::string& after, std::size_t most) {
  const std::vector<std::string> a = lines_of(before), b = lines_of(after);
  std::size_t head = 0, tail = 0;
  while (head < std::min(a.size(), b.size()) && a[head] == b[head]) ++head;
  while (tail < std::min(a.size(), b.size()) - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) {
    ++tail;
  }
  const std::size_t n = a.size() - head - tail, m = b.size() - head - tail;
  // Lengths of the longest common subsequence of what is left of both; a long middle, where the
  // table would be large, counts as changed from its first line to its last.
  constexpr std::size_t kTable = 4'000'000;
  std::vector<std::uint32_t> common;
  const auto at = [&](std::size_t i, std::size_t k) -> std::uint32_t& {
    return common[i * (m + 1) + k];
  };
  const bool small = (n + 1) * (m + 1) <= kTable;
  if (small) {
    common.assign((n + 1) * (m + 1), 0);
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = m; k-- > 0;) {
        at(i, k) = a[head + i] == b[head + k] ? at(i + 1, k + 1) + 1
                                              : std::max(at(i + 1, k), at(i, k + 1));
      }
    }
  }
  std::string out;
  std::size_t shown = 0;
  const auto show = [&](char sign, const std::string& line) {
    if (++shown <= most) out += sign + line + "\n";
  };
  bool in_change = false;
  for (std::size_t i = 0, k = 0; i < n || k < m;) {
    if (small && i < n && k < m && a[head + i] == b[head + k]) {
      in_change = false;
      ++i, ++k;
      continue;
    }
    if (!in_change && head + i > 0) show(' ', a[head + i - 1]);
    in_change = true;
    if (i < n && (k == m || !small || at(i + 1, k) >= at(i, k + 1))) {
      show('-', a[head + i++]);
    } else {
      show('+', b[head + k++]);
    }
  }
  if (shown > most) out += fmt::format("  ... and {} lines more\n", shown - most);
  return out;
}

}  // namespace bertbench::truth
