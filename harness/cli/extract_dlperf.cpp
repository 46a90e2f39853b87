#include "harness/cli/extract_dlperf.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "parsers/input/input.h"
#include "reports/cells/summarize.h"
#include "reports/output/dlperf_scripts.h"

namespace bertbench {
namespace {

// Lines as Python's text mode cuts them. A longer line than any trainer prints is cut.
constexpr std::size_t kLongest = std::size_t{1} << 16;

Result<void> feed(const std::string& path, DlperfScript& script) {
  auto source = open_source(path);
  if (!source) return tl::unexpected(source.error());
  std::array<char, 1 << 16> block{};
  std::string line;
  std::int64_t number = 1;
  bool after_return = false;
  while (true) {
    const auto got = (*source)->read(block);
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) break;
    for (std::size_t i = 0; i < *got; ++i) {
      const char c = block[i];
      if (c == '\n' && after_return) {
        after_return = false;
        continue;
      }
      after_return = c == '\r';
      if (c != '\n' && c != '\r') {
        if (line.size() < kLongest) line.push_back(c);
        continue;
      }
      script.see(line, number++);
      line.clear();
    }
  }
  if (!line.empty()) script.see(line, number);
  return {};
}

void not_applied(Trial& trial, std::string why) {
  trial.notices.push_back(make_notice(NoticeCode::dlperf_not_applied, 0, std::move(why)));
}

void apply_to(Trial& trial, const Identity& identity, std::optional<DlperfWindow> batches) {
  DlperfPlace place;
  place.nodes = identity.nodes.value_or(0);
  place.gpus_per_node = identity.gpus_per_node.value_or(0);
  place.batch_size_per_device = identity.micro_batch_size.value_or(0);
  const auto script = dlperf_script(trial.format, place, batches);
  if (!script) {
    return not_applied(trial, "DLPerf has no script for BERT logs of the format " + trial.format);
  }
  if (trial.log == "-" || place.nodes < 1 || place.gpus_per_node < 1 ||
      place.batch_size_per_device < 1) {
    return not_applied(trial,
                       "DLPerf's scripts take nodes, GPUs and batch from the place of a log "
                       "(4n8g/bert_b32_fp32_4.log), which this one does not show");
  }
  if (const auto read = feed(trial.log, *script); !read) {
    return not_applied(trial, read.error().message());
  }
  DlperfSpeed speed = script->finish();
  for (Notice& notice : speed.notices) trial.notices.push_back(std::move(notice));
  const auto own = trial.sequences_per_second;
  if (trial.unit() != RateUnit::sequences_per_second) {  // its estimates have another unit
    trial.tokens_per_second.reset();
    trial.iterations_per_second.reset();
    trial.estimators.clear();
    trial.resolution.clear();
    trial.expected_error.clear();
  }
  trial.sequences_per_second = speed.speed;
  trial.window.rule = fmt::format("{}:{}", speed.window.warmup, speed.window.train);
  trial.window.chosen_by = batches ? "user" : "default";
  trial.window.covered = speed.speed.has_value();
  if (!speed.speed) return trial.estimator.clear();
  trial.estimator = speed.estimator;
  trial.estimators[trial.estimator] = *speed.speed;
  constexpr double kWorthSaying = 0.005;
  if (own && std::abs(*own / *speed.speed - 1) > kWorthSaying) {
    trial.notices.push_back(
        make_notice(NoticeCode::dlperf_differs, 0, speed.script, *speed.speed, *own));
  }
}

}  // namespace

void apply_dlperf(ResultSet& results, const std::optional<WindowRule>& window,
                  const std::string& base) {
  std::optional<DlperfWindow> batches;
  if (window && window->kind == WindowRule::Kind::records) {
    batches = DlperfWindow{window->begin, window->end};
  }
  for (Cell& cell : results.cells) {
    if (cell.kind != WorkKind::training) continue;
    for (Trial& trial : cell.trials) apply_to(trial, cell.identity, batches);
  }
  summarize(results, {.compat_dlperf = true, .base = base});
}

}  // namespace bertbench
