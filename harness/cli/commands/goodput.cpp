// bertbench goodput: where the wall time of one training went over its restarts.
#include "reports/studies/goodput/goodput.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/inputs.h"
#include "harness/cli/options.h"
#include "harness/cli/output.h"
#include "parsers/core/text.h"
#include "reports/output/plot/svg.h"

namespace bertbench::command_goodput {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string title = "Goodput";
  OutputOptions output;
};

void print(Console& console, const Goodput& goodput) {
  console.print(text_table(goodput_table(goodput)));
  const auto missing = goodput.missing_steps;
  console.print(fmt::format("\n{} counted, {} done again, {}{}\n\n",
                            counted(goodput.counted_steps, "step"), goodput.lost_steps,
                            missing > 0 ? fmt::format("{} in no log, ", missing) : std::string(),
                            counted(goodput.jobs.size(), "job")));
  console.print(text_table(goodput_jobs_table(goodput)));
}

ExitCode run(const Options& options, Console& console) {
  const auto inputs = find_inputs(options.paths, RankLogs::joined);
  for (const auto& error : inputs.errors) console.error(error);
  for (const auto& sentence : inputs.left_out) console.note(sentence);
  std::vector<JobLog> jobs;
  for (const auto& input : inputs.logs) {
    if (!input.ranks.empty()) {
      console.note(fmt::format("{}: of the {} of one job that of rank 0 is read", input.path,
                               counted(input.ranks.size(), "log")));
    }
    auto read = read_jobs(input.path);
    if (!read && input.named) console.error(read.error());
    if (!read) continue;
    std::move(read->begin(), read->end(), std::back_inserter(jobs));
  }
  const auto found = goodput(std::move(jobs));
  if (!found) {
    Error error = found.error();
    error.where = options.paths.front();
    return console.error(error, ExitCode::nothing_read);
  }
  for (const auto& path : found->left_out) {
    console.note(fmt::format("{} ran while the job before it did and is left out", path));
  }
  for (const Notice& notice : found->notices) console.note("goodput", notice);
  if (!found->between_known) {
    console.note("a log has no dated lines: the time between jobs is unknown and counts as none");
  }
  return answer(
      console, options.output, ExitCode::good,
      [&](const std::string& path) -> Result<std::string> {
        if (path.ends_with(".svg")) return plot::svg_file(goodput_figure(*found));
        if (path.ends_with(".html")) return goodput_html(*found, options.title);
        return json_text(goodput_json(*found));
      },
      [&] { print(console, *found); });
}

void declare(CommandLine& line, Options& options) {
  line.add_arguments("PATH", options.paths,
                     "Logs of the jobs of one training, or folders that hold them.");
  line.add_text("--title", options.title, "TEXT", "Heading of HTML.").default_text("Goodput");
  add_output(line, options.output, "Write FILE: .html, .svg (the picture), else JSON.");
}

constexpr Example kExamples[] = {
    {"bertbench goodput logs/", "Share of the wall time in steps that counted, and the rest."},
    {"bertbench goodput job_*.out -o goodput.html", "The same as a page with a picture."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good},
    {ExitCode::usage},
    {ExitCode::nothing_read, "no log has a step of a training, or the time of one"}};

}  // namespace

extern const Command entry{
    "goodput",
    "where the wall time of a training went over its restarts",
    "PATH...",
    "A step is lost when a later job begins below it. Start-up is what lies before the first step, "
    "closing what follows the last one; checkpoints and evaluations are known by the lines "
    "about them; a stall takes 3 times what the steps take and 1 s more. Times between jobs, and "
    "the order of jobs, are by dates in the logs, time zones not looked at. A job that was killed "
    "ends with its last line.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_goodput
