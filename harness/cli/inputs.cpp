#include "harness/cli/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/cli/opened_run.h"
#include "harness/cli/rank_files.h"
#include "parsers/core/parallel.h"

namespace bertbench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEndings[] = {".log",   ".txt",  ".out",    ".err",
                                         ".jsonl", ".json", ".stdout", ".wandb"};
constexpr std::string_view kTensorboard = "events.out.tfevents.";  ///< how its files begin
constexpr std::string_view kCompressed[] = {".gz", ".zst"};

// What `sweep` writes next to the logs of its trials.
constexpr std::string_view kOwnFiles[] = {"command.json",  "environment.json", "journal.jsonl",
                                          "outcome.json",  "results.json",     "sweep.json",
                                          "timings.jsonl", "report.json"};

std::string without_packing(std::string name) {
  for (const std::string_view ending : kCompressed) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

bool looks_like_log(const fs::path& path) {
  std::string name = path.filename().string();
  if (name.empty() || name.front() == '.') return false;
  if (std::find(std::begin(kOwnFiles), std::end(kOwnFiles), name) != std::end(kOwnFiles)) {
    return false;
  }
  name = without_packing(std::move(name));
  if ((name == "stdout" || name == "stderr") && rank_file(path.string())) return true;
  return name.starts_with(kTensorboard) || name == "mlflow.db" ||
         std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return name.ends_with(ending); }) ||
         gluonnlp_file(name);
}

/// Of the logs of a run's ranks, which have the same steps, that of the first one stays.
void leave_out_ranks(std::vector<Input>& logs, std::vector<std::string>& left_out) {
  struct Run {
    std::int64_t first = 0;  // rank
    std::string path;        // of its log
    int ranks = 0;
  };
  std::map<std::string, Run> runs;
  for (const Input& log : logs) {
    const auto file = gluonnlp_file(log.path);
    if (!file) continue;
    Run& run = runs[file->job];
    if (run.ranks++ == 0 || file->rank < run.first) {
      run.first = file->rank;
      run.path = log.path;
    }
  }
  std::erase_if(logs, [&](const Input& log) {
    const auto file = gluonnlp_file(log.path);
    return file && runs.at(file->job).path != log.path;
  });
  for (const auto& [job, run] : runs) {
    if (run.ranks < 2) continue;
    left_out.push_back(
        fmt::format("{}: the logs of {} ranks have the same steps: this one is read, the others "
                    "are left out",
                    run.path, run.ranks));
  }
}

/// The console of a run is in its .wandb file: wandb's copy of it and its own logs, next to the
/// file, would be the same run once more.
void leave_out_wandbs_copies(std::vector<Input>& logs) {
  std::vector<std::string> copies, links;  // what their paths begin with
  for (const Input& log : logs) {
    if (!without_packing(log.path).ends_with(".wandb")) continue;
    const fs::path run = fs::path(log.path).parent_path();
    for (const char* folder : {"files", "logs"}) copies.push_back((run / folder / "").string());
    links.push_back((run.parent_path() / "debug").string());  // into logs
  }
  std::erase_if(logs, [&](const Input& log) {
    const auto begins = [&](const std::string& front) { return log.path.starts_with(front); };
    return std::ranges::any_of(copies, begins) ||
           (std::ranges::any_of(links, begins) && fs::is_symlink(log.path));
  });
}

bool is_packed(const Input& log) {
  return std::ranges::any_of(kCompressed,
                             [&](std::string_view ending) { return log.path.ends_with(ending); });
}

std::int64_t size_of(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(size);
}

std::vector<Input> below(const fs::path& folder, std::vector<Error>& errors) {
  std::vector<Input> found;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    const bool hidden = at->path().filename().string().starts_with('.');
    if (at->is_directory(ignored)) {
      if (hidden) at.disable_recursion_pending();
    } else if (at->is_regular_file(ignored) && looks_like_log(at->path())) {
      found.push_back({at->path().string(), false, 0, 0});
    }
  }
  if (error) {
    errors.push_back({folder.string(), fmt::format("cannot be searched: {}", error.message()),
                      "check its permissions"});
  }
  std::sort(found.begin(), found.end(),
            [](const Input& a, const Input& b) { return a.path < b.path; });
  constexpr std::size_t kBlock = 256;
  for_each_index((found.size() + kBlock - 1) / kBlock, 4, [&](std::size_t block) {
    const std::size_t end = std::min(found.size(), (block + 1) * kBlock);
    for (std::size_t i = block * kBlock; i < end; ++i) found[i].bytes = size_of(found[i].path);
  });
  return found;
}

/// Of logs that were found twice the first one stays.
void leave_out_doubles(std::vector<Input>& logs) {
  std::vector<std::size_t> order(logs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) -> std::string_view { return logs[i].path; });
  std::vector<bool> doubled(logs.size(), false);
  for (std::size_t k = 1; k < order.size(); ++k) {
    doubled[order[k]] = logs[order[k]].path == logs[order[k - 1]].path;
  }
  std::size_t i = 0;
  std::erase_if(logs, [&](const Input&) { return doubled[i++]; });
}

}  // namespace

Inputs find_inputs(const std::vector<std::string>& paths, RankLogs ranks) {
  Inputs inputs;
  for (const std::string& path : paths) {
    std::error_code error;
    if (const auto log = refuse_archive(path); !log) {
      inputs.errors.push_back(log.error());
      continue;
    }
    if (path == "-" || !fs::is_directory(path, error)) {
      // Reading it gives the right error.
      inputs.logs.push_back({path, true, path == "-" ? 0 : size_of(path), 0});
      continue;
    }
    const std::size_t errors_before = inputs.errors.size();
    std::vector<Input> found = below(path, inputs.errors);
    if (found.empty() && inputs.errors.size() == errors_before) {
      inputs.errors.push_back({path, "no log below this folder",
                               fmt::format("names that end in {} are looked at; name others "
                                           "themselves",
                                           fmt::join(kEndings, " "))});
    }
    if (ranks == RankLogs::apart) leave_out_ranks(found, inputs.left_out);
    leave_out_wandbs_copies(found);
    if (inputs.logs.empty()) {
      inputs.logs = std::move(found);
    } else {
      std::ranges::move(found, std::back_inserter(inputs.logs));
    }
  }
  if (paths.size() > 1) leave_out_doubles(inputs.logs);
  if (ranks == RankLogs::joined) join_rank_files(inputs.logs);
  for (std::size_t i = 0; i < inputs.logs.size(); ++i) inputs.logs[i].index = i;
  return inputs;
}

std::size_t memory_of(std::span<const Input> logs) {
  std::size_t sum = 0;
  for (const Input& log : logs) {
    const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(0, log.bytes));
    sum += std::min(is_packed(log) ? 50 * bytes : bytes, kMemoryOfLogs);
  }
  return sum;
}

std::vector<std::span<const Input>> small_logs_together(std::span<const Input> logs) {
  constexpr std::int64_t kTogether = 512 << 10;
  constexpr std::size_t kLogsAtOnce = 64;
  const auto bytes_of = [](const Input& log) {
    return is_packed(log) || log.bytes <= 0 ? kTogether : log.bytes;
  };
  std::vector<std::span<const Input>> groups;
  for (std::size_t begin = 0; begin < logs.size();) {
    std::size_t end = begin + 1;
    for (std::int64_t bytes = bytes_of(logs[begin]); end < logs.size(); ++end) {
      bytes += bytes_of(logs[end]);
      if (bytes > kTogether || end - begin >= kLogsAtOnce) break;
    }
    groups.push_back(logs.subspan(begin, end - begin));
    begin = end;
  }
  return groups;
}

}  // namespace bertbench
