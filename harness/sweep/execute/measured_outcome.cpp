#include "harness/sweep/execute/measured_outcome.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "harness/sweep/plan/own_logs.h"
#include "parsers/core/text.h"
#include "reports/model/result_io.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMeasured = ",\n  \"measured\": ";

/// How the plan has logs read.
std::string read_as(const Plan& plan) {
  const auto& window = plan.config.window;
  return fmt::format("{} {} {}", plan.workload.format, window.str(),
                     window.chosen_by_user ? "config" : "default");
}

}  // namespace

std::string file_stamp(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) < 0 || !S_ISREG(info.st_mode)) return {};
  return fmt::format("{}-{}.{:09}-{}.{:09}", info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec, info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

std::string logs_stamp(const std::string& folder) {
  const auto printed = file_stamp(folder + "/log.txt");
  const auto own = file_stamp(folder + "/" + kTrainerLog);
  return printed.empty() || own.empty() ? printed : printed + "+" + own;
}

std::string program_stamp(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) < 0) return {};
  return fmt::format("{}-{}.{:09}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

std::string outcome_text(const Json& outcome, const Plan& plan, std::size_t cell,
                         const MeasuredAttempt& measured) {
  auto text = outcome.dump(2, ' ', false, Json::error_handler_t::replace);
  ResultSet one;
  one.cells.emplace_back();
  one.cells.back().key = plan.cells[cell].key;
  one.cells.back().identity = plan.cells[cell].identity;
  one.cells.back().kind = measured.kind;
  one.cells.back().trials.push_back(measured.trial);
  *one.environment = {{"read_as", read_as(plan)}, {"software", measured.versions}};
  text.resize(text.size() - 2);  // "\n}"
  return text + std::string(kMeasured) + std::string(trim(to_text(one))) + "\n}\n";
}

std::optional<MeasuredAttempt> read_measured_outcome(std::string_view text, const Plan& plan) {
  const auto at = text.find(kMeasured);
  if (at == std::string_view::npos || !text.ends_with("\n}\n")) return std::nullopt;
  const auto begin = at + kMeasured.size();
  auto result = result_set_from_text(text.substr(begin, text.size() - 3 - begin));
  if (!result || result->cells.size() != 1 || result->cells[0].trials.size() != 1) {
    return std::nullopt;
  }
  if (result->environment->value("read_as", "") != read_as(plan)) return std::nullopt;
  MeasuredAttempt out;
  out.trial = std::move(result->cells[0].trials[0]);
  out.kind = result->cells[0].kind;
  if (const auto it = result->environment->find("software"); it != result->environment->end()) {
    for (const auto& [name, value] : it->items()) {
      if (value.is_string()) out.versions[name] = value.get<std::string>();
    }
  }
  return out;
}

}  // namespace bertbench
