// bertbench archive: a run folder in one file, and back.
#include <fmt/format.h>

#include <filesystem>

#include "harness/cli/command.h"
#include "harness/cli/command_line.h"
#include "harness/cli/console.h"
#include "harness/cli/opened_run.h"
#include "harness/cli/run_archive.h"
#include "parsers/core/text.h"

namespace bertbench::command_archive {
namespace {

struct Options {
  std::string source, output, unpack;
};

std::string contents_text(const ArchiveContents& contents) {
  return fmt::format("{}, {:.1f} MB", counted(contents.files, "file"),
                     static_cast<double>(contents.bytes) / 1e6);
}

/// What was to be written is the user's word, what was to be read may be damaged.
ExitCode status_of(const Error& error, const std::string& output) {
  return error.where == output ? ExitCode::usage : ExitCode::nothing_read;
}

ExitCode run(const Options& options, Console& console) {
  if (!options.unpack.empty()) {
    const auto done = unpack_archive(options.source, options.unpack);
    if (!done) return console.error(done.error(), status_of(done.error(), options.unpack));
    console.print(fmt::format("{}: {}, checksums are right\n", escape_for_terminal(options.unpack),
                              contents_text(*done)));
    return ExitCode::good;
  }
  auto path = options.output;
  if (path.empty()) {
    auto folder = std::filesystem::path(options.source).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();
    path = folder.filename().string() + ".tar.zst";
  }
  if (!is_archive(path)) {
    return console.error({"-o " + path, "is no name of an archive: no command would read it",
                          "let it end with .tar.zst"});
  }
  const auto done = write_archive(options.source, path);
  if (!done) return console.error(done.error(), status_of(done.error(), path));
  for (const auto& name : done->left_out) {
    console.note(
        fmt::format("{} is for the trainer alone, as it may hold a secret, and is left out", name));
  }
  for (const auto& name : done->checkpoints) {
    console.note(fmt::format("{} is the checkpoint of a phase and is left out", name));
  }
  console.print(fmt::format("{}: {}\n", escape_for_terminal(path), contents_text(*done)));
  return ExitCode::good;
}

void declare(CommandLine& line, Options& options) {
  line.add_argument("DIR-OR-FILE", options.source,
                    "A run folder to pack; with --unpack an archive.");
  line.add_output_file("-o,--output", options.output, "FILE",
                       "The archive to write; it ends with .tar.zst.")
      .default_text("NAME.tar.zst here");
  line.add_text("--unpack", options.unpack, "DIR",
                "Make this run folder of an archive; it must not be there yet.");
}

constexpr Example kExamples[] = {
    {"bertbench archive run", "Pack a run folder into run.tar.zst."},
    {"bertbench archive run.tar.zst --unpack again", "The same folder, checked; report reads it."},
};
constexpr ExitCodeRow kStatuses[] = {
    {ExitCode::good},
    {ExitCode::usage},
    {ExitCode::nothing_read, "no run folder, or a damaged archive"}};

}  // namespace

extern const Command entry{
    "archive",
    "a run folder in one checked file, and back",
    "DIR-OR-FILE",
    "Packs logs, configuration, environment, journal and results of a sweep with the SHA-256 of "
    "each file; report, check, compare, predict and store add read the archive as they read the "
    "folder, and an unpacked folder gives the same results and can be resumed. The file is a tar "
    "file compressed by zstd, so tar and sha256sum read it as well. Files for the trainer alone, "
    "which may hold secrets, checkpoints of phases and links are left out.",
    kExamples,
    kStatuses,
    declared<Options, declare, run>};

}  // namespace bertbench::command_archive
