#include "parsers/log_reader.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

#include "parsers/anchor_scan.h"
#include "parsers/chunk_scan.h"
#include "parsers/core/text.h"
#include "parsers/fact_rules.h"
#include "parsers/format.h"
#include "parsers/format_choice.h"
#include "parsers/input.h"
#include "parsers/line_cleaner.h"
#include "parsers/line_feed.h"
#include "parsers/mark_rules.h"
#include "parsers/outcome_rules.h"
#include "parsers/read_ahead.h"
#include "parsers/run_builder.h"
#include "parsers/table_parser.h"
#include "parsers/user_format.h"

namespace bertbench {
namespace {

// A line of a traceback. It stands in warnings too, by the million in some logs.
constexpr std::string_view kFileLine = "  File \"";

constexpr std::size_t kUserBit = 61;  ///< built-in formats have the bits below
constexpr std::uint64_t kUserOwner = std::uint64_t{1} << kUserBit;
constexpr std::uint64_t kMarkOwner = std::uint64_t{1} << 60;
constexpr std::uint64_t kFactOwner = std::uint64_t{1} << 62;
constexpr std::uint64_t kOutcomeOwner = std::uint64_t{1} << 63;

/// All anchors of the formats in use, of the facts and of the outcomes.
struct Anchors {
  std::vector<std::string> literals;
  std::vector<std::uint64_t> owners;
  /// [literal][format]: which of the format's anchors the literal is, kNone if none of them.
  std::vector<std::array<std::uint8_t, 64>> places;
  static constexpr std::uint8_t kNone = 0xff;
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
  for (const std::string_view anchor : MarkRules::anchors()) found[anchor] |= kMarkOwner;
  for (const std::string_view anchor : FactRules::anchors()) found[anchor] |= kFactOwner;
  for (const std::string_view anchor : OutcomeRules::anchors()) {
    // Looked up behind the exception that it leads to: see replay_traceback.
    if (anchor != kFileLine) found[anchor] |= kOutcomeOwner;
  }
  Anchors out;
  for (const auto& [literal, owners] : found) {
    out.literals.emplace_back(literal);
    out.owners.push_back(owners);
    out.places.emplace_back().fill(Anchors::kNone);
    for (std::size_t i = 0; i < formats.size(); ++i) {
      const auto anchors = formats[i]->anchors;
      const auto at = std::ranges::find(anchors, literal) - anchors.begin();
      if (at == std::ssize(anchors)) continue;
      out.places.back()[i] = static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(at, 63));
    }
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
    if (const auto* table = dynamic_cast<const TableParser*>(parser.get())) {
      tables_of.emplace_back(std::uint64_t{1} << formats.size(), table);
      table_owners |= std::uint64_t{1} << formats.size();
    }
    formats.push_back({name, std::move(parser),
                       std::make_unique<RunBuilder>(name, path, options.window, &budget), 0});
  }

  void candidate(const Candidate& found) override {
    clean_line(found.text, ansi, pieces);
    // A line of one piece is repeated piece by piece; of several each copy is gone through in turn.
    const std::int64_t copies = pieces.size() == 1 ? 0 : found.repeats;
    for (std::int64_t copy = 0; copy <= copies; ++copy) {
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        Line line;
        line.text = pieces[i].text;
        line.number = found.number;
        line.rank = pieces[i].rank;
        // Only the last piece can be cut by the end of input.
        line.terminator = i + 1 < pieces.size() ? '\n' : found.terminator;
        dispatch(line, found);
      }
    }
  }

  [[nodiscard]] bool wants_every_line() const override { return every_line != 0; }

  /// Shows the outcome rules the 'File' lines in front of a candidate of theirs that they have not
  /// seen yet.
  void replay_traceback(const Candidate& found) {
    std::string_view text = found.before;
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

  /// Which anchors of format `i` stand on the line.
  [[nodiscard]] std::uint64_t anchors_of(std::size_t i, std::span<const AnchorHit> hits) const {
    std::uint64_t out = 0;
    for (const AnchorHit& hit : hits) {
      const std::uint8_t place = tables->first.places[hit.literal][i];
      if (place != Anchors::kNone) out |= std::uint64_t{1} << place;
    }
    return out;
  }

  void dispatch(Line& line, const Candidate& found) {
    std::uint64_t owners = found.owners;
    const std::int64_t repeats = pieces.size() == 1 ? found.repeats : 0;
    if ((owners & kMarkOwner) != 0) marks.see(line);
    if ((owners & kFactOwner) != 0) facts.see(line);
    if ((owners & kOutcomeOwner) != 0) {
      Line shown = line;
      if (const auto text = behind_host_label(line.text); text.starts_with("[rank")) {
        shown.text = text.substr(std::min(text.size(), text.find(' ') + 1));
      }
      replay_traceback(found);
      constexpr std::int64_t kEnough = 32;  // signs of one kind that are kept
      for (std::int64_t n = 0; n <= std::min(repeats, kEnough); ++n) outcomes.see(shown);
    }
    owners &= ~(kMarkOwner | kFactOwner | kOutcomeOwner);
    owners |= every_line;
    const bool table = (owners & table_owners) != 0;
    for (; owners != 0; owners &= owners - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(owners));
      const bool user = bit == kUserBit;
      FormatState& state = user ? formats.back() : formats[bit];
      line.anchors = user ? ~std::uint64_t{0} : anchors_of(bit, found.hits);
      for (std::int64_t n = 0; n <= repeats; ++n) {
        if (!parse(state, line)) continue;
        ++state.matched;
        if (n == repeats || !state.parser->settled()) continue;
        state.matched += repeats - n;
        break;
      }
    }
    if (!table) return;
    every_line = 0;
    for (const auto& [owner, parser] : tables_of) {
      if (parser->wants_every_line()) every_line |= owner;
    }
  }

  static bool parse(FormatState& state, const Line& line) {
    if (state.parser->parse(line, *state.builder)) return true;
    Line behind = line;
    behind.text = behind_host_label(line.text);
    return !behind.text.empty() && state.parser->parse(behind, *state.builder);
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
  RecordBudget budget;  ///< outlives the formats' runs
  std::vector<FormatState> formats;
  std::vector<std::pair<std::uint64_t, const TableParser*>> tables_of;  ///< formats with tables
  std::uint64_t table_owners = 0;                                       ///< their bits
  std::uint64_t every_line = 0;  ///< bits of those that are in a table
  FactRules facts;
  OutcomeRules outcomes;
  MarkRules marks;
  std::string ansi;
  std::vector<Piece> pieces;
  std::string file_ansi;
  std::vector<Piece> file_pieces;
  std::int64_t outcome_line = 0;  ///< of the newest candidate of the outcome rules
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
    draft.log.marks = marks.of(first ? 0 : begin, end);
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

constexpr std::int64_t kWorthChunks = 4 << 20;

/// The first line of a file, with its end; empty when there is none within reach.
std::string first_line(int file) {
  std::string text(LineFeed::kReach, '\0');
  const ssize_t n = ::pread(file, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  const auto end = text.find('\n');
  return end == std::string::npos ? std::string() : text.substr(0, end + 1);
}

/// Chunks for a file that is large enough, nothing for all else.
std::optional<ChunkOptions> chunks_for(const ByteSource& source, const ReadOptions& options) {
  struct stat info {};
  if (options.threads < 2 || source.plain_file() < 0 || ::fstat(source.plain_file(), &info) != 0 ||
      (options.chunk == 0 && info.st_size < kWorthChunks)) {
    return std::nullopt;
  }
  ChunkOptions out;
  out.threads = options.threads;
  if (options.chunk > 0) out.chunk = options.chunk;
  return out;
}

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
  LogReader::State& state = *reader.state_;
  Result<std::string> problem;
  std::int64_t bytes = 0;
  auto chunks = chunks_for(**source, options);
  if (chunks) {
    // The rows of a table hold no anchor: only one reader of the whole file knows them.
    LogReader probe(options, path);
    probe.feed(first_line((*source)->plain_file()));
    if (probe.state_->wants_every_line()) chunks.reset();
  }
  if (chunks) {
    const auto done = scan_chunks((*source)->plain_file(), path, state.tables->second,
                                  state.tables->first.owners, *chunks, state, bytes);
    if (!done) return tl::unexpected(done.error());
  } else {
    if (options.threads > 1) *source = read_ahead(std::move(*source));
    problem = read_all(**source, state.feed, state);
    if (!problem) return tl::unexpected(problem.error());
    bytes = state.feed.bytes();
  }
  if (bytes == 0 && problem->empty()) {
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
