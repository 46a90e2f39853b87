#include "parsers/log_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

#include "parsers/anchor_scan.h"
#include "parsers/core/text.h"
#include "parsers/fact_rules.h"
#include "parsers/format.h"
#include "parsers/format_choice.h"
#include "parsers/input.h"
#include "parsers/line_cleaner.h"
#include "parsers/line_feed.h"
#include "parsers/outcome_rules.h"
#include "parsers/run_builder.h"
#include "parsers/user_format.h"

namespace bertbench {
namespace {

constexpr std::size_t kUserBit = 61;  ///< built-in formats have the bits below
constexpr std::uint64_t kUserOwner = std::uint64_t{1} << kUserBit;
constexpr std::uint64_t kFactOwner = std::uint64_t{1} << 62;
constexpr std::uint64_t kOutcomeOwner = std::uint64_t{1} << 63;

/// All anchors of the formats in use, of the facts and of the outcomes.
struct Anchors {
  std::vector<std::string> literals;
  std::vector<std::uint64_t> owners;
};

Anchors collect_anchors(std::string_view only, const UserFormat* user_format) {
  std::map<std::string_view, std::uint64_t> found;
  const auto formats = all_formats();
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (!only.empty() && formats[i]->name != only) continue;
    for (const std::string_view anchor : formats[i]->anchors)
      found[anchor] |= std::uint64_t{1} << i;
  }
  if (user_format != nullptr && (only.empty() || only == user_format->name())) {
    for (const std::string& literal : user_format->literals()) found[literal] |= kUserOwner;
  }
  for (const std::string_view anchor : FactRules::anchors()) found[anchor] |= kFactOwner;
  for (const std::string_view anchor : OutcomeRules::anchors()) found[anchor] |= kOutcomeOwner;
  Anchors out;
  for (const auto& [literal, owners] : found) {
    out.literals.emplace_back(literal);
    out.owners.push_back(owners);
  }
  return out;
}

using Tables = std::pair<Anchors, AnchorScanner>;

/// The tables are built once a process, format and format file, when they are first asked for.
std::shared_ptr<const Tables> scanner_for(const std::string& only,
                                          const std::shared_ptr<const UserFormat>& user_format) {
  struct Entry {
    std::weak_ptr<const UserFormat> user_format;
    std::shared_ptr<const Tables> tables;
  };
  static std::mutex mutex;
  static std::map<std::pair<std::string, const UserFormat*>, Entry> entries;
  const std::lock_guard lock(mutex);
  // An address may be used again once its format is gone.
  std::erase_if(entries, [](const auto& entry) {
    return entry.first.second != nullptr && entry.second.user_format.expired();
  });
  Entry& entry = entries[{only, user_format.get()}];
  if (!entry.tables) {
    Anchors anchors = collect_anchors(only, user_format.get());
    AnchorScanner scanner(anchors.literals);
    entry = {user_format, std::make_shared<Tables>(std::move(anchors), std::move(scanner))};
  }
  return entry.tables;
}

/// The format that options ask for; empty = all of them.
std::string only_format(const ReadOptions& options) {
  const auto known = check_format_name(options.format, options.user_format.get());
  return options.format == "auto" || !known ? "" : options.format;
}

struct FormatState {
  std::string_view name;
  std::unique_ptr<LineParser> parser;
  std::unique_ptr<RunBuilder> builder;
  std::int64_t matched = 0;
};

bool has_training_records(const FormatState& state) {
  return std::ranges::any_of(state.builder->drafts(), [](const auto& draft) {
    return !draft->discard && draft->log.kind == WorkKind::training && draft->count() > 0;
  });
}

LiveView view_of(const RunDraft& draft) {
  LiveView out;
  out.records = draft.count();
  out.iteration_unit = draft.log.iteration_unit;
  out.planned = draft.planned;
  out.ended_well = draft.ended_well;
  const auto& records = draft.records();
  if (records.empty()) return out;
  out.last_step = records.back().step;
  for (auto it = records.rbegin(); it != records.rend() && std::isnan(out.last_loss); ++it) {
    out.last_loss = it->loss;
  }
  constexpr std::size_t kRecent = 10;
  const std::size_t first = records.size() - std::min(records.size(), kRecent);
  double seconds = 0, rates = 0;
  std::int64_t iterations = 0, rated = 0;
  for (std::size_t i = first; i < records.size(); ++i) {
    seconds += records[i].seconds;
    iterations += records[i].iterations;
    if (!std::isnan(records[i].printed_rate)) {
      rates += records[i].printed_rate;
      ++rated;
    }
  }
  const double clock = records.back().time_s - records[first].time_s;
  const auto steps = static_cast<double>(records.back().step - records[first].step);
  if (seconds > 0) {
    out.iterations_per_second = static_cast<double>(iterations) / seconds;
  } else if (clock > 0) {
    out.iterations_per_second = steps / clock;
  }
  if (rated > 0 && draft.log.rate_unit != RateUnit::unknown) {
    out.recent_rate = rates / static_cast<double>(rated);
    out.unit = draft.log.rate_unit;
    if (out.unit == RateUnit::iterations_per_second && std::isnan(out.iterations_per_second)) {
      out.iterations_per_second = out.recent_rate;
    }
  } else if (!std::isnan(out.iterations_per_second)) {
    out.recent_rate = out.iterations_per_second;
    out.unit = RateUnit::iterations_per_second;
  }
  return out;
}

// A log's own closing number beside what its counter and clock give: a script that takes the last
// redraw, or counts applied updates only, is told apart from the run's rate.
void compare_summary(RunLog& run) {
  constexpr double kTolerance = 0.02;
  if (!run.summary || run.summary->unit != RateUnit::sequences_per_second) return;
  const auto sequences = run.iteration_unit == IterationUnit::optimizer_step
                             ? run.facts.sequences_per_optimizer_step()
                             : run.facts.sequences_per_micro_step();
  if (!sequences || run.records.size() < 2 || run.kind != WorkKind::training) return;
  const Record& first = run.records.front();
  const Record& last = run.records.back();
  double seconds = 0, iterations = 0;  // of the step times, if all are known
  for (const Record& record : run.records) {
    seconds += record.seconds;
    iterations += static_cast<double>(record.iterations);
  }
  const char* what = "the step times";
  double resolution = 0;
  if (std::isnan(seconds)) {
    what = "counter over clock";
    resolution = run.clock_resolution_s;
    seconds = run.clock_is_wall ? last.time_s - first.time_s : last.time_s;
    iterations = run.clock_is_wall ? iterations - static_cast<double>(first.iterations)
                                   : static_cast<double>(last.step);
  }
  if (!(seconds > 0)) return;
  const double rate = iterations * static_cast<double>(*sequences) / seconds;
  const double gap = run.summary->value / rate - 1;
  if (!(std::abs(gap) > kTolerance + resolution / seconds)) return;
  run.notices.push_back(
      {run.summary->line,
       fmt::format("the log's closing statement, {:.6g} sequences/s, is {:.1f} % {} {} "
                   "({:.6g} sequences/s)",
                   run.summary->value, std::abs(gap) * 100, gap > 0 ? "above" : "below", what,
                   rate)});
}

}  // namespace

struct LogReader::State final : CandidateSink {
  State(ReadOptions o, std::string p)
      : options(std::move(o)),
        path(std::move(p)),
        tables(scanner_for(only_format(options), options.user_format)),
        feed(tables->second, tables->first.owners) {
    for (const Format* format : all_formats()) add_format(format->name, format->make());
    if (options.user_format) {
      add_format(options.user_format->name(), options.user_format->make(options.world));
    }
  }

  void add_format(std::string_view name, std::unique_ptr<LineParser> parser) {
    formats.push_back(
        {name, std::move(parser), std::make_unique<RunBuilder>(name, path, options.window), 0});
  }

  void candidate(const Candidate& found) override {
    const std::string_view clean = strip_ansi(found.text, ansi);
    split_by_launcher(clean, pieces);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      Line line;
      line.text = pieces[i].text;
      line.number = found.number;
      line.rank = pieces[i].rank;
      // Only the last piece can be cut by the end of input.
      line.terminator = i + 1 < pieces.size() ? '\n' : found.terminator;
      dispatch(line, found.owners);
    }
  }

  void dispatch(const Line& line, std::uint64_t owners) {
    if ((owners & kFactOwner) != 0) facts.see(line);
    if ((owners & kOutcomeOwner) != 0) {
      Line shown = line;
      if (const auto text = behind_host_label(line.text); text.starts_with("[rank")) {
        shown.text = text.substr(std::min(text.size(), text.find(' ') + 1));
      }
      outcomes.see(shown);
    }
    for (std::size_t i = 0; i < formats.size(); ++i) {
      const std::size_t bit = i < all_formats().size() ? i : kUserBit;
      if ((owners >> bit & 1) == 0) continue;
      FormatState& state = formats[i];
      if (state.parser->parse(line, *state.builder)) {
        ++state.matched;
        continue;
      }
      Line behind = line;
      behind.text = behind_host_label(line.text);
      if (!behind.text.empty() && state.parser->parse(behind, *state.builder)) ++state.matched;
    }
  }

  /// The format whose runs are shown: see parsers/format_choice.h.
  [[nodiscard]] const FormatState* leading() const {
    const FormatState* best = nullptr;
    Evidence of_best;
    for (const FormatState& state : formats) {
      if (state.matched == 0) continue;
      Evidence evidence = evidence_of(*state.builder, state.matched);
      evidence.given = options.user_format && state.name == options.user_format->name();
      if (best != nullptr && !evidence.beats(of_best)) continue;
      best = &state;
      of_best = evidence;
    }
    return best;
  }

  std::vector<RunLog> finish();

  ReadOptions options;
  std::string path;
  std::shared_ptr<const Tables> tables;
  LineFeed feed;
  std::vector<FormatState> formats;
  FactRules facts;
  OutcomeRules outcomes;
  std::string ansi;
  std::vector<Piece> pieces;
};

std::vector<RunLog> LogReader::State::finish() {
  feed.finish(*this);
  for (FormatState& state : formats) {
    if (state.matched > 0) state.parser->finish(*state.builder);
  }
  const FormatState* best = leading();
  if (best == nullptr) return {};
  auto& drafts = best->builder->drafts();
  std::erase_if(drafts, [](const auto& draft) { return draft->discard; });
  // A recognised log without any record still says how it ended.
  if (drafts.empty()) best->builder->extra(WorkKind::training, 1);
  std::ranges::stable_sort(drafts, {}, [](const auto& draft) { return draft->log.first_line; });
  std::string others;
  for (const FormatState& state : formats) {
    if (&state == best || !has_training_records(state)) continue;
    others += (others.empty() ? "" : ", ") + std::string(state.name);
  }
  std::vector<RunLog> out;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    RunDraft& draft = *drafts[i];
    const auto later = [&](std::size_t from) {  // where the next run of the same kind begins
      for (std::size_t k = from + 1; k < drafts.size(); ++k) {
        if (drafts[k]->log.kind == draft.log.kind) return drafts[k]->log.first_line;
      }
      return std::numeric_limits<std::int64_t>::max();
    };
    std::int64_t begin = 0;  // statements in front of a run are its own
    for (std::size_t k = 0; k < i; ++k) {
      if (drafts[k]->log.kind == draft.log.kind) begin = drafts[k]->last_line;
    }
    const std::int64_t end = later(i);
    const bool first = begin == 0;
    facts.apply(draft, 0, end);
    Facts others_say = best->builder->facts;
    // A format stands for a framework only where the log names none (bert_train speaks like
    // several).
    if (draft.log.facts.framework.known()) others_say.framework = {};
    draft.log.facts = merge_facts(draft.log.facts, others_say, draft.log.notices);
    draft.log.outcome = outcomes.decide(draft, first ? 0 : begin, end);
    if (!others.empty()) {
      draft.log.notices.push_back(
          {0, "the log also has training records of " + others + "; --format takes those"});
    }
    out.push_back(draft.take());
    compare_summary(out.back());
  }
  return out;
}

LogReader::LogReader(ReadOptions options, std::string path_for_messages)
    : state_(std::make_unique<State>(std::move(options), std::move(path_for_messages))) {}
LogReader::LogReader(LogReader&&) noexcept = default;
LogReader& LogReader::operator=(LogReader&&) noexcept = default;
LogReader::~LogReader() = default;

void LogReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::span<char> room = state_->feed.room();
    const std::size_t n = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), n);
    state_->feed.commit(n, *state_);
    bytes.remove_prefix(n);
  }
}

LiveView LogReader::live() const {
  LiveView out;
  const FormatState* best = state_->leading();
  if (best != nullptr) {
    if (const RunDraft* draft = best->builder->current()) {
      out = view_of(*draft);
      out.facts = state_->facts.so_far(*draft);
    }
  }
  // A format may keep losses apart from rates until it knows how they belong together.
  if (best != nullptr) {
    for (const auto& draft : best->builder->drafts()) {
      if (draft->discard || !draft->log.first_nan_step) continue;
      out.trouble = Outcome{Status::nan, draft->log.first_nan_step, 0, "the loss is not finite"};
    }
  }
  if (auto trouble = state_->outcomes.trouble()) {
    if (!out.trouble || trouble->status == Status::out_of_memory) out.trouble = std::move(trouble);
  }
  return out;
}

std::vector<RunLog> LogReader::finish() {
  std::vector<RunLog> out = state_->finish();
  state_ = std::make_unique<State>(state_->options, state_->path);
  return out;
}

Result<void> check_format_name(const std::string& name, const UserFormat* user_format) {
  if (name == "auto") return {};
  std::vector<std::string> known;
  std::string list = "auto";
  for (const Format* format : all_formats()) {
    if (format->name == name) return {};
    known.emplace_back(format->name);
    list += ", " + std::string(format->name);
  }
  if (user_format != nullptr) {
    if (user_format->name() == name) return {};
    known.emplace_back(user_format->name());
    list += ", " + std::string(user_format->name());
  }
  const std::string near = nearest_name(name, known);
  return fail(
      "--format",
      "'" + name + "' is no format" + (near.empty() ? "" : ", did you mean '" + near + "'?"),
      "use one of: " + list);
}

namespace {

// The source writes straight behind the unfinished line: no copy of the block.
Result<std::string> read_all(ByteSource& source, LineFeed& feed, CandidateSink& sink) {
  while (true) {
    auto got = source.read(feed.room());
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) return source.problem();
    feed.commit(*got, sink);
  }
}

}  // namespace

Result<std::vector<RunLog>> read_log(const std::string& path, const ReadOptions& options) {
  if (auto known = check_format_name(options.format, options.user_format.get()); !known) {
    return tl::unexpected(known.error());
  }
  auto source = open_source(path);
  if (!source) return tl::unexpected(source.error());
  LogReader reader(options, path);
  auto problem = read_all(**source, reader.state_->feed, *reader.state_);
  if (!problem) return tl::unexpected(problem.error());
  if (reader.state_->feed.bytes() == 0 && problem->empty()) {
    return fail(path, "is empty", "was anything written to it yet?");
  }
  std::vector<RunLog> runs = reader.finish();
  if (runs.empty()) {
    const std::string which =
        options.format == "auto" ? "any known format" : "the format '" + options.format + "'";
    return fail(path, "no line is of " + which + (problem->empty() ? "" : " (" + *problem + ")"),
                "see the formats with `bertbench list formats`");
  }
  if (!problem->empty()) {
    for (RunLog& run : runs) run.notices.push_back({0, *problem});
  }
  return runs;
}

}  // namespace bertbench
