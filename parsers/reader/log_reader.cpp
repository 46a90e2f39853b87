#include "parsers/reader/log_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "parsers/assemble/assembler.h"
#include "parsers/assemble/record_store.h"
#include "parsers/assemble/run_builder.h"
#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"
#include "parsers/described/described_format.h"
#include "parsers/formats/format.h"
#include "parsers/input/input.h"
#include "parsers/lines/decoration.h"
#include "parsers/lines/json_line.h"
#include "parsers/lines/line_cleaner.h"
#include "parsers/reader/anchor_tables.h"
#include "parsers/reader/closing_runs.h"
#include "parsers/reader/format_choice.h"
#include "parsers/reader/second_look.h"
#include "parsers/rules/fact_rules.h"
#include "parsers/rules/mark_rules.h"
#include "parsers/rules/outcome_rules.h"
#include "parsers/scan/byte_search.h"
#include "parsers/scan/chunk_scan.h"
#include "parsers/scan/line_feed.h"

namespace bertbench {
namespace {

/// FormatState: what one format found in a log.
/// Made when the first of the format's lines comes: most formats have none.
struct FormatState {
  std::string_view name;
  std::unique_ptr<RunBuilder> builder;
  std::int64_t matched = 0;           ///< lines that are of the format
  bool json_lines = false;            ///< the first of them holds a JSON object
  std::int64_t unreadable = 0;        ///< lines with broken JSON
  std::int64_t first_unreadable = 0;  ///< number of the first of them

  [[nodiscard]] bool made() const { return builder != nullptr; }
  void make(const Format& its_format, std::unique_ptr<RunBuilder> its_builder) {
    if (its_format.make != nullptr) {
      return make(its_format.name, its_format.make(), std::move(its_builder));
    }
    name = its_format.name;
    builder = std::move(its_builder);
    format_ = &its_format;
    state_ = {its_format.table.state.make(), its_format.table.state.destroy};
    assembler_.emplace(
        *builder, its_format.table.runs,
        [state = state_.get(), facts_of = its_format.table.state.facts](Facts& facts) {
          if (facts_of != nullptr) facts_of(state, facts);
        });
  }

  void make(std::string_view its_name, std::unique_ptr<LineParser> its_parser,
            std::unique_ptr<RunBuilder> its_builder) {
    name = its_name;
    builder = std::move(its_builder);
    parser_ = std::move(its_parser);
  }
  /// Shows the format a line, also without the label of a host or the front of a logger around it.
  bool parse(const Line& line) {
    if (parse_as_is(line)) return true;
    Line undecorated = line;
    // In the shape of a loop's own lines labels are read: "Eval: step 10" is none of "step 10".
    undecorated.text = name == kGenericName ? std::string_view{} : after_host_label(line.text);
    if (!undecorated.text.empty() && parse_as_is(undecorated)) return true;
    // In a log without a logger around it, only its front distinguishes an evaluation from
    // training.
    constexpr std::int64_t kUndecoratedLines = 2, kRefusalLimit = 300;
    if (matched - decorated_ > kUndecoratedLines + decorated_) return false;
    if (decorated_ == 0 && refused_++ > kRefusalLimit) return false;
    const auto parse_text = [&](std::string_view text) {
      undecorated.text = text;
      if (!parse_as_is(undecorated)) return false;
      ++decorated_;
      return true;
    };
    if (std::ranges::any_of(Layers(line.text), parse_text)) return true;
    // A page or a notebook indents the whole log; else so many blanks are no decoration.
    constexpr std::size_t kCode = 4;
    const auto indent = line.text.find_first_not_of(" \t");
    if (indent == std::string_view::npos || indent == 0) return false;
    if (indent < kCode && line.text[0] != '\t') return false;
    const std::string_view text = line.text.substr(indent);
    return parse_text(text) || std::ranges::any_of(Layers(text), parse_text);
  }

  /// A copy of the line parsed last would change nothing and match again.
  [[nodiscard]] bool settled() const { return parser_ && parser_->settled(); }
  /// The format's lines may hold no literal.
  [[nodiscard]] bool is_table() const {
    return parser_ ? parser_->wants_every_line()
                   : format_ != nullptr && format_->table.state.row != nullptr;
  }
  [[nodiscard]] bool wants_every_line() const {
    if (parser_) return parser_->wants_every_line();
    return is_table() && format_->table.state.wants_every_line(state_.get());
  }
  void finish() {
    if (parser_) return parser_->finish(*builder);
    if (format_->table.state.finish != nullptr)
      format_->table.state.finish(state_.get(), {*assembler_, 0, -1, -1});
    assembler_->finish(format_->framework);
  }

  [[nodiscard]] bool has_training_records() const {
    return matched > 0 && std::ranges::any_of(builder->drafts(), [](const auto& draft) {
             return !draft->discard && draft->log.kind == WorkKind::training && draft->count() > 0;
           });
  }

 private:
  bool parse_as_is(const Line& line) {
    if (parser_) return parser_->parse(line, *builder);
    constexpr std::size_t kHandlers = 16;  // a line with literals of more shows some of them twice
    std::array<bool (*)(void*, const Line&, Emit), kHandlers> seen{};
    std::size_t count = 0;
    const Emit emit(*assembler_, line.number, line.end_byte, line.rank);
    const bool taken = any_row(line, [&](std::uint32_t row, std::size_t at) {
      const Row& rule = format_->table.rows[row];
      const auto end = seen.begin() + static_cast<std::ptrdiff_t>(count);
      if (std::find(seen.begin(), end, rule.handle) != end) return false;
      if (count < kHandlers) seen[count++] = rule.handle;
      Line here = line;
      here.at = at;
      here.end = at + rule.literal.size();
      return rule.handle(state_.get(), here, emit);
    });
    return taken || (wants_every_line() && format_->table.state.row(state_.get(), line, emit));
  }

  const Format* format_ = nullptr;  ///< one that is a table
  std::unique_ptr<void, void (*)(void*)> state_{nullptr, nullptr};
  std::optional<Assembler> assembler_;
  std::unique_ptr<LineParser> parser_;
  std::int64_t decorated_ = 0, refused_ = 0;  ///< matched after a logger's front, not at all
};

// The state of one run of a log that is still growing.

// All but the facts and the trouble, which are the whole log's.
LiveView view_of(const RunDraft& draft) {
  LiveView out;
  out.records = draft.count();
  out.iteration_unit = draft.log.iteration_unit;
  out.planned = draft.log.planned;
  out.ended_well = draft.ended_well;
  const auto& records = draft.records();
  if (records.empty()) return out;
  // Of a log that numbers its lines otherwise, both by the updates.
  out.last_step = records.back().step;
  const auto& done = draft.log.totals.last_optimizer_step;
  const std::int64_t ahead = done ? records.back().step - *done : 0;
  if (ahead > 0 && out.iteration_unit == IterationUnit::optimizer_step) {
    if (out.planned) *out.planned -= ahead;
    out.last_step = *done;
  }
  for (auto it = records.rbegin(); it != records.rend() && std::isnan(out.last_loss); ++it) {
    out.last_loss = it->loss;
  }
  constexpr std::size_t kRecordsOfLiveRate = 10;
  const std::size_t first = records.size() - std::min(records.size(), kRecordsOfLiveRate);
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
  const bool of_job = draft.log.rate_unit != RateUnit::unknown && !draft.rates_of_one_gpu;
  if (rated > 0 && of_job) {
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

bool is_format(std::string_view name, const DescribedFormat* user_format) {
  return std::ranges::find(all_formats(), name, &Format::name) != all_formats().end() ||
         (user_format != nullptr && user_format->name() == name);
}

/// Whether options ask for one format.
bool asks_for_one(const ReadOptions& options) {
  return options.format != "auto" && options.format != kGenericName;
}

/// The format that options ask for; empty = all of them.
std::string only_format(const ReadOptions& options) {
  return asks_for_one(options) ? options.format : "";
}

/// Whether the lines of an unread log may become a format.
bool may_look_again(const ReadOptions& options) {
  return !asks_for_one(options) && options.user_format == nullptr;
}

constexpr std::string_view kNoFormat = "unknown";  ///< RunLog::format of a log without any

}  // namespace

struct LogReader::State final : CandidateSink {
  State(std::shared_ptr<const AnchorTables> t, ReadOptions o, std::string p)
      : options(std::move(o)),
        path(std::move(p)),
        only(only_format(options)),
        tables(std::move(t)),
        feed(tables->scanner()),
        formats(tables->formats().size() + 1),
        bars(bar_owner(tables->formats())) {}

  /// The owner of the format that reads bars; where none is read, a number that no owner has.
  static std::uint32_t bar_owner(std::span<const Format* const> formats) {
    const auto found = std::ranges::find_if(
        formats, [](const Format* format) { return format->redraw_end != nullptr; });
    if (found == formats.end()) return std::numeric_limits<std::uint32_t>::max();
    return kFormats + static_cast<std::uint32_t>(found - formats.begin());
  }

  /// The format of an owner; the user's own is the last one.
  FormatState& format_of(std::uint32_t owner) {
    const auto known = tables->formats();
    const std::size_t i = owner - kFormats;
    FormatState& state = formats[i];
    if (state.made()) return state;
    const bool users = i == known.size();
    const std::string_view name = users ? options.user_format->name() : known[i]->name;
    auto builder = std::make_unique<RunBuilder>(name, path, options.window, &budget);
    builder->world = options.world;
    builder->asked_for = only == name;
    builder->of_training = options.of_training;
    if (users) {
      state.make(name, options.user_format->make(), std::move(builder));
    } else {
      state.make(*known[i], std::move(builder));
    }
    return state;
  }

  void candidate(const Candidate& found) override {
    Line line;
    line.number = found.number;
    line.end_byte = found.end_byte;
    const std::string_view text = without_holes(found.text, found.number == 1);
    if (is_bare(text)) {
      tables->places(text, found.data, found.hits, places);
      line.text = text;
      line.terminator = found.terminator;
      dispatch(line, found, found.repeats);
      return;
    }
    clean_line(text, ansi, pieces);
    // A line of one piece is repeated piece by piece; of several each copy is gone through in turn.
    const bool one = pieces.size() == 1;
    const bool copied = std::ranges::any_of(
        pieces, [&](const Piece& piece) { return !lies_in(piece.text, found.text); });
    for (std::int64_t copy = 0; copy <= (one ? 0 : found.repeats); ++copy) {
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        line.text = pieces[i].text;
        line.rank = pieces[i].rank;
        line.whole = pieces[i].whole;
        // Only the last piece can be cut by the end of input.
        const char between = pieces[i].redrawn ? '\r' : '\n';
        line.terminator = i + 1 < pieces.size() ? between : found.terminator;
        if (copied) {
          tables->places(line.text, places);
        } else {
          tables->places(line.text, found.data, found.hits, places);
        }
        dispatch(line, found, one ? found.repeats : 0);
      }
    }
  }

  static bool lies_in(std::string_view part, std::string_view text) {
    return std::less_equal<>()(text.data(), part.data()) &&
           std::less_equal<>()(part.data() + part.size(), text.data() + text.size());
  }

  [[nodiscard]] bool wants_every_line() const override { return !every_line.empty(); }

  /// Shows the outcome rules the 'File' lines before a candidate of theirs that they have not
  /// seen yet.
  void replay_traceback(const Candidate& found) {
    std::string_view text = found.before;
    // Nearly all candidates have none before them: one search, of the word that is rarer than
    // blanks, and no look at each line.
    if (find_text(text, trim(kFileLine)) == std::string_view::npos) {
      outcome_line = found.number;
      return;
    }
    std::int64_t number = found.number - count_newlines(text);
    // The first line may be cut at its front.
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(find_line_break(text, at), text.size());
      const std::string_view whole = text.substr(at, end - at);
      if (number > outcome_line && find_text(whole, kFileLine) != std::string_view::npos) {
        clean_line(whole, file_ansi, file_pieces);
        for (const Piece& piece : file_pieces) {
          Line line;
          line.text = piece.text;
          line.number = number;
          line.rank = piece.rank;
          outcomes.see(line);
        }
      }
      if (end < text.size() && text[end] == '\n') ++number;
      at = end + 1;
    }
    outcome_line = found.number;
  }

  /// Those of the places found that begin with the first of `rest` and are of the same owner.
  static std::span<const LiteralAt> first_owner(std::span<const LiteralAt> rest) {
    std::size_t n = 0;
    while (n < rest.size() && rest[n].owner == rest[0].owner) ++n;
    return rest.first(n);
  }

  [[nodiscard]] bool yields(std::uint32_t owner) const {
    if (owner < kFormats) return false;
    const auto known = tables->formats();
    const std::size_t i = owner - kFormats;
    return i < known.size() ? known[i]->yields : options.user_format->yields();
  }

  /// What follows the bars of a line; empty where there is no bar or nothing after it.
  std::string_view after_bar(const Line& line) const {
    Line bar = line;
    bar.literals = {};  // the line may hold those of the piece before
    bool others = false;
    for (std::span<const LiteralAt> rest = places; !rest.empty();) {
      const auto of = first_owner(rest);
      if (of[0].owner == bars) bar.literals = of;
      others = others || (of[0].owner != bars && of[0].owner != kMarks);
      rest = rest.subspan(of.size());
    }
    if (!others || bar.literals.empty()) return {};
    const std::size_t end = tables->formats()[bars - kFormats]->redraw_end(bar);
    if (end == 0) return {};
    const std::string_view rest = line.text.substr(end);
    return trim(rest).empty() ? std::string_view() : rest;
  }

  /// `repeats` more copies of the line follow.
  void dispatch(Line& line, const Candidate& found, std::int64_t repeats) {
    newest_line = line.number;
    const std::string_view rest_of_line = after_bar(line);
    bool table = false, taken = false, any_yields = false;
    const auto show_owners = [&](bool yielding) {
      for (std::span<const LiteralAt> rest = places; !rest.empty();) {
        line.literals = first_owner(rest);
        rest = rest.subspan(line.literals.size());
        const std::uint32_t owner = line.literals[0].owner;
        const bool this_yields = yields(owner);
        any_yields = any_yields || this_yields;
        if (this_yields != yielding) continue;
        if (owner < kFormats) {
          show_rules(line, found, repeats, rest_of_line);
          continue;
        }
        FormatState& state = format_of(owner);
        const std::int64_t matched = state.matched;
        table |= show_format(line, owner, state, repeats, rest_of_line);
        taken = taken || state.matched > matched;
      }
    };
    show_owners(false);
    if (any_yields && !taken) show_owners(true);
    for (const std::uint32_t owner : every_line) {
      const auto same = [&](const LiteralAt& at) { return at.owner == owner; };
      if (std::ranges::any_of(places, same)) continue;
      line.literals = {};
      table |= show_format(line, owner, format_of(owner), repeats, rest_of_line);
    }
    if (!table) return;
    every_line.clear();
    for (std::uint32_t i = 0; i < formats.size(); ++i) {
      if (formats[i].wants_every_line()) every_line.push_back(kFormats + i);
    }
  }

  /// Whether the format may be in a table of its own.
  bool show_format(const Line& line, std::uint32_t owner, FormatState& state, std::int64_t repeats,
                   std::string_view rest_of_line) {
    const bool glued = !rest_of_line.empty() && owner != bars;
    Line rest = line;
    if (glued) rest.text = rest_of_line;
    const std::int64_t matched = state.matched;
    for (std::int64_t n = 0; n <= repeats; ++n) {
      if (!(glued && state.parse(rest)) && !state.parse(line)) continue;
      if (state.matched == 0) state.json_lines = has(line, "{\"");
      ++state.matched;
      if (n == repeats || !state.settled()) continue;
      state.matched += repeats - n;
      break;
    }
    // The end of input may have cut it, and what is read must not depend on where.
    if (state.json_lines && state.matched == matched && line.terminator != 0 &&
        holds_broken_object(line.text)) {
      if (state.unreadable == 0) state.first_unreadable = line.number;
      state.unreadable += 1 + repeats;
    }
    return state.is_table();
  }

  void show_rules(const Line& line, const Candidate& found, std::int64_t repeats,
                  std::string_view rest_of_line) {
    const std::uint32_t owner = line.literals[0].owner;
    if (owner == kMarks) return marks.see(line);
    Line part = line;
    if (!rest_of_line.empty()) part.text = rest_of_line;
    if (owner == kFacts) return facts.see(part);
    part.text = without_host_and_rank(part.text);
    replay_traceback(found);
    constexpr std::int64_t kRepeatsCounted = 32;  // signs of one kind that are kept
    for (std::int64_t n = 0; n <= std::min(repeats, kRepeatsCounted); ++n) outcomes.see(part);
  }

  /// The format whose runs are shown: see parsers/reader/format_choice.h.
  [[nodiscard]] const FormatState* leading() const {
    const FormatState* best = nullptr;
    Evidence of_best;
    for (const FormatState& state : formats) {
      if (state.matched == 0 || (!only.empty() && state.name != only)) continue;
      Evidence evidence = evidence_of(*state.builder, state.matched);
      evidence.given = state.builder->own_file ||
                       (options.user_format && state.name == options.user_format->name());
      if (best != nullptr && !evidence.beats(of_best)) continue;
      best = &state;
      of_best = evidence;
    }
    return best;
  }

  /// A named format has a training of its own. Without a step or a total, or without any time or
  /// rate, it claims none: the banner of the Hugging Face Trainer is printed by loops of other
  /// layouts, and bars may be those of tests or downloads. Steps of inference of which a format
  /// states everything, their kind too, are no training that another could read.
  [[nodiscard]] bool claims_training() const {
    if (options.format == kGenericName) return false;
    for (const FormatState& state : formats) {
      if (state.matched == 0) continue;
      for (const auto& draft : state.builder->drafts()) {
        if (draft->discard || draft->unproven) continue;
        if (draft->log.kind != WorkKind::training) {
          if (draft->own_facts && draft->last() != nullptr) return true;
          continue;
        }
        if (has_losses_only(*draft)) continue;
        if (all_epochs_in_one(draft->log.iteration_unit, draft->records())) continue;
        const Totals& totals = draft->log.totals;
        if (draft->last() != nullptr || draft->log.summary || totals.training_s || totals.wall_s) {
          return true;
        }
      }
    }
    return false;
  }

  /// The log ends: for its last line, and for each format that read any.
  void end_formats() {
    feed.finish(*this);
    for (FormatState& state : formats) {
      if (state.matched > 0) state.finish();
    }
  }

  [[nodiscard]] std::vector<RunLog> finish() {
    if (feed.is_within_a_line()) outcomes.cut_at(feed.line());
    end_formats();
    claimed = claims_training();
    const FormatState* best = leading();
    if (best == nullptr) return end_only();
    std::string others;
    for (std::size_t i = 0; i < formats.size(); ++i) {
      FormatState& state = formats[i];
      if (&state == best || state.matched == 0 || !only.empty()) continue;
      move_stated_evaluations(*state.builder, *best->builder);
      copy_official_end(*state.builder, *best->builder);
      // What a format that yields has is what the others left, as bert_train's checkpoints.
      if (!state.has_training_records() || yields(kFormats + static_cast<std::uint32_t>(i))) {
        continue;
      }
      others += (others.empty() ? "" : ", ") + std::string(state.name);
    }
    auto runs = close_runs(*best->builder, {facts, outcomes, marks, newest_line}, others);
    if (best->unreadable > 0 && !runs.empty()) {
      runs.front().note(NoticeCode::lines_unreadable, best->first_unreadable,
                        counted(best->unreadable, "line"));
    }
    return runs;
  }

  /// What the rules alone have of a log.
  [[nodiscard]] std::vector<RunLog> without_steps() const {
    RunBuilder nothing(kNoFormat, path, options.window);
    return close_runs(nothing, {facts, outcomes, marks, newest_line}, "");
  }

  /// No line is of a known format, but the log shows how the job ended: before its first step, in
  /// a file of its own, or after steps that nothing reads.
  [[nodiscard]] std::vector<RunLog> end_only() const {
    // Whoever names a format asks for its lines; a failure explains why there are none. The times
    // of a rank are read with the steps that another rank printed into a log of its own.
    const bool ends = only.empty() ? outcomes.names_an_end() : outcomes.names_a_failure();
    if (!ends && marks.rank_times().of(0, newest_line + 1).empty()) return {};
    auto runs = without_steps();
    for (RunLog& run : runs) {
      for (Notice& detail : run.outcome.details) {
        if (detail.code == NoticeCode::no_step) detail = make_notice(NoticeCode::no_known_line, 0);
      }
    }
    return runs;
  }

  /// The log shows a training, but nothing was read of it: its end alone.
  [[nodiscard]] std::vector<RunLog> unread(const UnreadTraining& training) const {
    auto runs = without_steps();
    for (RunLog& run : runs) {
      note_unread(run, training);
      Outcome& outcome = run.outcome;
      // What closes before the newest line of the training closed a part of it, and what failed
      // before it was another launch (quoted/several_runs.a_launch_that_nothing_reads).
      const bool goes_on = outcome.line < training.last_line && outcome.status != Status::nan &&
                           !outcomes.trouble(training.last_line);
      if (outcome.status != Status::no_data && !goes_on) continue;
      const auto end = training.nan ? std::nullopt : outcomes.end_after(training.last_line);
      outcome = {end            ? Status::completed
                 : training.nan ? Status::nan
                                : Status::truncated,
                 std::nullopt,
                 end.value_or(training.last_line),
                 {make_notice(NoticeCode::no_known_line, 0)}};
    }
    return runs;
  }

  /// The runs of the generic reader where it reads more than the named formats, or is asked for.
  [[nodiscard]] std::vector<RunLog> best_of(std::vector<RunLog> named, std::vector<RunLog> generic,
                                            const std::optional<UnreadTraining>& training) const {
    if (options.format == kGenericName || reads_more(generic, named)) return generic;
    return training && nothing_read(named) ? unread(*training) : std::move(named);
  }

  /// No run, or one that has nothing but its end.
  [[nodiscard]] static bool nothing_read(const std::vector<RunLog>& runs) {
    return std::ranges::all_of(runs, [](const RunLog& run) { return run.format == kNoFormat; });
  }

  ReadOptions options;
  std::string path;
  const std::string only;  ///< the format whose runs are shown; empty = that of the best evidence
  std::shared_ptr<const AnchorTables> tables;
  LineFeed feed;
  RecordBudget budget;  ///< outlives the formats' runs
  std::vector<FormatState> formats;
  const std::uint32_t bars;               ///< owner of the format that reads bars
  std::vector<std::uint32_t> every_line;  ///< owners that are in a table
  std::vector<LiteralAt> places;          ///< of the literals on the line
  FactRules facts;
  OutcomeRules outcomes;
  MarkRules marks;
  std::string ansi;
  std::vector<Piece> pieces;
  std::string file_ansi;
  std::vector<Piece> file_pieces;
  std::int64_t newest_line = 0;       ///< that was a candidate
  std::int64_t outcome_line = 0;      ///< of the newest candidate of the outcome rules
  bool claimed = false;               ///< a training, at the end of the log
  std::unique_ptr<GrowingLook> look;  ///< of a log that comes piece by piece
};

LogReader::LogReader(ReadOptions options, std::string path_for_messages)
    : LogReader(AnchorTables::of(only_format(options), options.user_format), options,
                std::move(path_for_messages)) {}
LogReader::LogReader(std::shared_ptr<const AnchorTables> tables, ReadOptions options,
                     std::string path_for_messages)
    : state_(std::make_unique<State>(std::move(tables), std::move(options),
                                     std::move(path_for_messages))) {}
LogReader::LogReader(LogReader&&) noexcept = default;
LogReader& LogReader::operator=(LogReader&&) noexcept = default;
LogReader::~LogReader() = default;

void LogReader::feed(std::string_view bytes) {
  if (may_look_again(state_->options)) {
    if (!state_->look) state_->look = std::make_unique<GrowingLook>(state_->options, state_->path);
    state_->look->feed(bytes, state_->claims_training());
  }
  while (!bytes.empty()) {
    const std::span<char> room = state_->feed.room();
    const std::size_t n = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), n);
    state_->feed.commit(n, *state_);
    bytes.remove_prefix(n);
  }
}

LiveView LogReader::live() const {
  if (state_->look && !state_->claims_training()) {
    if (const LogReader* generic = state_->look->reader()) return generic->live();
  }
  LiveView out;
  const FormatState* best = state_->leading();
  std::int64_t survived_line = 0;
  if (best != nullptr) {
    if (const RunDraft* draft = best->builder->current()) {
      out = view_of(*draft);
      out.ended_well = out.ended_well || state_->outcomes.is_stated_over(*draft);
      out.facts = state_->facts.so_far(*draft);
      survived_line = OutcomeRules::survived_line(*draft);
    }
    // A format may keep losses apart from rates until it knows how they belong together.
    for (const auto& draft : best->builder->drafts()) {
      if (draft->discard || !draft->log.first_nan_step) continue;
      out.trouble = Outcome{
          Status::nan, draft->log.first_nan_step, 0, {make_notice(NoticeCode::loss_not_finite, 0)}};
    }
  }
  if (auto trouble = state_->outcomes.trouble(survived_line)) {
    if (!out.trouble || trouble->status == Status::out_of_memory) out.trouble = std::move(trouble);
  }
  return out;
}

std::vector<RunLog> LogReader::finish(const std::string& whole) {
  const auto bytes = static_cast<std::size_t>(state_->feed.bytes());
  std::vector<RunLog> out = state_->finish();
  if (state_->look && !state_->claimed) {
    auto generic = state_->look->finish();
    Induced induced;
    induced.training = state_->look->training();
    if (generic.empty() && !whole.empty() && bytes > GrowingLook::kHead) {
      generic = second_look(
          state_->path, state_->options,
          [&]() -> std::unique_ptr<ByteSource> {
            auto source = open_source(whole);
            return source ? std::move(*source) : nullptr;
          },
          induced);
    }
    out = state_->best_of(std::move(out), std::move(generic), induced.training);
  }
  state_ = std::make_unique<State>(state_->tables, state_->options, state_->path);
  return out;
}

namespace {

constexpr std::int64_t kWorthChunks = 4 << 20;

constexpr std::size_t kHeadBytes = 64 << 10;

/// The beginning of a file, as far as a page has its settings.
std::string head_of(int file) {
  static_assert(kHeadBytes >= LineFeed::kReach);
  std::string text(kHeadBytes, '\0');
  const ssize_t n = ::pread(file, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

/// A program, an object file or an archive, whose texts may hold what a log prints. A log that a
/// crash or a rotation damaged holds NUL bytes too, but no other bytes that no text has.
Result<void> check_text(const std::string& path, std::string_view head) {
  // Of the head: programs, libraries, compiled Python and archives of a Debian 12 have 3.5 % and
  // more, all logs of the corpus none.
  constexpr double kLeastBinaryShare = 0.02;
  head = head.substr(0, kHeadBytes);
  const auto binary = [](char c) {  // progress bars use backspaces, bells and ESC
    return (c > 0 && c < '\a') || (c > '\r' && c < ' ' && c != '\x1b');
  };
  if (head.find('\0') == std::string_view::npos ||
      static_cast<double>(std::ranges::count_if(head, binary)) <
          kLeastBinaryShare * static_cast<double>(head.size())) {
    return {};
  }
  const char* packer = head.starts_with(
                           "\xFD"
                           "7zXZ")
                           ? "xz"
                       : head.starts_with("BZh") ? "bzip2"
                                                 : nullptr;
  if (packer == nullptr) {
    return fail(path, "is a binary file and no log", "give the text that the trainer printed");
  }
  return fail(path, fmt::format("is compressed by {}", packer),
              fmt::format("let `{} -dc` decompress it into a pipe", packer));
}

/// Chunks for a file that is large enough, nothing for all else.
std::optional<ChunkOptions> chunks_for(const ByteSource& source, const ReadOptions& options) {
  struct stat info {};
  // The rows of a table hold no anchor: only one reader of the whole file knows them.
  const bool rows = options.user_format && options.user_format->has_rows();
  if (rows || options.threads < 2 || source.plain_file() < 0 ||
      ::fstat(source.plain_file(), &info) != 0 ||
      (options.chunk == 0 && info.st_size < kWorthChunks)) {
    return std::nullopt;
  }
  ChunkOptions out;
  out.threads = options.threads;
  if (options.chunk > 0) out.chunk = options.chunk;
  return out;
}

// The source writes straight after the unfinished line: no copy of the block.
Result<std::string> read_all(const std::string& path, ByteSource& source, LineFeed& feed,
                             CandidateSink& sink) {
  while (true) {
    const auto room = feed.room();
    auto got = source.read(room);
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) return source.problem();
    if (feed.bytes() == 0) {
      if (auto text = check_text(path, {room.data(), *got}); !text) {
        return tl::unexpected(text.error());
      }
    }
    feed.commit(*got, sink);
  }
}

/// What the lines of the shape that was found give, all over the log.
FormatFinding generic_finding(std::span<const RunLog> runs, bool used) {
  FormatFinding out{std::string(kGenericName), 0, 0, false, used};
  for (const RunLog& run : runs) {
    if (run.kind != WorkKind::training) continue;
    out.records += run.records_seen;
    out.timed =
        out.timed || std::ranges::any_of(run.records, [](const Record& record) {
          return record.seconds > 0 || record.printed_rate > 0 || std::isfinite(record.time_s);
        });
  }
  out.lines = out.records;
  return out;
}

}  // namespace

Result<Explanation> explain_log(const std::string& path) {
  auto source = open_source(path);
  if (!source) return tl::unexpected(source.error());
  LogReader reader(ReadOptions{}, path);
  LogReader::State& state = *reader.state_;
  const auto problem = read_all(path, **source, state.feed, state);
  if (!problem) return tl::unexpected(problem.error());
  state.end_formats();
  const FormatState* best = state.leading();
  Explanation out;
  for (const FormatState& format : state.formats) {
    if (format.matched == 0) continue;
    FormatFinding finding{std::string(format.name), format.matched, 0, false, &format == best};
    for (const auto& draft : format.builder->drafts()) {
      if (draft->discard || draft->log.kind != WorkKind::training) continue;
      finding.records += draft->count();
    }
    finding.timed = evidence_of(*format.builder, format.matched).kind > Evidence::losses;
    out.formats.push_back(std::move(finding));
  }

  std::ranges::stable_sort(out.formats, std::greater<>(), [](const FormatFinding& finding) {
    return std::pair(finding.used, finding.lines);
  });
  if (is_read_once(path)) return out;
  source = open_source(path);
  if (source) {
    auto induced = induced_from(**source);
    const auto runs = induced.format
                          ? read_log(path, {.format = std::string(kGenericName), .window = {}})
                          : Result<std::vector<RunLog>>();
    if (induced.format && runs)
      out.formats.push_back(generic_finding(*runs, !state.claims_training()));
    if (std::ranges::none_of(out.formats, &FormatFinding::timed)) {
      out.nearest = std::move(induced.nearest);
    }
  }
  return out;
}

Result<std::vector<RunLog>> read_log(const std::string& path, const ReadOptions& options) {
  if (auto known = check_format_name(options.format, options.user_format.get()); !known) {
    return tl::unexpected(known.error());
  }
  auto source = open_source(path);
  if (!source) return tl::unexpected(source.error());
  const RereadSource* kept_source = nullptr;
  if (may_look_again(options) && is_read_once(path)) {
    auto kept = std::make_unique<RereadSource>(std::move(*source));
    kept_source = kept.get();
    *source = std::move(kept);
  }

  LogReader reader(options, path);
  LogReader::State& state = *reader.state_;
  Result<std::string> problem;
  std::int64_t bytes = 0;
  auto chunks = chunks_for(**source, options);
  if (chunks) {
    LogReader probe(options, path);
    const std::string head = head_of((*source)->plain_file());
    if (auto text = check_text(path, head); !text) return tl::unexpected(text.error());
    const auto lines = std::string_view(head).substr(0, head.rfind('\n') + 1);
    const std::size_t first = lines.find('\n') + 1;  // 0 where there is no line
    for (const auto part : {lines.substr(0, first), lines.substr(first)}) {
      probe.feed(part);
      if (probe.state_->wants_every_line()) chunks.reset();
    }
  }
  if (chunks) {
    const auto done =
        scan_chunks((*source)->plain_file(), path, state.tables->scanner(), *chunks, state, bytes);
    if (!done) return tl::unexpected(done.error());
  } else {
    if (options.threads > 1) *source = read_ahead(std::move(*source));
    problem = read_all(path, **source, state.feed, state);
    if (!problem) return tl::unexpected(problem.error());
    bytes = state.feed.bytes();
  }
  if (bytes == 0 && problem->empty()) {
    return fail(path, "is empty", "was anything written to it yet?");
  }
  std::vector<RunLog> runs = state.finish();  // the reader's finish() would begin anew
  Induced induced;
  if (may_look_again(options) && !state.claimed) {
    auto generic = second_look(
        path, options,
        [&]() -> std::unique_ptr<ByteSource> {
          if (kept_source != nullptr) return kept_source->again();
          auto again = open_source(path);
          return again ? std::move(*again) : nullptr;
        },
        induced);
    runs = state.best_of(std::move(runs), std::move(generic), induced.training);
  }
  if (runs.empty()) {
    if (may_look_again(options) && problem->empty()) {
      return tl::unexpected(unread_error(path, induced.nearest));
    }
    const std::string which =
        options.format == "auto" ? "any known format" : "the format '" + options.format + "'";
    return fail(path, "no line is of " + which + (problem->empty() ? "" : " (" + *problem + ")"),
                "see the formats with `bertbench list formats`");
  }
  if (!problem->empty()) {
    for (RunLog& run : runs) run.note(NoticeCode::input_damaged, 0, *problem);
  }
  return runs;
}

Result<void> check_format_name(const std::string& name, const DescribedFormat* user_format) {
  if (name == "auto" || name == kGenericName || is_format(name, user_format)) return {};
  std::vector<std::string> known{"auto", std::string(kGenericName)};
  for (const Format* format : all_formats()) known.emplace_back(format->name);
  if (user_format != nullptr) known.emplace_back(user_format->name());
  return fail("--format", "'" + name + "' is no format", name_hint(name, known, "use one of: "));
}

}  // namespace bertbench
