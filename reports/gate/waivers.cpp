#include "reports/gate/waivers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "parsers/core/config_reader.h"
#include "parsers/core/text.h"
#include "parsers/core/whole_file.h"
#include "reports/gate/verdict_words.h"
#include "reports/gate/verdicts.h"

namespace bertbench {

extern const char* const kWaiverSchema;  // configs/schema/waivers.schema.json

namespace {

constexpr const char* kWaiverSchemaName = "bertbench.waivers/1";
constexpr std::size_t kMostWaiverMib = 16;

bool is_day(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto year = to_int(std::string_view(text).substr(0, 4)),
             month = to_int(std::string_view(text).substr(5, 2)),
             day = to_int(std::string_view(text).substr(8, 2));
  if (!year || !month || !day) return false;
  return std::chrono::year_month_day{std::chrono::year(static_cast<int>(*year)),
                                     std::chrono::month(static_cast<unsigned>(*month)),
                                     std::chrono::day(static_cast<unsigned>(*day))}
      .ok();
}

class WaiverReader {
 public:
  explicit WaiverReader(ConfigReader& in) : in_(in) {}

  std::vector<Waiver> read() {
    const Json& root = in_.root();
    in_.check_keys(root, "");
    if (root.value("schema", Json()) != kWaiverSchemaName) {
      in_.fail_at("/schema", fmt::format("must be \"{}\"", kWaiverSchemaName));
    }
    if (!root.contains("waivers") || !root["waivers"].is_array()) {
      in_.fail_at("/waivers", "must be a list of waivers");
      return {};
    }
    std::vector<Waiver> out;
    for (std::size_t i = 0; i < root["waivers"].size() && !in_.error(); ++i) {
      const std::string at = fmt::format("/waivers/{}", i);
      Waiver waiver = one(root["waivers"][i], at);
      const bool twice = std::ranges::any_of(out, [&](const Waiver& other) {
        return other.cell == waiver.cell && other.kind == waiver.kind &&
               other.verdict == waiver.verdict;
      });
      if (twice) {
        in_.fail_at(at, fmt::format("the {} of {} is waived twice", waiver.verdict, waiver.cell),
                    "keep one of them");
      }
      out.push_back(std::move(waiver));
    }
    return out;
  }

 private:
  Waiver one(const Json& json, const std::string& at) {
    Waiver out;
    if (!json.is_object()) {
      in_.fail_at(at, "must be an object", "with cell, limit, reason and expiry");
      return out;
    }
    in_.check_keys(json, at);
    for (const char* key : {"cell", "limit", "reason", "expiry"}) {
      if (!json.contains(key)) in_.fail_at(at, fmt::format("has no '{}'", key));
    }
    in_.text(json, at, "cell", out.cell);
    in_.text(json, at, "verdict", out.verdict);
    in_.text(json, at, "reason", out.reason);
    in_.text(json, at, "expiry", out.expiry);
    std::string kind(name(out.kind));
    in_.text(json, at, "kind", kind);
    if (in_.error()) return out;
    for (const WorkKind known : {WorkKind::evaluation, WorkKind::inference}) {
      if (kind == name(known)) out.kind = known;
    }
    if (trim(out.reason).empty()) {
      in_.fail_at(at + "/reason", "is empty", "state why the loss is accepted");
    }
    if (!is_day(out.expiry)) {
      in_.fail_at(at + "/expiry", fmt::format("'{}' is no day", out.expiry),
                  "write the last day on which it holds as 2027-01-31");
    }
    const auto text = in_.scalar(json["limit"], at + "/limit");
    const auto share = text ? to_share(*text) : std::nullopt;
    if (!share) {
      in_.fail_at(at + "/limit", "is not a share from 0 up to 100 %", "write \"6%\" or 0.06");
    }
    out.limit = share.value_or(0);
    return out;
  }

  ConfigReader& in_;
};

/// What fails, by how much where that is known.
struct Failing {
  bool fails = false;
  /// A share; of losses at one step how far they are apart, of outcomes the trials that failed.
  std::optional<double> loss;
};

PartVerdict* part_of(CellVerdict& cell, const std::string& part) {
  const auto found = std::ranges::find(cell.parts, part, &PartVerdict::part);
  return found == cell.parts.end() ? nullptr : &*found;
}

Failing failing(CellVerdict& cell, const std::string& what) {
  Failing out;
  if (what == "speed") {
    out.fails = cell.speed != Verdict::pass && cell.speed != Verdict::improvement &&
                cell.speed != Verdict::new_cell;
    if (cell.speed_flagged() && cell.change) out.loss = -*cell.change;
  } else if (what == "memory") {
    out.fails = cell.memory && cell.memory->verdict == Verdict::regression;
    if (out.fails) out.loss = cell.memory->change;
  } else if (what == "loss") {
    out.fails = cell.loss && cell.loss->verdict == Verdict::regression;
    if (out.fails && cell.loss->before && *cell.loss->before != 0) {
      out.loss = std::abs(*cell.loss->now / *cell.loss->before - 1);
    }
  } else if (what == "outcomes") {
    out.fails = cell.outcomes && cell.outcomes->verdict == Verdict::regression;
    if (out.fails) out.loss = double(cell.outcomes->failed_now) / cell.outcomes->trials_now;
  } else if (const PartVerdict* part = part_of(cell, what)) {
    out.fails = cell.parts_count() && part->flagged();
    out.loss = part->change;
  }
  return out;
}

void let_pass(CellVerdict& cell, const std::string& what) {
  if (what == "speed") {
    cell.speed = Verdict::pass;
  } else if (what == "memory") {
    cell.memory.reset();
  } else if (what == "loss") {
    cell.loss.reset();
  } else if (what == "outcomes") {
    cell.outcomes.reset();
  } else if (PartVerdict* part = part_of(cell, what)) {
    part->verdict = Verdict::pass;
  }
}

/// `left`: the cell as the waivers until now leave it. Gives the notice of a cell that passes.
std::optional<Notice> judge_waiver(CellVerdict& cell, CellVerdict& left, const Waiver& waiver,
                                   const std::string& today) {
  JudgedWaiver& judged = cell.waivers.emplace_back();
  judged.waiver = waiver;
  const auto [fails, loss] = failing(cell, waiver.verdict);
  if (waiver.expiry < today) {
    judged.state = WaiverState::expired;
    Notice expired = make_notice(NoticeCode::waiver_expired, 0, waiver.verdict, cell.key,
                                 waiver.expiry, waiver.reason);
    if (!fails) return expired;
    cell.reasons.push_back(std::move(expired));
    return std::nullopt;
  }
  if (!fails) return std::nullopt;
  const std::string by = loss ? percent(*loss) : std::string("an unknown share");
  if (loss && *loss <= waiver.limit) {
    judged.state = WaiverState::waived;
    let_pass(left, waiver.verdict);
    cell.reasons.push_back(make_notice(NoticeCode::waived, 0, waiver.expiry, waiver.verdict, by,
                                       percent(waiver.limit), waiver.reason));
  } else {
    judged.state = WaiverState::not_enough;
    cell.reasons.push_back(make_notice(NoticeCode::waiver_not_enough, 0, waiver.expiry,
                                       percent(waiver.limit), waiver.verdict, by, waiver.reason));
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(WaiverState state) {
  constexpr std::string_view kNames[] = {"waived", "not_enough", "expired", "not_needed"};
  return kNames[static_cast<std::size_t>(state)];
}

Result<std::vector<Waiver>> read_waivers(const std::string& path) {
  const auto text = read_whole_file(path, kMostWaiverMib, "--waive takes a JSON file of waivers");
  if (!text) return tl::unexpected(text.error());
  static const Json kSchema = Json::parse(kWaiverSchema);
  auto in = ConfigReader::open(*text, path, {}, "a file of waivers", &kSchema);
  if (!in) return tl::unexpected(in.error());
  auto waivers = WaiverReader(*in).read();
  if (in->error()) return tl::unexpected(*in->error());
  return waivers;
}

void apply_waivers(GateReport& report, std::span<const Waiver> waivers, const std::string& today,
                   const GateOptions& options) {
  std::vector<bool> matched(waivers.size(), false);
  for (CellVerdict& cell : report.cells) {
    CellVerdict left = cell;
    for (std::size_t i = 0; i < waivers.size(); ++i) {
      if (waivers[i].cell != cell.key || waivers[i].kind != cell.kind) continue;
      matched[i] = true;
      if (auto notice = judge_waiver(cell, left, waivers[i], today)) {
        report.notices.push_back(std::move(*notice));
      }
    }
    const bool any = std::ranges::any_of(cell.waivers, [](const JudgedWaiver& judged) {
      return judged.state == WaiverState::waived;
    });
    if (any) cell.after_waivers = verdict_of_all(left);
  }
  for (std::size_t i = 0; i < waivers.size(); ++i) {
    if (matched[i]) continue;
    report.notices.push_back(
        make_notice(NoticeCode::waiver_without_cell, 0, waivers[i].verdict, waivers[i].cell));
  }
  report.exit_status = gate_exit_status(report, options);
}

}  // namespace bertbench
