#include "harness/cli/inputs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "harness/cli/opened_run.h"
#include "parsers/core/parallel.h"
#include "parsers/core/text.h"
#include "parsers/input/input.h"
#include "parsers/rules/rank_time_rules.h"

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

/// Digits within a text.
struct Digits {
  std::size_t begin = 0, end = 0;
};

/// The last digits of text[0, end) that are no longer than a rank.
std::optional<Digits> last_digits(std::string_view text, std::size_t end) {
  constexpr std::size_t kDigitsOfARank = 6;
  while (end > 0) {
    while (end > 0 && !is_digit(text[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
    if (end > begin && end - begin <= kDigitsOfARank) return Digits{begin, end};
    end = begin;
  }
  return std::nullopt;
}

bool ends_with_word(std::string_view text, std::string_view word) {
  if (!text.ends_with(word)) return false;
  text.remove_suffix(word.size());
  return text.empty() || !is_letter(text.back());
}

/// "rank_3", "local-rank3", "workerlog.3" (PaddlePaddle), "worker_3" (MindSpore).
std::optional<Digits> rank_in_word(std::string_view component) {
  const std::string text = lower(component);
  for (std::size_t end = text.size();;) {
    const auto digits = last_digits(text, end);
    if (!digits) return std::nullopt;
    std::string_view before = std::string_view(text).substr(0, digits->begin);
    if (!before.empty() && std::string_view("._-=").find(before.back()) != before.npos) {
      before.remove_suffix(1);
    }
    const bool whole = digits->end == text.size() || !is_letter(text[digits->end]);
    for (const std::string_view word : {"rank", "worker", "workerlog"}) {
      if (whole && ends_with_word(before, word)) return digits;
    }
    end = digits->begin;
  }
}

/// What a rank writes into several files has one name: stdout and stderr, .out and .err.
std::string name_of_all(std::string name) {
  for (const std::string_view stream : {"stdout", "stderr"}) {
    const auto at = name.find(stream);
    if (at != std::string::npos) return name.replace(at, stream.size(), "std");
  }
  if (name.ends_with(".err")) name.replace(name.size() - 4, 4, ".out");
  return name;
}

RankFile file_of(const std::string& path, const Digits& digits) {
  const auto rank = to_int(std::string_view(path).substr(digits.begin, digits.end - digits.begin));
  std::string job = path.substr(0, digits.begin) + "*" + path.substr(digits.end);
  const auto name = job.rfind('/') + 1;  // 0 where there is none
  return {job.substr(0, name) + name_of_all(job.substr(name)), rank.value_or(0)};
}

/// The last number in the file's name, else in its folder's.
std::optional<RankFile> numbered_file(const std::string& path) {
  const auto name = path.rfind('/') + 1;
  auto digits = last_digits(path, path.size());
  if (digits && digits->begin < name && name > 0) {
    const auto folder = name < 2 ? std::string::npos : path.rfind('/', name - 2);
    if (digits->begin < folder + 1) digits.reset();
  }
  if (!digits) return std::nullopt;
  return file_of(path, *digits);
}

/// Whether the begin of a log has `rank_time` lines, of this rank alone.
bool states_rank(const std::string& path, std::int64_t rank) {
  constexpr std::size_t kBegin = std::size_t{1} << 20;  // bytes
  auto source = open_source(path);
  if (!source) return false;
  std::string text(kBegin, '\0');
  std::size_t size = 0;
  while (size < kBegin) {
    const auto got = (*source)->read({text.data() + size, kBegin - size});
    if (!got || *got == 0) break;
    size += *got;
  }
  text.resize(size);
  bool any = false;
  for (std::size_t at = text.find(RankTimeRules::kAnchor); at != std::string::npos;
       at = text.find(RankTimeRules::kAnchor, at)) {
    at += RankTimeRules::kAnchor.size();
    const auto end = text.find(' ', at);
    if (end == std::string::npos) break;
    if (to_int(std::string_view(text).substr(at, end - at)) != rank) return false;
    any = true;
  }
  return any;
}

/// gluon-nlp's "phase1_log.3", packed or not: each of these logs holds the steps of the job.
std::optional<RankFile> gluonnlp_file(const std::string& path) {
  const std::string name = without_packing(path);
  const auto digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size() || !std::string_view(name).substr(0, digits).ends_with("_log.")) {
    return std::nullopt;
  }
  return file_of(path, {digits, name.size()});
}

bool looks_like_log(const fs::path& path) {
  std::string name = path.filename().string();
  if (name.empty() || name.front() == '.') return false;
  if (std::find(std::begin(kOwnFiles), std::end(kOwnFiles), name) != std::end(kOwnFiles)) {
    return false;
  }
  name = without_packing(std::move(name));
  if ((name == "stdout" || name == "stderr") && rank_file(path.string())) return true;
  return name.starts_with(kTensorboard) || name == "mlflow.db" || name.starts_with("workerlog.") ||
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

/// "latest.log" next to the log that it links to is no further run.
void leave_out_links(std::vector<Input>& found) {
  const auto is_link = [](const Input& log) {
    std::error_code ignored;
    return fs::is_symlink(log.path, ignored);
  };
  const auto links = std::stable_partition(found.begin(), found.end(), std::not_fn(is_link));
  if (links == found.end()) return;
  using File = std::pair<dev_t, ino_t>;
  const auto file_of_path = [](const Input& log) {
    struct stat info {};
    return ::stat(log.path.c_str(), &info) == 0 ? File(info.st_dev, info.st_ino) : File();
  };
  std::set<File> files;
  std::transform(found.begin(), links, std::inserter(files, files.end()), file_of_path);
  found.erase(
      std::remove_if(links, found.end(),
                     [&](const Input& log) { return !files.insert(file_of_path(log)).second; }),
      found.end());
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
  leave_out_links(found);
  std::sort(found.begin(), found.end(),
            [](const Input& a, const Input& b) { return a.path < b.path; });
  constexpr std::size_t kBlock = 256;
  for_each_index((found.size() + kBlock - 1) / kBlock, 4, [&](std::size_t block) {
    const std::size_t end = std::min(found.size(), (block + 1) * kBlock);
    for (std::size_t i = block * kBlock; i < end; ++i) found[i].bytes = size_of(found[i].path);
  });
  return found;
}

void leave_out(std::vector<Input>& logs, const std::vector<bool>& marked) {
  std::size_t i = 0;
  std::erase_if(logs, [&](const Input&) { return marked[i++]; });
}

/// Of logs that were found twice the first one stays.
void leave_out_doubles(std::vector<Input>& logs) {
  std::unordered_set<std::string_view> paths;
  std::vector<bool> doubled;
  for (const Input& log : logs) doubled.push_back(!paths.insert(log.path).second);
  leave_out(logs, doubled);
}

using Jobs = std::map<std::string, std::vector<std::pair<std::int64_t, std::size_t>>>;

bool has_ranks(const Jobs::mapped_type& files) {
  const bool zero = std::ranges::any_of(files, [](const auto& file) { return file.first == 0; });
  return zero && std::ranges::any_of(files, [](const auto& file) { return file.first > 0; });
}

/// Inputs of one job become one, in the place of its first. A job has a rank 0 and others. Paths
/// that differ in one number without such a word are of a job where the `rank_time` lines in each
/// are of the rank with that number: the begin of the file with number 0 is looked at, and of the
/// others where that one has them.
void join_rank_files(std::vector<Input>& logs) {
  Jobs jobs, numbered;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (logs[i].path == "-") continue;
    if (const auto named = rank_file(logs[i].path)) {
      jobs[named->job].emplace_back(named->rank, i);
    } else if (const auto by_number = numbered_file(logs[i].path)) {
      numbered[by_number->job].emplace_back(by_number->rank, i);
    }
  }
  for (auto& [job, files] : numbered) {
    if (!has_ranks(files)) continue;
    std::ranges::sort(files);  // rank 0 is looked at first
    const bool stated = std::ranges::all_of(
        files, [&](const auto& file) { return states_rank(logs[file.second].path, file.first); });
    if (stated) jobs.emplace(job, std::move(files));
  }
  std::vector<bool> joined(logs.size(), false);
  for (auto& [job, files] : jobs) {
    if (!has_ranks(files)) continue;
    std::ranges::stable_sort(files, {}, &std::pair<std::int64_t, std::size_t>::first);
    const auto place = std::ranges::min(files, {}, &std::pair<std::int64_t, std::size_t>::second);
    Input all;
    all.named = logs[place.second].named;
    for (const auto& [rank, i] : files) {
      all.bytes += logs[i].bytes;
      all.ranks.push_back({logs[i].path, rank});
      joined[i] = i != place.second;
    }
    all.path = all.ranks.front().path;
    logs[place.second] = std::move(all);
  }
  leave_out(logs, joined);
}

}  // namespace

std::optional<RankFile> rank_file(const std::string& path) {
  if (auto file = gluonnlp_file(path)) return file;
  // From the file up: the innermost folder that names a rank counts.
  for (std::size_t end = path.size(); end != std::string::npos && end > 0;) {
    const auto slash = path.rfind('/', end - 1);
    const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
    const std::string_view component = std::string_view(path).substr(begin, end - begin);
    if (const auto digits = rank_in_word(component)) {
      return file_of(path, {begin + digits->begin, begin + digits->end});
    }
    // torchrun: attempt_0/3/stdout.log
    if (slash != std::string::npos && slash > 0 && to_int(component).value_or(-1) >= 0) {
      const auto above = path.rfind('/', slash - 1);
      const std::size_t from = above == std::string::npos ? 0 : above + 1;
      if (std::string_view(path).substr(from).starts_with("attempt_")) {
        return file_of(path, {begin, end});
      }
    }
    end = slash;
  }
  return std::nullopt;
}

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
  constexpr std::int64_t kBytesOfAGroup = 512 << 10;
  constexpr std::size_t kLogsAtOnce = 64;
  const auto bytes_of = [](const Input& log) {
    return is_packed(log) || log.bytes <= 0 ? kBytesOfAGroup : log.bytes;
  };
  std::vector<std::span<const Input>> groups;
  for (std::size_t begin = 0; begin < logs.size();) {
    std::size_t end = begin + 1;
    for (std::int64_t bytes = bytes_of(logs[begin]); end < logs.size(); ++end) {
      bytes += bytes_of(logs[end]);
      if (bytes > kBytesOfAGroup || end - begin >= kLogsAtOnce) break;
    }
    groups.push_back(logs.subspan(begin, end - begin));
    begin = end;
  }
  return groups;
}

}  // namespace bertbench
