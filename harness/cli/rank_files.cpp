#include "harness/cli/rank_files.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "parsers/core/text.h"
#include "parsers/input/input.h"
#include "parsers/rules/rank_time_rules.h"

namespace bertbench {
namespace {

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

using Jobs = std::map<std::string, std::vector<std::pair<std::int64_t, std::size_t>>>;

bool has_ranks(const Jobs::mapped_type& files) {
  const bool zero = std::ranges::any_of(files, [](const auto& file) { return file.first == 0; });
  return zero && std::ranges::any_of(files, [](const auto& file) { return file.first > 0; });
}

}  // namespace

std::optional<RankFile> gluonnlp_file(const std::string& path) {
  std::string_view name = path;
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  }
  const auto digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size() || !name.substr(0, digits).ends_with("_log.")) return std::nullopt;
  return file_of(path, {digits, name.size()});
}

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
  std::size_t i = 0;
  std::erase_if(logs, [&](const Input&) { return joined[i++]; });
}

}  // namespace bertbench
