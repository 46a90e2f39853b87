#include "harness/sweep/execute/batch_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/sweep/config/axes.h"

namespace bertbench {
namespace {

constexpr std::int64_t kProbeSteps = 2;  // the second one finds the optimizer's state in place

bool asks(const PlannedCell& cell) {
  const auto it = cell.point.find("micro_batch_size");
  return it != cell.point.end() && it->second == kLargestBatch;
}

/// Notices of a probe's run folder (other batches lie there too) are not for the user.
class ProbeObserver : public SweepObserver {
 public:
  void plan_ready(const Plan&, const SweepCounts& counts) override {
    remembered = counts.to_run == 0;
  }
  bool remembered = false;
};

class Search {
 public:
  Search(const Plan& plan, std::size_t cell, const SweepOptions& options, SweepObserver& observer)
      : plan_(plan), cell_(cell), options_(options), observer_(observer) {
    options_.out = (std::filesystem::path(options.out) / "batch_search").string();
  }

  bool interrupted = false;

  Result<Probe> probe(std::int64_t batch) {
    Plan one = plan_;
    one.cells = {plan_.cells[cell_]};
    set_micro_batch(one, 0, batch);
    one.cells[0].warnings.clear();
    one.trials = {{0, 1}};
    one.config.trials = 1;
    one.config.auto_trials = false;
    one.config.retries = 0;
    one.config.steps = one.cells[0].steps = kProbeSteps;
    one.config.window = WindowRule{WindowRule::Kind::all, 0, 0, true};
    ProbeObserver heard;
    const auto outcome = run_planned(one, options_, heard);
    if (!outcome) return tl::unexpected(outcome.error());
    if (outcome->interrupted) {
      interrupted = true;
      return Probe{Fit::failed, "interrupted"};
    }
    Probe out{Fit::failed, "gave no result"};
    if (!outcome->result.cells.empty() && !outcome->result.cells.front().trials.empty()) {
      const Trial& trial = outcome->result.cells.front().trials.back();
      out.detail = detail_text(trial.outcome);
      if (trial.outcome.status == Status::out_of_memory) {
        out.fit = Fit::out_of_memory;
      } else if (!is_failure(trial.outcome.status) && trial.window.covered) {
        out.fit = Fit::fits;
      } else if (out.detail.empty()) {
        out.detail = name(trial.outcome.status);
      }
    }
    if (!heard.remembered) {
      observer_.notice(fmt::format(
          "batch search, {}: {} {}", plan_.cells[cell_].key, batch,
          out.fit == Fit::fits
              ? "fits"
              : (out.fit == Fit::out_of_memory ? "is out of memory" : "failed: " + out.detail)));
    }
    return out;
  }

 private:
  const Plan& plan_;
  std::size_t cell_;
  SweepOptions options_;
  SweepObserver& observer_;
};

std::string found_text(const LargestBatch& found) {
  if (found.fits == 0) {
    return "micro_batch_size max: not even 1 fits; " + found.why;
  }
  if (!found.does_not) {
    return fmt::format("micro_batch_size max: {} by search{}", found.fits,
                       found.why.empty() ? ", no larger one was tried" : "; " + found.why);
  }
  return fmt::format("micro_batch_size max: {} by search, {} is out of memory{}", found.fits,
                     *found.does_not, found.why.empty() ? "" : ": " + found.why);
}

}  // namespace

Result<LargestBatch> search_batch(const std::function<Result<Probe>(std::int64_t)>& probe,
                                  std::int64_t most) {
  LargestBatch found;
  std::int64_t next = 1;
  while (next > found.fits && (!found.does_not || next < *found.does_not)) {
    const auto tried = probe(next);
    if (!tried) return tl::unexpected(tried.error());
    ++found.probes;
    if (tried->fit == Fit::failed) {
      found.why = fmt::format("the probe of {} failed ({})", next, tried->detail);
      break;
    }
    if (tried->fit == Fit::fits) {
      found.fits = next;
    } else {
      found.does_not = next;
      found.why = tried->detail;
    }
    next = found.does_not ? found.fits + (*found.does_not - found.fits) / 2
                          : std::min(most, 2 * found.fits);
  }
  return found;
}

bool needs_batch_search(const Plan& plan) {
  return std::ranges::any_of(
      plan.trials, [&](const PlannedTrial& trial) { return asks(plan.cells[trial.cell]); });
}

Result<std::optional<Plan>> resolve_batches(const Plan& plan, const SweepOptions& options,
                                            SweepObserver& observer) {
  Plan out = plan;
  std::set<std::string> keys;
  for (const auto& cell : plan.cells) {
    if (!asks(cell)) keys.insert(cell.key);
  }
  std::set<std::size_t> selected, dropped;
  for (const auto& trial : plan.trials) {
    if (asks(plan.cells[trial.cell])) selected.insert(trial.cell);
  }
  for (const std::size_t cell : selected) {
    Search search(plan, cell, options, observer);
    const auto found = search_batch([&](std::int64_t batch) { return search.probe(batch); });
    if (!found) return tl::unexpected(found.error());
    if (search.interrupted) return std::nullopt;
    // Where nothing fits, 1 is measured: its failure is the row that the report shows.
    Identity identity = plan.cells[cell].identity;
    identity.micro_batch_size = std::max<std::int64_t>(1, found->fits);
    if (!keys.insert(identity.key()).second) {
      observer.notice(fmt::format("{}: the largest batch is {}, a cell of the grid already",
                                  plan.cells[cell].key, found->fits));
      dropped.insert(cell);
      continue;
    }
    set_micro_batch(out, cell, *identity.micro_batch_size);
    out.cells[cell].warnings.push_back(make_notice(NoticeCode::batch_found, 0, found_text(*found)));
  }
  std::erase_if(out.trials,
                [&](const PlannedTrial& trial) { return dropped.contains(trial.cell); });
  if (out.trials.empty()) {
    return fail("batch search", "leaves no cell to measure", "add cells to the grid");
  }
  return out;
}

}  // namespace bertbench
