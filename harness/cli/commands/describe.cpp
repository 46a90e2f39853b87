// bertbench describe: the lines of a log that no format knows as a format file.

#include <string>
#include <vector>

#include "harness/cli/command.h"
#include "harness/cli/console.h"
#include "harness/cli/opened_run.h"
#include "harness/cli/options.h"
#include "parsers/described/described_format.h"
#include "parsers/generic/induced_format.h"
#include "parsers/input/input.h"
#include "parsers/reader/log_reader.h"
#include "parsers/reader/second_look.h"
#include "reports/output/render.h"

namespace bertbench::command_describe {
namespace {

struct Options {
  std::string log, name{kGenericName}, output = "-";
};

ExitCode run(const Options& options, Console& console) {
  auto source = refuse_archive(options.log).and_then([&] { return open_source(options.log); });
  if (!source) return console.error(source.error(), ExitCode::nothing_read);
  const auto induced = induced_from(**source, options.name);
  if (!induced.format) {
    // An empty file, or one that is no text.
    const auto read = options.log == "-" ? std::vector<RunLog>() : read_log(options.log, {});
    return console.error(read ? unread_error(options.log, induced.nearest) : read.error(),
                         ExitCode::nothing_read);
  }
  // What is printed is what --format-file takes.
  if (auto checked = DescribedFormat::parse(induced.format->json, ""); !checked) {
    checked.error().where = "--name " + options.name;  // all else is right by itself
    return console.error(checked.error());
  }
  console.note(
      "facts, what an iteration is, and how a run ends are left out: add them by "
      "docs/formats.md, \"A format in a JSON file\"");
  const std::string text = induced.format->json + "\n";
  if (options.output == "-") {
    console.print(text);
    return ExitCode::good;
  }
  const auto written = write_file_atomically(options.output, text);
  return written ? ExitCode::good : console.error(written.error());
}

void declare(CommandLine& line, Options& options) {
  line.add_argument("LOG", options.log, "A log, also .gz or .zst; - for stdin.");
  line.add_text("--name", options.name, "NAME", "The format's name, as --format takes it.");
  line.add_output_file("-o,--output", options.output, "FILE", "Write the format to FILE.");
}

constexpr Example kExamples[] = {
    {"bertbench describe train.log --name my-loop -o my-loop.json", "A format file to edit."},
    {"bertbench extract logs/ --format-file my-loop.json", "Logs of that program, read by it."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good},
    {ExitCode::usage},
    {ExitCode::nothing_read, "no line of the log has a counter that grows"}};

}  // namespace

extern const Command entry{
    "describe",
    "write a format file for a log that no format knows",
    "LOG",
    "The lines that repeat, with a counter, are the records: `extract` reads a log that no format "
    "knows by the same rule. The file states what each number was taken for; correct it where that "
    "is wrong.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_describe
