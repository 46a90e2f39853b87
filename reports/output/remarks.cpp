#include "reports/output/remarks.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "parsers/core/text.h"
#include "reports/output/cell_table.h"
#include "reports/output/value_text.h"

namespace bertbench {
namespace {

/// "took 1.49 of 2 cores" -> "took # of # cores"
std::string without_numbers(std::string text) {
  static const RE2 kNumber("[0-9][0-9.]*", RE2::Latin1);
  RE2::GlobalReplace(&text, kNumber, "#");
  return text;
}

/// Its numbers are the measurement itself, which no other line of the output has.
bool is_answer(NoticeCode code) {
  return code == NoticeCode::collective_bandwidth || code == NoticeCode::mean_bus_bandwidth ||
         code == NoticeCode::window_of_tool || code == NoticeCode::window_of_tool_empty;
}

// Notices that differ in numbers alone: of one code and one wording.
std::string like_of(const Notice& notice) {
  std::string out(name(notice.code));
  if (is_answer(notice.code)) return out + text_of(notice);
  for (const NoticeValue& value : notice.values) {
    if (const auto* text = std::get_if<std::string>(&value)) out += "\n" + without_numbers(*text);
  }
  return out;
}

constexpr long long kPlacesNamed = 3;        // lines or logs of a group
constexpr std::size_t kWordingsOfACode = 3;  // groups of one code; what is more is counted

/// Notices of one code and wording, as far as they have come.
struct NoticeGroup {
  Notice first;
  bool same = true, one_cell = true;
  long long notices = 0, trials = 0, logs = 0, places = 0;
  std::optional<std::size_t> cell;  ///< cell, trial and log: of the newest notice
  int trial = 0;
  std::optional<std::string> log;
  std::set<std::int64_t> lines;                             ///< of `log`
  std::vector<std::pair<std::string, std::int64_t>> named;  ///< the first places, log and line

  void add(const Notice& notice, const std::string& its_log, std::size_t its_cell, int its_trial) {
    ++notices;
    same = same && notice.values == first.values;
    one_cell = one_cell && cell.value_or(its_cell) == its_cell;
    if (cell != its_cell || trial != its_trial) ++trials;
    // Runs that stand in one log, one after the other, often have the same notice of it.
    if (log != its_log) {
      ++logs;
      lines.clear();
    }
    cell = its_cell;
    trial = its_trial;
    log = its_log;
    if (!lines.insert(notice.line).second) return;
    if (++places <= kPlacesNamed) named.emplace_back(its_log, notice.line);
  }

  [[nodiscard]] std::string text(std::string who) const {
    if (!same) who += who.empty() ? fmt::format("{} times, such as", notices) : ", such as";
    Notice what = first;
    what.log.clear();  // its place names it
    return (who.empty() ? "" : who + ": ") + text_of(what);
  }
};

class NoticeGroups {
 public:
  void add(const Notice& notice, const std::string& trials_log, std::size_t cell, int trial) {
    const std::string like = like_of(notice);
    auto at = index_.find(like);
    if (at == index_.end()) {
      if (!is_answer(notice.code) && ++wordings_[notice.code] > kWordingsOfACode) {
        ++more_;
        return;
      }
      at = index_.emplace(like, groups_.size()).first;
      groups_.emplace_back().first = notice;
    }
    groups_[at->second].add(notice, notice.log.empty() ? trials_log : notice.log, cell, trial);
  }

  [[nodiscard]] const std::vector<NoticeGroup>& all() const { return groups_; }
  [[nodiscard]] long long more() const { return more_; }

 private:
  std::vector<NoticeGroup> groups_;
  std::unordered_map<std::string, std::size_t> index_;
  std::map<NoticeCode, std::size_t> wordings_;
  long long more_ = 0;
};

// "line 7", "lines 3, 9, 14", "12 lines (3, 9, 14 ...)"; of the log as a whole "4 trials" or
// nothing.
std::string lines_text(const NoticeGroup& group) {
  std::vector<std::int64_t> lines;
  for (const auto& [log, line] : group.named) {
    if (line > 0) lines.push_back(line);
  }
  if (lines.empty()) return group.trials > 1 ? counted(group.trials, "trial") : "";
  const std::string numbers = fmt::format("{}", fmt::join(lines, ", "));
  if (group.places > kPlacesNamed) return fmt::format("{} lines ({} ...)", group.places, numbers);
  return (lines.size() == 1 ? "line " : "lines ") + numbers;
}

// "a.log:7", "a.log:7, b.log", "a.log, 12 lines (3, 9, 14 ...)", "1n2g, 6 trials".
std::string logs_text(const NoticeGroup& group, const std::string& cell) {
  if (group.logs == 1 && (group.places > 1 || group.trials > 1)) {
    return fmt::format("{}, {}", place_name(*group.log), lines_text(group));
  }
  if (group.places > kPlacesNamed) {
    return (cell.empty() ? "" : cell + ", ") + counted(group.trials, "trial");
  }
  std::string out;
  for (const auto& [log, line] : group.named) {
    out += fmt::format("{}{}", out.empty() ? "" : ", ", place_name(log));
    if (line > 0) out += fmt::format(":{}", line);
  }
  return out;
}

}  // namespace

bool is_warmup_included(const Notice& notice) {
  if (notice.code != NoticeCode::few_records || notice.values.size() < 2) return false;
  // Its second value is what is known of a slow first record; a foreign file may hold a number.
  const auto* slow_first = std::get_if<std::string>(&notice.values[1]);
  return slow_first != nullptr && slow_first->empty();
}

std::string Remark::who() const {
  std::string out = cell;
  if (trial > 0) out += fmt::format(", trial {}", trial);
  if (line > 0) out += fmt::format(", line {}", line);
  return out;
}

std::vector<Remark> remarks_of(const ResultSet& set) {
  const std::vector<std::string> names = short_names(set);
  std::vector<Remark> out;
  for (std::size_t i = 0; i < set.cells.size(); ++i) {
    for (const Notice& warning : set.cells[i].warnings) {
      out.push_back({Remark::Kind::warning, names[i], 0, 0, text_of(warning), like_of(warning)});
    }
    for (const Trial& trial : set.cells[i].trials) {
      const Outcome& outcome = trial.outcome;
      if (is_failure(outcome.status)) {
        std::string text(name(outcome.status));
        if (outcome.step) text += fmt::format(" at step {}", *outcome.step);
        if (const auto more = more_than_name(outcome); !more.empty()) text += ": " + more;
        if (!trial.log.empty()) {
          text += " (" + trial.log;
          if (outcome.line > 0) text += fmt::format(", line {}", outcome.line);
          text += ")";
        }
        std::string like = without_numbers(text);
        out.push_back(
            {Remark::Kind::failure, names[i], trial.trial, 0, std::move(text), std::move(like)});
      }
      for (const Notice& notice : trial.notices) {
        out.push_back({Remark::Kind::notice, names[i], trial.trial, notice.line, text_of(notice),
                       like_of(notice)});
      }
    }
  }
  return out;
}

std::string RemarkGroup::summary() const {
  const Remark& first = remarks.front();
  if (remarks.size() == 1) return first.who() + ": " + first.text;
  const bool same =
      std::ranges::all_of(remarks, [&](const Remark& remark) { return remark.text == first.text; });
  std::set<std::string> cells;
  for (const Remark& remark : remarks) cells.insert(remark.cell);
  const bool of_cells = first.kind == Remark::Kind::warning;
  const auto counted_as = [](std::size_t n, const char* what) {
    return counted(static_cast<long long>(n), what);
  };
  std::string who = of_cells ? counted_as(cells.size(), "cell") : counted_as(trials(), "trial");
  if (cells.size() == 1) who = of_cells ? first.cell : first.cell + ", " + who;
  return fmt::format("{}{}: {}", who, same ? "" : ", such as", first.text);
}

std::size_t RemarkGroup::trials() const {
  std::set<std::pair<std::string, int>> all;
  for (const Remark& remark : remarks) all.emplace(remark.cell, remark.trial);
  return all.size();
}

std::vector<RemarkGroup> grouped_remarks(const ResultSet& set) {
  std::vector<RemarkGroup> groups;
  std::map<std::pair<Remark::Kind, std::string>, std::size_t> index;
  for (Remark& remark : remarks_of(set)) {
    const auto [found, added] = index.emplace(std::pair(remark.kind, remark.like), groups.size());
    if (added) groups.emplace_back();
    groups[found->second].remarks.push_back(std::move(remark));
  }
  std::ranges::stable_sort(groups, {}, [](const RemarkGroup& g) { return g.remarks.front().kind; });
  return groups;
}

std::vector<std::string> notice_lines(const CellSource& cells, bool windows_shown) {
  NoticeGroups of_trials, of_cells;
  std::optional<std::string> log;
  bool one_log = true;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells.each_trial(i, [&](const Trial& trial) {
      one_log = one_log && trial.log == log.value_or(trial.log);
      log = trial.log;
      for (const Notice& notice : trial.notices) {
        if (windows_shown && is_warmup_included(notice)) continue;
        of_trials.add(notice, trial.log, i, trial.trial);
      }
    });
    for (const Notice& warning : cells.cell(i).warnings) {
      // Of a single trial its outcome shows why there is no number.
      if (cells.trials(i) == 1 && warning.code == NoticeCode::trials_without_number) continue;
      of_cells.add(warning, "", i, 0);  // a trial each, so that `trials` counts cells
    }
  }
  std::vector<std::string> out, names;
  for (const NoticeGroup& group : of_trials.all()) {
    const bool within_a_cell = group.one_cell && cells.size() > 1 && group.places > kPlacesNamed;
    if (within_a_cell && names.empty()) names = short_names(cells);
    const std::string who = one_log && group.first.log.empty()
                                ? lines_text(group)
                                : logs_text(group, within_a_cell ? names[*group.cell] : "");
    out.push_back(group.text(who));
  }
  for (const NoticeGroup& group : of_cells.all()) {
    out.push_back(group.text(group.trials > 1    ? counted(group.trials, "cell")
                             : cells.size() == 1 ? ""
                                                 : cells.cell(*group.cell).key));
  }
  if (const long long more = of_trials.more() + of_cells.more(); more > 0) {
    out.push_back(text_of(make_notice(NoticeCode::more_notices, 0, counted(more, "notice"))));
  }
  return out;
}

namespace {

constexpr int kTrialsToTrust = 5;
constexpr double kSmallCv = 0.05;     // cv beyond which medians differ by chance as well
constexpr double kMostCv = 0.2;       // cv beyond which a median means nothing
constexpr double kFailedShare = 0.5;  // from it on what was measured is not what runs through
constexpr double kUnsteadyShare =
    0.1;  // change points err too: a few trials of many are no finding

struct Seen {
  int least = 0, measured = 0, unmeasured = 0, warned = 0;
  const Cell* noisiest = nullptr;
  int judged = 0, unsteady = 0;  ///< trials whose iteration times were looked at
  int watched = 0, marked = 0;   ///< trials with telemetry
};

void look_at(const Trial& trial, Seen& seen) {
  if (!trial.counts()) return;
  if (trial.steady_state) {
    ++seen.judged;
    const Steadiness state = trial.steady_state->state;
    seen.unsteady += state == Steadiness::no_steady_state || state == Steadiness::slow_down;
  }
  if (!trial.telemetry.is_object()) return;
  // A probe of the machine's speed alone shows no neighbour.
  if (trial.telemetry->size() == 1 && trial.telemetry->contains("probe")) return;
  ++seen.watched;
  const auto marks = trial.telemetry->find("marks");
  seen.marked += marks != trial.telemetry->end() && marks->is_array() && !marks->empty();
}

Seen look_at(const ResultSet& set) {
  Seen seen;
  for (const Cell& cell : set.cells) {
    seen.warned += !cell.warnings.empty();
    for (const Trial& trial : cell.trials) look_at(trial, seen);
    if (!cell.throughput.median) {
      ++seen.unmeasured;
      continue;
    }
    const int n = cell.throughput.n;
    seen.least = seen.measured++ == 0 ? n : std::min(seen.least, n);
    const auto& cv = cell.throughput.cv;
    if (cv && (seen.noisiest == nullptr || *cv > *seen.noisiest->throughput.cv)) {
      seen.noisiest = &cell;
    }
  }
  return seen;
}

ResultCheck spread(const Seen& seen) {
  if (seen.noisiest == nullptr) return {false, "no spread is known: one trial in a cell", false};
  const double worst = *seen.noisiest->throughput.cv;
  std::string text = "largest spread (cv) " + percent_text(worst);
  if (worst > kSmallCv) text += ": " + seen.noisiest->key;
  return {worst <= kSmallCv, std::move(text), worst > kMostCv};
}

}  // namespace

std::vector<ResultCheck> result_checks(const ResultSet& set) {
  const Provenance made = provenance(set);
  const Seen seen = look_at(set);
  if (seen.measured == 0) return {{false, "no cell has a number", true}};
  std::vector<ResultCheck> out;
  const auto add = [&](bool good, std::string text) { out.push_back({good, std::move(text)}); };
  const bool all = seen.unmeasured == 0;
  add(all,
      all ? "every cell has a number" : counted(seen.unmeasured, "cell") + " without a number");
  const std::string least = counted(seen.least, "trial");
  add(seen.least >= kTrialsToTrust,
      seen.least >= kTrialsToTrust
          ? fmt::format("at least {} in {}", least, all ? "a cell" : "each cell with a number")
          : fmt::format("as few as {} in a cell; {} or more show the noise", least,
                        kTrialsToTrust));
  out.push_back(spread(seen));
  if (seen.judged > 0) {
    const bool steady = seen.unsteady <= kUnsteadyShare * seen.judged;
    add(steady, steady ? "iteration times are steady"
                       : fmt::format("{} of {} changed speed on the way", seen.unsteady,
                                     counted(seen.judged, "trial")));
  }
  if (seen.watched > 0) {
    add(seen.marked == 0, seen.marked == 0
                              ? "no trial shared its machine or was throttled"
                              : fmt::format("{} of {} shared the machine or were throttled",
                                            seen.marked, counted(seen.watched, "trial")));
  }
  out.push_back({made.failed == 0,
                 made.failed == 0
                     ? counted(made.trials, "trial") + ", none failed"
                     : fmt::format("{} of {} failed", made.failed, counted(made.trials, "trial")),
                 made.failed >= kFailedShare * made.trials});
  if (made.retried > 0) add(false, counted(made.retried, "trial") + " retried");
  if (made.estimators.size() > 1) {
    add(false, fmt::format("{} estimators are mixed", made.estimators.size()));
  }
  if (seen.warned > 0) add(false, "warnings on " + counted(seen.warned, "cell"));
  if (made.simulated) add(false, "simulated: no cluster was measured");
  if (made.emulated) add(false, "stand-ins: no statement about GPUs");
  return out;
}

}  // namespace bertbench
