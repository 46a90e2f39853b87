// What a command reads results from: a result file, a run folder, or the archive of one.
#pragma once

#include <optional>
#include <string>

#include "harness/cli/console.h"
#include "harness/sweep/process/temporary_folder.h"
#include "parsers/core/error.h"
#include "reports/model/result_io.h"
#include "reports/model/result_set.h"

namespace bertbench {

/// A file that `bertbench archive` wrote, by its name.
[[nodiscard]] bool is_archive(const std::string& path);

/// Of a command that reads logs: an error for an archive, which names the command that unpacks it.
[[nodiscard]] Result<void> refuse_archive(const std::string& path);

/// An archive lies unpacked in a temporary folder as long as this lives; any other path is itself.
class OpenedRun {
 public:
  /// Errors: an archive that is damaged, or cannot be unpacked.
  static Result<OpenedRun> open(const std::string& path);
  [[nodiscard]] const std::string& path() const { return path_; }
  /// read_result_set() of reports/model/result_io.h; errors name the archive.
  [[nodiscard]] Result<ResultSet> results(Parts parts = Parts::refused) const;

 private:
  std::string named_;  ///< as it was given to open()
  std::string path_;
  std::optional<TemporaryFolder> folder_;
};

/// The results of a run that is needed for nothing else, as its file has them.
[[nodiscard]] Result<ResultSet> read_results(const std::string& path, Parts parts = Parts::refused);
/// settle() of results that were read; `path` names them on the console.
[[nodiscard]] Result<ResultSet> settled(Result<ResultSet> results, const std::string& path,
                                        Console& console);
/// The results of a run, settled.
[[nodiscard]] Result<ResultSet> read_results(const std::string& path, Console& console);

}  // namespace bertbench
