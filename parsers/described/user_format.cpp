#include "parsers/described/user_format.h"

#include <algorithm>
#include <cmath>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/text.h"
#include "parsers/described/user_rules.h"

namespace bertbench {
namespace {

constexpr double kLargestCount = 1e15;

std::optional<std::int64_t> count_of(const UserRule::Value& value, double least) {
  const auto number = printed_number(value.text);
  if (!number) return std::nullopt;
  const double scaled = *number * value.scale;
  if (!(scaled >= least && scaled <= kLargestCount)) return std::nullopt;
  return static_cast<std::int64_t>(scaled);
}

/// What one line says, by field.
struct Said {
  std::optional<std::int64_t> step, planned, iterations, rank, skipped, peak_memory;
  std::optional<double> seconds, mean_seconds, elapsed, clock, rate, loss;
  std::optional<double> total_seconds, average_rate;
  double resolution_s = kUnknown;  ///< of elapsed or clock: its last digit
  Facts facts;
};

double resolution_of(std::string_view text) {
  const auto dot = text.find_last_of(".,");
  if (dot == std::string_view::npos) return 1;
  std::size_t digits = 0;
  while (dot + 1 + digits < text.size() && text[dot + 1 + digits] >= '0' &&
         text[dot + 1 + digits] <= '9') {
    ++digits;
  }
  return std::pow(10.0, -static_cast<double>(digits));
}

void take_fact(Facts& facts, const UserRule::Value& value) {
  const auto set_count = [&](Fact<std::int64_t>& fact) {
    const auto count = count_of(value, 1);
    if (count && *count <= 1'000'000'000) fact.set(*count, FactSource::log);
  };
  const auto set_text = [&](Fact<std::string>& fact) {
    if (!trim(value.text).empty()) fact.set(std::string(trim(value.text)), FactSource::log);
  };
  switch (value.field) {
    case Field::micro_batch_size:
      return set_count(facts.micro_batch_size);
    case Field::global_batch_size:
      return set_count(facts.global_batch_size);
    case Field::gradient_accumulation_steps:
      return set_count(facts.gradient_accumulation_steps);
    case Field::sequence_length:
      return set_count(facts.sequence_length);
    case Field::world_size:
      return set_count(facts.world_size);
    case Field::nodes:
      return set_count(facts.nodes);
    case Field::gpus_per_node:
      return set_count(facts.gpus_per_node);
    case Field::framework:
      return set_text(facts.framework);
    case Field::model:
      return set_text(facts.model);
    case Field::precision:
      return set_text(facts.precision);
    default:
      return;
  }
}

Said read(const std::vector<UserRule::Value>& values) {
  Said out;
  for (const UserRule::Value& value : values) {
    const auto number = [&]() -> std::optional<double> {
      const auto plain = printed_number(value.text);
      return plain ? std::optional(*plain * value.scale) : std::nullopt;
    };
    const auto positive = [&]() -> std::optional<double> {
      const auto plain = number();
      return plain && *plain > 0 && std::isfinite(*plain) ? plain : std::nullopt;
    };
    const auto clock = [&]() -> std::optional<double> {
      out.resolution_s = resolution_of(value.text) * value.scale;
      const auto seconds = clock_seconds(value.field, value.text);
      return seconds ? std::optional(*seconds * value.scale) : std::nullopt;
    };
    switch (value.field) {
      case Field::step:
        out.step = count_of(value, 0);
        break;
      case Field::planned:
        out.planned = count_of(value, 1);
        break;
      case Field::iterations:
        out.iterations = count_of(value, 1);
        break;
      case Field::rank:
        out.rank = count_of(value, 0);
        break;
      case Field::skipped_steps:
        out.skipped = count_of(value, 0);
        break;
      case Field::peak_memory:
        out.peak_memory = count_of(value, 1);
        break;
      case Field::seconds:
        out.seconds = positive();
        break;
      case Field::seconds_per_iteration:
        out.mean_seconds = positive();
        break;
      case Field::elapsed:
        out.elapsed = clock();
        break;
      case Field::clock:
        out.clock = clock();
        break;
      case Field::rate:
        out.rate = positive();
        break;
      case Field::loss:
        out.loss = number();
        break;
      case Field::total_seconds:
        out.total_seconds = positive();
        break;
      case Field::average_rate:
        out.average_rate = positive();
        break;
      default:
        take_fact(out.facts, value);
    }
  }
  return out;
}

class UserParser final : public LineParser {
 public:
  UserParser(const UserRules& rules, std::optional<std::int64_t> world)
      : rules_(rules), world_(world) {}

  bool parse(const Line& line, RunBuilder& out) override {
    bool any = false;
    for (const UserRule& rule : rules_.lines) {
      if (line.text.find(rule.literal) == std::string_view::npos) continue;
      const auto values = rule.match(line.text, line.terminator == 0);
      if (!values) continue;
      any = see(rule, read(*values), line, out) || any;
    }
    return any;
  }
  void finish(RunBuilder& out) override;

 private:
  bool see(const UserRule& rule, const Said& said, const Line& line, RunBuilder& out);
  void see_iteration(const UserRule& rule, const Said& said, const Line& line, RunBuilder& out);
  RunDraft& run(WorkKind kind, std::int64_t line, RunBuilder& out);
  void put_first(RunBuilder& out, std::optional<std::int64_t> next_step);

  struct Open {
    std::int64_t last_step = -1;
    /// The first record of a run waits for the second: how many iterations it covers is their
    /// distance, where the line does not say.
    std::optional<Sample> first;
    double first_mean_s = kUnknown;
  };
  const UserRules& rules_;
  std::optional<std::int64_t> world_;
  Open open_[3];
  WorkKind newest_ = WorkKind::training;
  Facts said_;  ///< for the runs to come
};

RunDraft& UserParser::run(WorkKind kind, std::int64_t line, RunBuilder& out) {
  const bool fresh = out.open(kind) == nullptr;
  RunDraft& draft = out.run(kind, line);
  if (fresh) {
    draft.log.iteration_unit = rules_.iteration_unit;
    draft.log.rate_unit = rules_.rate_unit;
    draft.own_facts = false;
    std::vector<Notice> none;
    draft.log.facts = merge_facts(said_, draft.log.facts, none);
  }
  return draft;
}

void UserParser::put_first(RunBuilder& out, std::optional<std::int64_t> next_step) {
  for (std::size_t k = 0; k < 3; ++k) {
    Open& open = open_[k];
    if (!open.first) continue;
    Sample sample = *open.first;
    open.first.reset();
    sample.iterations = 1;
    if (next_step && *next_step > sample.step) {
      sample.iterations =
          std::max<std::int64_t>(1, std::min(sample.step, *next_step - sample.step));
    }
    if (!std::isnan(open.first_mean_s)) {
      sample.seconds = open.first_mean_s * static_cast<double>(sample.iterations);
    }
    run(static_cast<WorkKind>(k), sample.line, out).add(sample);
  }
}

void UserParser::see_iteration(const UserRule& rule, const Said& said, const Line& line,
                               RunBuilder& out) {
  Open& open = open_[static_cast<std::size_t>(rule.kind)];
  Sample sample;
  sample.step = *said.step;
  sample.iterations = said.iterations.value_or(0);
  sample.seconds = said.seconds.value_or(kUnknown);
  sample.time_s = said.elapsed ? *said.elapsed : said.clock.value_or(kUnknown);
  sample.rate = said.rate.value_or(kUnknown);
  sample.loss = said.loss;
  sample.line = line.number;
  sample.rank =
      said.rank ? static_cast<int>(std::min<std::int64_t>(*said.rank, 1 << 24)) : line.rank;
  const bool per_gpu = rules_.rate_of_one_gpu && !std::isnan(sample.rate);
  if (per_gpu) {
    const auto world = world_ ? world_ : said_.world() ? said_.world() : rules_.facts.world();
    sample.rate = world ? sample.rate * static_cast<double>(*world) : kUnknown;
  }
  const RunDraft* draft = out.open(rule.kind);
  const bool over = draft != nullptr && (draft->ended_well || draft->stated_outcome);
  if (over || (open.first ? sample.step < open.first->step
                          : draft != nullptr && draft->goes_back(sample))) {
    put_first(out, std::nullopt);
    out.close(rule.kind);
    open = {};
  }
  RunDraft& target = run(rule.kind, line.number, out);
  if (per_gpu && std::isnan(sample.rate)) target.log.rate_unit = RateUnit::unknown;
  if (said.planned) target.planned = said.planned;
  if (said.clock) target.log.clock_is_wall = true;
  if (!std::isnan(said.resolution_s)) target.log.clock_resolution_s = said.resolution_s;
  if (said.elapsed && target.count() == 0 && !open.first) target.set_origin(0);
  target.last_line = line.number;
  newest_ = rule.kind;
  const bool timed = said.seconds || said.mean_seconds;
  const bool first = target.count() == 0 && open.last_step < 0;
  if (first && timed && sample.iterations == 0) {
    open.first = sample;
    open.first_mean_s = said.mean_seconds.value_or(kUnknown);
    open.last_step = sample.step;
    return;
  }
  if (open.first && sample.step == open.first->step) return;  // another rank's, or doubled
  put_first(out, sample.step);
  if (said.mean_seconds) {
    const std::int64_t n = sample.iterations > 0
                               ? sample.iterations
                               : std::max<std::int64_t>(1, sample.step - open.last_step);
    sample.iterations = n;
    sample.seconds = *said.mean_seconds * static_cast<double>(n);
  }
  open.last_step = std::max(open.last_step, sample.step);
  target.add(sample);
}

bool UserParser::see(const UserRule& rule, const Said& said, const Line& line, RunBuilder& out) {
  std::vector<Notice> none;
  said_ = merge_facts(said.facts, said_, none);
  if (said.step && !rule.outcome) see_iteration(rule, said, line, out);
  const bool states =
      said.total_seconds || said.average_rate || said.skipped || said.peak_memory || rule.outcome;
  if (RunDraft* open = out.open(rule.kind)) {
    // Facts behind the first record count where nothing was said before.
    open->log.facts = merge_facts(open->log.facts, said.facts, none);
  }
  if (!states) return true;
  RunDraft& draft = run(rule.kind, line.number, out);
  draft.last_line = line.number;
  if (said.total_seconds) draft.log.totals.training_s = said.total_seconds;
  if (said.average_rate) {
    Stated summary{*said.average_rate, rules_.rate_unit, line.number};
    const auto world = world_ ? world_ : said_.world() ? said_.world() : rules_.facts.world();
    if (rules_.rate_of_one_gpu) summary.value *= world ? static_cast<double>(*world) : kUnknown;
    if (!std::isnan(summary.value) && summary.unit != RateUnit::unknown) {
      draft.log.summary = summary;
    }
  }
  if (said.skipped) {
    draft.log.totals.skipped_steps = draft.log.totals.skipped_steps.value_or(0) + *said.skipped;
  }
  if (said.peak_memory) {
    MemoryUse memory = draft.log.memory.value_or(MemoryUse{});
    memory.peak_bytes = std::max(memory.peak_bytes, *said.peak_memory);
    draft.log.memory = memory;
  }
  if (rule.outcome == Status::completed) {
    draft.ended_well = true;
    // Evaluations on the way, which state no plan of their own, were all that there were to be.
    for (const auto& other : out.drafts()) {
      const bool of_other_kind = other->log.kind != rule.kind && !other->planned;
      if (rule.kind == WorkKind::training && of_other_kind) other->ended_well = true;
    }
  } else if (rule.outcome && !draft.stated_outcome) {
    constexpr std::size_t kDetail = 300;
    const Record* last = draft.last();
    draft.stated_outcome = Outcome{*rule.outcome,
                                   said.step         ? said.step
                                   : last != nullptr ? std::optional(last->step)
                                                     : std::nullopt,
                                   line.number,
                                   {log_line(std::string(trim(line.text).substr(0, kDetail)))}};
  }
  return true;
}

void UserParser::finish(RunBuilder& out) {
  put_first(out, std::nullopt);
  for (const auto& draft : out.drafts()) {
    std::vector<Notice> none;
    draft->log.facts = merge_facts(draft->log.facts, rules_.facts, none);
    if (rules_.rate_of_one_gpu && draft->log.rate_unit == RateUnit::unknown) {
      draft->log.notices.push_back(make_notice(NoticeCode::rate_of_one_gpu, 0, "the printed rate"));
    }
  }
}

}  // namespace

UserFormat::UserFormat(std::unique_ptr<const UserRules> rules) : rules_(std::move(rules)) {
  for (const UserRule& rule : rules_->lines) {
    if (std::ranges::find(literals_, rule.literal) == literals_.end()) {
      literals_.push_back(rule.literal);
    }
  }
}
UserFormat::~UserFormat() = default;

std::string_view UserFormat::name() const { return rules_->name; }

std::unique_ptr<LineParser> UserFormat::make(std::optional<std::int64_t> world) const {
  return std::make_unique<UserParser>(*rules_, world);
}

}  // namespace bertbench
