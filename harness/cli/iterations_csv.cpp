#include "harness/cli/iterations_csv.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "reports/measure/deduced_facts.h"
#include "reports/output/iterations.h"

namespace bertbench {
namespace {

// Sequences of the whole job per iteration as the log counts them.
std::optional<std::int64_t> sequences_of(const RunLog& log, const Facts& given) {
  std::vector<Notice> said_elsewhere;  // measuring reports disagreements already
  const Facts known = merge_facts(given, log.facts, said_elsewhere);
  const Facts facts = merge_facts(known, facts_from_path(log.path).facts, said_elsewhere);
  return sequences_per_iteration(facts, log.iteration_unit);
}

Error spool_error() {
  return {"--iterations", fmt::format("no temporary file: {}", std::strerror(errno)),
          "free some space in the temporary folder or set TMPDIR"};
}

}  // namespace

IterationsCsv::IterationsCsv(Facts given)
    : given_(std::move(given)), rows_(open_temporary_file()) {}

Result<void> IterationsCsv::add(const RunLog& log) {
  if (!rows_) return tl::unexpected(spool_error());
  const auto sequences = sequences_of(log, given_);
  std::string text;
  std::size_t bytes = 0;
  const auto spool = [&] {
    bytes += text.size();
    const bool written = std::fwrite(text.data(), 1, text.size(), rows_.get()) == text.size();
    text.clear();
    return written;
  };
  for (const Record& record : log.records) {
    append_iteration(text, record, sequences, log.rate_unit);
    if (text.size() > (1U << 16U) && !spool()) return tl::unexpected(spool_error());
  }
  if (!spool()) return tl::unexpected(spool_error());
  runs_.push_back({log.path, log.kind, bytes, std::nullopt});
  return {};
}

void IterationsCsv::join(const std::vector<std::size_t>& runs) {
  for (std::size_t i = 1; i < runs.size(); ++i) runs_[runs[i]].part_of = runs.front();
}

Result<void> IterationsCsv::write(const ResultSet& set, std::ostream& out) {
  // Runs of one file are distinguished by their order, which grouping keeps.
  std::map<std::pair<std::string, WorkKind>, std::vector<int>> trials;
  for (const Cell& cell : set.cells) {
    for (const Trial& trial : cell.trials) trials[{trial.log, cell.kind}].push_back(trial.trial);
  }
  std::map<std::pair<std::string, WorkKind>, std::size_t> used;
  out << kIterationsHeader;
  if (!rows_) return tl::unexpected(spool_error());
  if (std::fflush(rows_.get()) != 0) return tl::unexpected(spool_error());
  std::rewind(rows_.get());
  std::vector<std::string> number_of;  // of each run's trial
  for (const Run& run : runs_) {
    number_of.emplace_back();
    if (run.part_of) continue;
    const std::pair id{run.path, run.kind};
    const std::vector<int>& numbers = trials[id];
    const std::size_t which = used[id]++;
    if (which < numbers.size()) number_of.back() = std::to_string(numbers[which]);
  }
  std::string line;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const Run& run = runs_[i];
    const std::string prefix = iterations_prefix(run.path, number_of[run.part_of.value_or(i)]);
    std::size_t left = run.bytes;
    while (left > 0) {
      line.clear();
      for (int c = 0; left > 0 && c != '\n'; --left) {
        c = std::getc(rows_.get());
        if (c == EOF) return tl::unexpected(spool_error());
        line += static_cast<char>(c);
      }
      out << prefix << line;
    }
  }
  return {};
}

}  // namespace bertbench
