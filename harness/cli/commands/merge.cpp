// bertbench merge: the parts of a sharded extraction as one result.

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/opened_run.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "harness/cli/result_view.h"
#include "reports/cells/partial.h"
#include "reports/model/result_io.h"

namespace bertbench::command_merge {
namespace {

struct Options {
  std::vector<std::string> parts;
  bool summary = false;
  OutputOptions output;
};

ExitCode run(const Options& options, Console& console) {
  if (const auto good = check_ending(options.output.path); !good) {
    return console.error(good.error());
  }
  std::vector<NamedShard> shards;
  for (const std::string& path : options.parts) {
    auto results = read_results(path, Parts::taken);
    if (!results) return console.error(results.error(), ExitCode::nothing_read);
    auto shard = read_shard(std::move(*results), path);
    if (!shard) return console.error(shard.error());
    shards.push_back({path, std::move(*shard)});
  }
  std::vector<Notice> notices;
  const auto merged = merge_shards(std::move(shards), notices);
  if (!merged) return console.error(merged.error());
  for (const Notice& notice : notices) console.note("", notice);
  if (merged->cells.empty()) {
    return console.error(
        {"merge", "no shard holds a log that was recognised", "the shards' own messages show why"},
        ExitCode::nothing_read);
  }

  return answer(
      console, options.output, ExitCode::good,
      [&](const std::string& path) { return result_text(*merged, path); },
      [&] {
        ViewOptions view;
        view.summary_only = options.summary;
        print_results(console, SetSource(*merged), view);
      });
}

void declare(CommandLine& line, Options& options) {
  line.add_arguments("RESULT", options.parts, "What `extract --shard` wrote, in any order.");
  line.add_flag("--summary", options.summary, "One row a cell, without its trials.");
  add_output(line, options.output, kWriteResult);
}

constexpr Example kExamples[] = {
    {"parallel bertbench extract logs/ --shard {}/4 -o p{}.json ::: 1 2 3 4",
     "Four processes, each a quarter of the logs."},
    {"bertbench merge p*.json -o results.json", "One result, as a single process gives it."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good},
    {ExitCode::usage, "a shard is missing, is there twice or was read otherwise than the others"},
    {ExitCode::nothing_read}};

}  // namespace

extern const Command entry{
    "merge",
    "join the parts of `extract --shard` into one result",
    "RESULT...",
    "The result equals that of one extract --no-join of every log, except for `created` and "
    "`environment`: logs of one cell are joined and trials are numbered here, not in the shards; "
    "the logs of a run that was restarted stay trials of their own.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_merge
