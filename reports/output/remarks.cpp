#include "reports/output/remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "parsers/core/text.h"
#include "reports/output/cell_table.h"

namespace bertbench {
namespace {

/// The text with each number as one '#': "took 1.49 of 2 cores" -> "took # of # cores".
std::string without_numbers(std::string_view text) {
  std::string out;
  bool number = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(number && c == '.')) out += c;
    if (digit && !number) out += '#';
    number = digit || (number && c == '.');
  }
  return out;
}

// Notices that differ in numbers alone: of one code and one wording.
std::string like_of(const Notice& notice) {
  std::string out(name(notice.code));
  for (const NoticeValue& value : notice.values) {
    if (const auto* text = std::get_if<std::string>(&value)) out += "\n" + without_numbers(*text);
  }
  return out;
}

bool same_text(const Notice& a, const Notice& b) {
  return a.code == b.code && a.values == b.values && a.log == b.log;
}

}  // namespace

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
        if (!outcome.details.empty()) text += ": " + detail_text(outcome);
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

CommonNotices::CommonNotices(const CellSource& cells, std::size_t at_least) {
  struct Group {
    Notice first;
    std::size_t trials = 0, cell = 0, last_cell = 0;
    int last_trial = 0;
    bool same = true, one_cell = true;
    std::vector<std::size_t> cells;  // while they may be too few trials
  };
  std::vector<Group> groups;
  std::unordered_map<std::string, std::size_t> index;
  const auto group_of = [&](const Notice& notice) {
    const auto [at, fresh] = index.emplace(like_of(notice), groups.size());
    if (fresh) groups.emplace_back().first = notice;
    return at->second;
  };
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells.each_trial(i, [&](const Trial& trial) {
      for (const Notice& notice : trial.notices) {
        Group& group = groups[group_of(notice)];
        if (group.trials == 0) group.cell = i;
        group.same = group.same && same_text(notice, group.first);
        group.one_cell = group.one_cell && i == group.cell;
        if (group.trials > 0 && group.last_cell == i && group.last_trial == trial.trial) continue;
        if (++group.trials < at_least) {
          group.cells.push_back(i);
        } else {
          group.cells = {};
        }
        group.last_cell = i;
        group.last_trial = trial.trial;
      }
    });
  }
  std::vector<std::string> names;
  for (const Group& group : groups) {
    cells_of_others_.insert(cells_of_others_.end(), group.cells.begin(), group.cells.end());
    if (group.trials < at_least) continue;
    likes_.insert(like_of(group.first));
    std::string who = counted(static_cast<long long>(group.trials), "trial");
    if (group.one_cell) {
      if (names.empty()) names = short_names(cells);
      who = names[group.cell] + ", " + who;
    }
    summaries_.push_back(
        fmt::format("{}{}: {}", who, group.same ? "" : ", such as", text_of(group.first)));
  }
  std::ranges::sort(cells_of_others_);
  const auto doubles = std::ranges::unique(cells_of_others_);
  cells_of_others_.erase(doubles.begin(), doubles.end());
}

bool CommonNotices::contain(const Notice& notice) const {
  return !likes_.empty() && likes_.contains(like_of(notice));
}

}  // namespace bertbench
