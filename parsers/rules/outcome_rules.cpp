#include "parsers/rules/outcome_rules.h"

#include <algorithm>

#include "parsers/assemble/run_builder.h"
#include "parsers/core/line.h"
#include "parsers/core/text.h"
#include "parsers/lines/cursor.h"
#include "parsers/lines/decoration.h"
#include "parsers/lines/line_cleaner.h"
#include "parsers/rules/outcome_table.h"

namespace bertbench {
namespace {

constexpr std::string_view kTraceback = "Traceback (most recent";
constexpr std::string_view kIgnored = "Exception ignored in";           // CPython, at exit
constexpr std::string_view kAtExit = "Error in atexit._run_exitfuncs";  // CPython
constexpr std::string_view kThread = "Exception in thread ";            // the others go on
constexpr std::string_view kChain = " above exception";                // between chained tracebacks
constexpr std::string_view kRootCause = "Root Cause (first observed";  // torchrun's table
constexpr std::string_view kRankCode = "exitcode  : ";                 // of a rank in it
constexpr std::string_view kTracebackAnchors[] = {
    kTraceback,   "  File \"",         "Error", "Exception", "StopIteration",
    "SystemExit", "BrokenProcessPool", kChain,  kRootCause,  kRankCode};
/// The first lines of a launch.
struct LaunchSign {
  std::string_view literal;
  bool of_the_job;  ///< printed once, not by each node
};
constexpr LaunchSign kLaunches[] = {
    {"nohup: ignoring input", true},
    {"[runner.py:", true},                                    // DeepSpeed's
    {"Setting OMP_NUM_THREADS environment variable", false},  // torchrun
    // Paddle's process on its device: its workerlog.0 holds one launch after the other.
    {"Please NOTE: device: ", false},
    // The line with which argparse ends one
    // (quoted/outcome_rules.report_the_arguments_that_no_launch_took), and its arguments, as
    // scripts print them.
    {".py: error: ", false},
    {"Namespace(", false},
    // Slurm's variables as scripts print them, and salloc
    // (quoted/several_runs.a_job_of_the_scheduler_is_a_launch and
    // .an_allocation_that_waits_is_a_launch).
    {"SLURM_JOB_ID", true},
    {"SLURM_JOBID", true},
    {"queued and waiting for resources", true}};
// What the other ranks print when one has gone: of sockets, Gloo and NCCL.
constexpr std::string_view kConsequences[] = {"Connection reset by peer", "Connection closed by",
                                              "Broken pipe", "ncclRemoteError",
                                              "remote process exited"};

// "SLURM_JOB_ID=4711", "SLURM_JOBID: 4711": a job's number, and not the name alone, as in a
// KeyError (quoted/several_runs.a_key_error_of_a_scheduler_is_no_launch).
bool names_job(std::string_view after) {
  const auto value = after.find_first_not_of(" =:'\"");
  return value != std::string_view::npos && is_digit(after[value]);
}

constexpr std::size_t kMaxSigns = 256;     // bounds the memory
constexpr std::size_t kMaxPerStatus = 32;  // in 2000 lines: ranks repeat what one printed
// Lines of code and, since CPython 3.11, carets after a 'File' line, and those of other ranks in
// between.
constexpr std::int64_t kTracebackReach = 8;

bool is_name_byte(char c) { return is_name_char(c) || c == '.'; }

// "torch.cuda.OutOfMemoryError: CUDA ..." or a bare "AssertionError".
bool is_exception_line(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_name_byte(text[n])) ++n;
  if (n == 0 || (n < text.size() && text[n] != ':')) return false;
  const std::string_view word = text.substr(0, n);
  return word.ends_with("Error") || word.ends_with("Exception") || word.ends_with("Interrupt") ||
         word == "StopIteration" || word == "SystemExit" || word.ends_with("BrokenProcessPool");
}

// The last line of a traceback whose other lines went elsewhere: "RuntimeError: Timed out ...", but
// no metric ("MeanSquaredError: 0.25") and no warning ("UserWarning: MemoryFormat is ignored";
// quoted/outcome_rules.are_not_misled_by_words_that_only_sound_like_trouble.5 and .9).
bool is_lone_exception(std::string_view text) {
  if (!is_exception_line(text)) return false;
  const auto colon = text.find(": ");
  if (colon == std::string_view::npos || colon <= std::string_view("Error").size()) return false;
  const std::string_view rest = trim(text.substr(colon + 2));
  const bool message = rest.find_first_of("0123456789.+-") != 0 && !rest.empty();
  return message && text.find("Warning") > colon;
}

// "[1]+  " before the state of a job that bash reports.
bool is_job(std::string_view text) {
  Cursor cursor(text, false);
  const bool number = cursor.literal("[") && cursor.integer() && cursor.literal("]");
  return number && trim(cursor.rest()).find_first_not_of("+-") == std::string_view::npos;
}

// "Killed" and "Terminated" are ordinary words ("Killed processes: none"): bash's own message
// stands alone, or after the script, line and process ("run.sh: line 3: 4711 Killed   python
// train.py") or a job's number.
bool is_shell_message(std::string_view text, std::string_view word) {
  if (trim(text) == word || has_text(text, "srun: error")) return true;
  // Words of other languages end a line, of a bar too (quoted/mmcv.killed_in_chinese): in a
  // sentence they are followed by more.
  if (is_beyond_ascii(word.front())) return trim(text).ends_with(word);
  const auto at = text.find(word);
  if (at == std::string_view::npos) return false;
  Cursor cursor(text.substr(at + word.size()), false);
  const bool signal = cursor.literal(": ") && cursor.integer();  // "Killed: 9" of macOS
  const std::string_view rest = cursor.rest();
  if (at == 0 && signal && trim(rest).empty()) return true;
  return rest.starts_with(' ') && (text.find(": line ") < at || is_job(text.substr(0, at)));
}

bool quoted_or_advice(std::string_view text) {
  // Advice and settings that only mention trouble ("this may run out of memory on small GPUs",
  // torchrun's "to avoid your system being overloaded"). The message of PyTorch's own
  // OutOfMemoryError ends in advice (quoted/outcome_table.tells_how_runs_end).
  if (has_text(text, "Tried to allocate")) return false;
  return has_text(text, "to avoid") || has_text(text, "may run out of memory");
}

std::string shortened(std::string_view text) {
  constexpr std::size_t kLength = 300;  // bytes: a message, and no dump of tensors
  text = trim(text);
  return std::string(text.substr(0, kLength));
}

// A line of CPython's traceback, decorated or not.
bool is_file_line(std::string_view text) {
  const auto file = text.find("File \"");
  return file != std::string_view::npos && text.find("\", line ", file) != std::string_view::npos;
}

/// The exception that ends a traceback, without what stands before it; empty if the line is
/// none.
std::string_view exception_in(std::string_view text) {
  if (is_exception_line(text)) return text;
  if (const auto after = after_host_label(text); is_exception_line(after)) return after;
  for (const std::string_view layer : Layers(text)) {
    if (is_exception_line(layer)) return layer;
  }
  return {};
}

bool is_code(std::string_view text) {
  if (text.starts_with("    ")) return !trim(text).starts_with("Reason: ");  // kubectl describe
  return std::ranges::any_of(Layers(text), [](auto layer) { return layer.starts_with("    "); });
}

struct Verdict {
  Status status;
  bool holds;
};

// "failed (exitcode: -9)" of torchrun, "exits with return code = 1" of DeepSpeed; 247 is what is
// left of Python's exit(-9) (quoted/outcome_table.tells_how_schedulers_and_other_devices_end_runs),
// and 124 is the status of coreutils' timeout.
Verdict judge_exit_code(std::string_view text, std::size_t at, const OutcomeRule& rule) {
  Cursor cursor(text, false);
  cursor.move_to(at + rule.anchor.size());
  const bool negative = cursor.literal("-");
  const auto number = cursor.integer();
  if (!number || *number == 0) return {rule.status, false};
  constexpr int kShell = 128;  // what a shell adds to the number of a signal
  constexpr int kByte = 256;
  const bool left = !negative && (*number == kByte - 9 || *number == kByte - 15);
  const std::int64_t code = negative ? kShell + *number : left ? kShell + kByte - *number : *number;
  if (code == 124) return {Status::timeout, true};
  const bool kill = code == kShell + 9 || code == kShell + 15 || code == kShell + 2;
  return {kill ? Status::killed : rule.status, true};
}

// The rule's literal stands at `at`.
Verdict judge(std::string_view text, std::size_t at, const OutcomeRule& rule) {
  if (!has_text(text, rule.also)) return {rule.status, false};
  if (!rule.never.empty() && has_text(text, rule.never)) return {rule.status, false};
  if (rule.reading == Reading::exit_code) return judge_exit_code(text, at, rule);
  if (rule.reading == Reading::shell && !is_shell_message(text, rule.anchor)) {
    return {rule.status, std::ranges::any_of(Layers(text), [&](std::string_view layer) {
              return is_shell_message(layer, rule.anchor);
            })};
  }
  return {rule.status, true};
}

// The rows of the table, of the closing words, of tracebacks, of launches and of words of failure.
std::vector<std::string_view> make_anchors() {
  std::vector<std::string_view> out;
  for (const OutcomeRule& rule : outcome_table()) out.push_back(rule.anchor);
  const auto closing = ClosingWords::anchors();
  out.insert(out.end(), closing.begin(), closing.end());
  out.insert(out.end(), std::begin(kTracebackAnchors), std::end(kTracebackAnchors));
  for (const LaunchSign& launch : kLaunches) out.push_back(launch.literal);
  const auto failing = FailureWords::anchors();
  out.insert(out.end(), failing.begin(), failing.end());
  return out;
}

}  // namespace

std::span<const std::string_view> OutcomeRules::anchors() {
  static const std::vector<std::string_view> list = make_anchors();
  return list;
}

OutcomeRules::Sign OutcomeRules::make_sign(std::int64_t line, Status status, int strength,
                                           std::string_view text) {
  Sign out{.line = line, .status = status, .strength = strength, .text = shortened(text)};
  const auto holds = [&](std::string_view words) { return has_text(out.text, words); };
  out.collective_timeout = holds("collective operation timeout");
  out.cancelled = holds(" CANCELLED AT ") || holds(" Exit with signal ");
  out.task_exited = holds("Exited with exit code ");
  out.rank_killed = holds("received by PID");
  out.goes_on = words_go_on(text);
  out.names_only = out.text.ends_with(':');
  return out;
}

void OutcomeRules::add(std::int64_t line, Status status, int strength, std::string_view text) {
  if (signs_.size() >= kMaxSigns) {
    // A run that survives trouble over and over must not hide how it ends: the oldest half is
    // forgotten.
    signs_.erase(signs_.begin() + 1, signs_.begin() + kMaxSigns / 2);
  }
  const auto same = std::ranges::count_if(signs_, [&](const Sign& sign) {
    return sign.status == status && sign.strength == strength && line - sign.line < 2000;
  });
  if (static_cast<std::size_t>(same) >= kMaxPerStatus) return;
  signs_.push_back(make_sign(line, status, strength, text));
}

// `words`: the line holds one of kTracebackAnchors.
OutcomeRules::Part OutcomeRules::read_traceback(const Line& line, bool words,
                                                std::string_view& exception) {
  constexpr std::int64_t kNext = 2;  // lines: another rank may print in between
  const auto holds = [&](std::string_view what) { return words && has_text(line.text, what); };
  if (holds(kIgnored) || holds(kAtExit) || holds(kThread)) {
    special_line_ = line.number;
    special_ = holds(kThread) ? Part::of_thread : Part::ignored;
    return Part::ignored;
  }
  if (holds(kChain)) chained_ = true;
  const bool begins = holds(kTraceback);
  if (begins || is_file_line(line.text)) {
    traceback_line_ = line.number;
    if (!begins) return Part::other;
    of_ = line.number - special_line_ <= kNext ? special_ : Part::exception;
    if (of_ == Part::ignored) return Part::ignored;
    // It may end in an exception of any name, or be cut.
    add(line.number, Status::error, kHint, line.text);
    if (!signs_.empty() && signs_.back().line == line.number) {
      signs_.back().of_thread = of_ == Part::of_thread;
    }
    return Part::other;
  }
  if (line.number - traceback_line_ > kTracebackReach) return Part::other;
  exception = exception_in(line.text);
  if (exception.empty()) return Part::other;
  traceback_line_ = -1000;
  return std::exchange(of_, Part::exception);
}

// The last exception of CPython's chain ended the process; the one that it came from is reported
// with it (quoted/outcome_rules.report_the_last_exception_of_a_chain_and_where_it_came_from).
bool OutcomeRules::continues_chain(const Line& line, std::string_view exception) {
  if (!std::exchange(chained_, false)) return false;
  for (auto it = signs_.rbegin(); it != signs_.rend(); ++it) {
    if (it->strength == kHint) continue;
    if (it->strength != kNamed || it->status != Status::error) return false;
    *it = make_sign(line.number, it->status, it->strength,
                    std::string(trim(exception)) + "; after " + it->text);
    return true;
  }
  return false;
}

// torchrun's table (corpus nvidia-dle-pytorch/lambda_2xh100_transformerxl_childfailed.log): ranks
// that it killed itself, or that followed, stand next to the one that failed first, which "Root
// Cause" names. True for a kill that another rank's own failure stands before.
// `words`: the line holds one of kTracebackAnchors.
bool OutcomeRules::killed_after_failure(const Line& line, bool words) {
  // Lines: the table of a job of many ranks; an entry has seven.
  constexpr std::int64_t kLongestTable = 10'000, kEntry = 8;
  constexpr std::string_view kKill = "received by PID";
  if (words && has_text(line.text, kRootCause)) root_cause_line_ = line.number;
  Cursor cursor(line);
  if (words && cursor.skip_past(kRankCode)) {
    const auto code = cursor.integer();
    const bool itself = code && *code > 0 && *code < 128;
    if (itself && line.number - root_cause_line_ <= kEntry) {
      for (Sign& sign : signs_) {
        const bool listed = line.number - sign.line < kLongestTable;
        if (listed && sign.rank_killed) sign.strength = kSignal;
      }
    } else if (itself) {
      rank_failed_line_ = line.number;
    }
  }
  return rank_failed_line_ > root_cause_line_ && line.number - rank_failed_line_ < kLongestTable &&
         has_text(line.text, kKill);
}

void OutcomeRules::read_launch(const Line& line, std::size_t first_row) {
  constexpr std::size_t kLaunchesHeld = 256;  // bounds the memory
  bool begins = false, of_the_job = false;
  any_row(line, [&](std::uint32_t row, std::size_t at) {
    if (row < first_row || row >= first_row + std::size(kLaunches)) return false;
    const auto& [literal, once] = kLaunches[row - first_row];
    const std::string_view after = line.text.substr(at + literal.size());
    if (literal.starts_with("SLURM_") && !names_job(after)) return false;
    begins = true;
    of_the_job = of_the_job || once;
    return false;
  });
  if (!begins) return;
  if (launches_.size() == kLaunchesHeld) launches_.erase(launches_.begin());
  launches_.push_back({line.number, of_the_job});
}

// "skipping corrupt sample 12.jpg" after the last line of a traceback
// (quoted/outcome_rules.a_line_that_goes_on_ended_nothing.2).
void OutcomeRules::survives(const Line& line) {
  constexpr std::int64_t kReach = 2;  // lines
  if (signs_.empty() || line.number - signs_.back().line > kReach) return;
  if (words_go_on(line.text)) signs_.back().goes_on = true;
}

void OutcomeRules::see(const Line& line) {
  const auto table = outcome_table();
  const std::size_t closing_words = ClosingWords::anchors().size();
  const std::size_t tracebacks = table.size() + closing_words;
  const std::size_t launches = tracebacks + std::size(kTracebackAnchors);
  const std::size_t failing = launches + std::size(kLaunches);
  // A line of code that is shown with an exception comes without its literals.
  const bool of_traceback =
      line.literals.empty() || any_row(line, [&](std::uint32_t row, std::size_t) {
        return row >= tracebacks && row < launches;
      });
  read_launch(line, launches);
  any_row(line, [&](std::uint32_t row, std::size_t) {
    const std::size_t word = row - table.size();  // huge of a row in the table
    return word < closing_words && closing_.see(line, word);
  });
  const bool follows_failure = killed_after_failure(line, of_traceback);
  std::string_view exception;
  const Part part = read_traceback(line, of_traceback, exception);
  if (part == Part::ignored) return;
  const bool named = any_row(line, [&](std::uint32_t row, std::size_t at) {
    if (row >= table.size()) return false;
    const Verdict verdict = judge(line.text, at, table[row]);
    if (!verdict.holds) return false;
    if (quoted_or_advice(line.text) && exception.empty()) return false;
    // The raise statement of a traceback quotes the exception's name; the last line of the
    // traceback names it too.
    if (is_code(line.text)) return false;
    named_ = true;
    add(line.number, verdict.status, follows_failure ? kSignal : table[row].strength,
        exception.empty() ? line.text : exception);
    return true;
  });
  if (named) return;
  const bool fails = any_row(line, [&](std::uint32_t row, std::size_t) { return row >= failing; });
  if (exception.empty() ? fails && !is_code(line.text) && stops_at_nan(line.text)
                        : names_nan_loss(exception)) {
    named_ = true;
    add(line.number, Status::nan, kNan, exception.empty() ? line.text : exception);
    return;
  }
  if (fails && exception.empty()) {
    survives(line);
    if (!is_code(line.text)) failing_.see(line);
  }
  if (!exception.empty()) {
    const bool follows = std::ranges::any_of(
        kConsequences, [&](std::string_view words) { return has_text(exception, words); });
    const bool thread = part == Part::of_thread;
    if (!follows && !thread && continues_chain(line, exception)) return;
    named_ = named_ || !thread;
    add(line.number, Status::error, thread ? kHint : follows ? kSignal : kNamed, exception);
  } else if ((is_lone_exception(line.text) || is_lone_exception(after_host_label(line.text))) &&
             !words_go_on(line.text)) {
    // "ImportError: No module named apex, falling back to torch"
    // (quoted/outcome_rules.a_line_that_goes_on_ended_nothing.3).
    add(line.number, Status::error, kSignal, line.text);
  }
}

}  // namespace bertbench
