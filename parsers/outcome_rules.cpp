#include "parsers/outcome_rules.h"

#include <algorithm>
#include <limits>

#include "parsers/anchor_tables.h"
#include "parsers/core/text.h"
#include "parsers/line_cleaner.h"
#include "parsers/run_builder.h"

namespace bertbench {
namespace {

enum Strength { kSignal = 1, kNamed = 2, kNan = 3, kMemory = 4 };

struct Rule {
  std::string_view anchor;
  std::string_view also;   ///< must be on the line as well; empty = nothing
  std::string_view never;  ///< must not be on the line; empty = nothing
  Status status;
  int strength;
};

// Order matters only between rules of equal strength on one line: the first that holds is taken.
constexpr Rule kRules[] = {
    // TensorFlow's allocator says of a failed attempt that it "is not a failure".
    {"out of memory", "", "ran out of memory trying to allocate", Status::out_of_memory, kMemory},
    {"Out of memory", "", "", Status::out_of_memory, kMemory},
    {"Out of Memory", "", "", Status::out_of_memory, kMemory},
    {"Out Of Memory", "srun: error", "", Status::out_of_memory, kMemory},
    {"OOM when allocating", "", "", Status::out_of_memory, kMemory},
    {"memory isn't enough and alloc failed", "", "", Status::out_of_memory, kMemory},
    {"not enough memory: you tried to allocate", "", "", Status::out_of_memory, kMemory},
    {"can't allocate memory", "", "", Status::out_of_memory, kMemory},
    {"MemoryError", "", "", Status::out_of_memory, kMemory},
    {"OutOfMemoryError", "", "", Status::out_of_memory, kMemory},
    {"CUDA_ERROR_OUT_OF_MEMORY", "", "", Status::out_of_memory, kMemory},
    {"CUBLAS_STATUS_ALLOC_FAILED", "", "", Status::out_of_memory, kMemory},
    {"CUDNN_STATUS_ALLOC_FAILED", "", "", Status::out_of_memory, kMemory},
    {"cudaErrorMemoryAllocation", "", "", Status::out_of_memory, kMemory},
    {"Failed to CUDA calloc", "", "", Status::out_of_memory, kMemory},
    {"RESOURCE_EXHAUSTED", "", "", Status::out_of_memory, kMemory},
    {"ResourceExhaustedError", "", "", Status::out_of_memory, kMemory},
    {"oom-kill event", "", "", Status::out_of_memory, kMemory},
    {"oom_kill event", "", "", Status::out_of_memory, kMemory},
    {"Exceeded job memory limit", "", "", Status::out_of_memory, kMemory},
    {"Exceeded step memory limit", "", "", Status::out_of_memory, kMemory},
    {"TERM_MEMLIMIT", "", "", Status::out_of_memory, kMemory},
    {"PBS: job killed: mem", "", "", Status::out_of_memory, kMemory},
    {"std::bad_alloc", "", "", Status::out_of_memory, kMemory},
    {"NaN loss during training", "", "", Status::nan, kNan},
    {"diverged with loss = NaN", "", "", Status::nan, kNan},
    {"oss is nan, stopping", "", "", Status::nan, kNan},
    {"found NaN in local", "", "", Status::nan, kNan},
    {"Minimum loss scale reached", "", "", Status::nan, kNan},
    {"loss scale already at minimum", "", "", Status::nan, kNan},
    {"collective operation timeout", "", "", Status::error, kNamed},
    {"NCCL operations have failed or timed out", "", "", Status::error, kNamed},
    {"NCCL communicator was aborted", "", "", Status::error, kNamed},
    {"ncclInvalidUsage", "", "", Status::error, kNamed},
    {"ncclInvalidArgument", "", "", Status::error, kNamed},
    {"NCCL error", "", "", Status::error, kNamed},
    {"ncclSystemError", "", "", Status::error, kNamed},
    {"ncclUnhandledCudaError", "", "", Status::error, kNamed},
    {"ncclInternalError", "", "", Status::error, kNamed},
    {"ncclRemoteError", "", "", Status::error, kNamed},
    {"DistBackendError", "", "", Status::error, kNamed},
    {"DistStoreError", "", "", Status::error, kNamed},
    {"Segmentation fault", "", "", Status::error, kNamed},
    {"(core dumped)", "", "", Status::error, kNamed},
    {"terminate called after throwing", "", "", Status::error, kSignal},
    {"Fatal Python error", "", "", Status::error, kNamed},
    {"Bus error", "", "", Status::error, kNamed},
    {"CUDA error: ", "", "", Status::error, kNamed},
    {"illegal memory access was encountered", "", "", Status::error, kNamed},
    {"uncorrectable ECC error", "", "", Status::error, kNamed},
    {"No space left on device", "", "", Status::error, kNamed},
    {"EnforceNotMet", "", "", Status::error, kNamed},
    {"MPI_ABORT was invoked", "", "", Status::error, kSignal},
    {"exited with non-zero status", "", "", Status::error, kSignal},
    {"returned a non-zero exit code", "", "", Status::error, kSignal},
    {"Exited with exit code", "srun: error", "", Status::error, kSignal},
    // torchrun's list of ranks: a rank that a signal ended, or one that ended by itself.
    {"failed (exitcode: -9)", "", "", Status::killed, kNamed},
    {"failed (exitcode: -15)", "", "", Status::killed, kSignal},
    {"failed (exitcode: ", "", "", Status::error, kSignal},
    {"SIGSEGV", "", "", Status::error, kSignal},
    {"SIGABRT", "", "", Status::error, kSignal},
    {"ChildFailedError", "", "", Status::error, kSignal},
    {"DUE TO TIME LIMIT", "", "", Status::timeout, kNamed},
    {"TERM_RUNLIMIT", "", "", Status::timeout, kNamed},
    {"job killed: walltime", "", "", Status::timeout, kNamed},
    {"CANCELLED AT", "", "TIME LIMIT", Status::killed, kNamed},
    {"CANCELLED DUE TO", "", "TIME LIMIT", Status::killed, kNamed},
    {"nterrupted by signal", "", "", Status::killed, kNamed},
    {"KeyboardInterrupt", "", "", Status::killed, kNamed},
    {"exits with return code = -9", "", "", Status::killed, kSignal},
    {"eceived SIGTERM", "", "", Status::killed, kSignal},
    {"signal 15", "", "", Status::killed, kSignal},
    {"ignal: Killed", "", "", Status::killed, kSignal},
    {"signal 9 (Killed)", "", "", Status::killed, kSignal},
    {"death signal", "", "", Status::killed, kNamed},
    {"got signal: ", "", "", Status::killed, kSignal},
    // "Sending process 7 closing signal SIGTERM" is how torchrun ends the other ranks.
    {"signal SIGTERM", "", "closing signal", Status::killed, kSignal},
    {"SIGKILL", "", "", Status::killed, kSignal},
    {"Terminated", "", "", Status::killed, kSignal},
    {"Killed", "srun: error", "", Status::killed, kSignal},
    {"Killed", "", "", Status::killed, kSignal},
    {"Aborted", "", "", Status::error, kSignal},
};

constexpr std::string_view kTracebackAnchors[] = {"Traceback (most recent", "  File \"", "Error",
                                                  "Exception", "StopIteration"};

constexpr std::size_t kMaxSigns = 256;
constexpr std::size_t kMaxPerStatus = 32;
constexpr std::int64_t kTracebackReach = 8;  ///< lines of code and carets behind a 'File' line

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

// "torch.cuda.OutOfMemoryError: CUDA ..." or a bare "AssertionError".
bool is_exception_line(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_name_byte(text[n])) ++n;
  if (n == 0 || (n < text.size() && text[n] != ':')) return false;
  const std::string_view word = text.substr(0, n);
  return word.ends_with("Error") || word.ends_with("Exception") || word.ends_with("Interrupt") ||
         word == "StopIteration";
}

// The last line of a traceback whose other lines went elsewhere: "RuntimeError: Timed out ...", but
// no metric ("MeanSquaredError: 0.25").
bool is_lone_exception(std::string_view text) {
  if (!is_exception_line(text)) return false;
  const auto colon = text.find(": ");
  if (colon == std::string_view::npos || colon <= std::string_view("Error").size()) return false;
  const std::string_view rest = trim(text.substr(colon + 2));
  const bool number = !rest.empty() && std::string_view("0123456789.+-").find(rest.front()) !=
                                           std::string_view::npos;
  return rest.size() >= 4 && !number && text.front() != '.' && text.find("Warning") > colon;
}

// "Killed" and "Terminated" are ordinary words: the shell's own message stands alone, or behind the
// script, line and process ("run.sh: line 3: 4711 Killed   python train.py").
bool is_shell_message(std::string_view text, std::string_view word) {
  if (trim(text) == word || text.find("srun: error") != std::string_view::npos) return true;
  const auto at = text.find(word);
  return text.find(": line ") < at && at + word.size() < text.size() &&
         text[at + word.size()] == ' ';
}

bool quoted_or_advice(std::string_view text) {
  // Advice and settings that only speak of trouble. PyTorch's own message ends in advice.
  if (text.find("Tried to allocate") != std::string_view::npos) return false;
  return text.find("to avoid") != std::string_view::npos ||
         text.find("may run out of memory") != std::string_view::npos ||
         text.find("might run out of memory") != std::string_view::npos;
}

std::string detail_of(std::string_view text) {
  constexpr std::size_t kLength = 300;
  text = trim(text);
  return std::string(text.substr(0, kLength));
}

/// The place in anchors() of each rule's anchor, the first of several that are equal.
const std::vector<std::size_t>& rule_places() {
  static const std::vector<std::size_t> places = [] {
    std::vector<std::size_t> out;
    for (const Rule& rule : kRules) {
      out.push_back(
          static_cast<std::size_t>(std::ranges::find(OutcomeRules::anchors(), rule.anchor) -
                                   OutcomeRules::anchors().begin()));
    }
    return out;
  }();
  return places;
}

std::vector<std::string_view> make_anchors() {
  std::vector<std::string_view> out(std::begin(kTracebackAnchors), std::end(kTracebackAnchors));
  for (const Rule& rule : kRules) out.push_back(rule.anchor);
  return out;
}

}  // namespace

std::span<const std::string_view> OutcomeRules::anchors() {
  static const std::vector<std::string_view> list = make_anchors();
  return list;
}

void OutcomeRules::add(const Line& line, Status status, int strength) {
  if (signs_.size() >= kMaxSigns) {
    // A run that survives trouble over and over must not hide how it ends: forget the oldest half.
    signs_.erase(signs_.begin() + 1, signs_.begin() + kMaxSigns / 2);
  }
  const auto same = std::ranges::count_if(signs_, [&](const Sign& sign) {
    return sign.status == status && sign.strength == strength && line.number - sign.line < 2000;
  });
  if (static_cast<std::size_t>(same) >= kMaxPerStatus) return;
  signs_.push_back({line.number, status, strength, detail_of(line.text)});
}

bool OutcomeRules::see_traceback(const Line& line) {
  if (line.text.find("Traceback (most recent") != std::string_view::npos ||
      line.text.starts_with("  File \"") || behind_host_label(line.text).starts_with("  File \"")) {
    traceback_line_ = line.number;
    return true;
  }
  const bool near = line.number - traceback_line_ <= kTracebackReach;
  if (near && (is_exception_line(line.text) || is_exception_line(behind_host_label(line.text)))) {
    traceback_line_ = -1000;
    return false;
  }
  return true;
}

void OutcomeRules::see(const Line& line) {
  const bool exception = !see_traceback(line);
  for (std::size_t i = 0; i < std::size(kRules); ++i) {
    const Rule& rule = kRules[i];
    if (!may_hold(line, rule_places()[i])) continue;
    if (line.text.find(rule.anchor) == std::string_view::npos) continue;
    if (!rule.also.empty() && line.text.find(rule.also) == std::string_view::npos) continue;
    if (!rule.never.empty() && line.text.find(rule.never) != std::string_view::npos) continue;
    if ((rule.anchor == "Killed" || rule.anchor == "Terminated" || rule.anchor == "Aborted") &&
        !is_shell_message(line.text, rule.anchor)) {
      continue;
    }
    if (quoted_or_advice(line.text) && !exception) continue;
    // The raise statement of a traceback quotes the exception's name; its last line will name it
    // too.
    if (line.text.starts_with("    ")) continue;
    add(line, rule.status, rule.strength);
    return;
  }
  if (exception) {
    add(line, Status::error, kNamed);
  } else if (is_lone_exception(line.text)) {
    add(line, Status::error, kSignal);
  }
}

std::optional<Outcome> OutcomeRules::trouble() const {
  if (signs_.empty()) return std::nullopt;
  const Sign* best = &signs_.back();
  for (const Sign& sign : signs_) {
    if (sign.strength > best->strength) best = &sign;
  }
  return Outcome{best->status, std::nullopt, best->line, best->detail};
}

// A rank that dies leaves the others waiting: the timeout that ends the job is told as well.
std::string OutcomeRules::what_followed(const Sign& cause, std::int64_t end_line) const {
  constexpr std::string_view kTimeout = "collective operation timeout";
  if (cause.detail.find(kTimeout) != std::string::npos) return {};
  for (const Sign& sign : signs_) {
    if (sign.line > cause.line && sign.line < end_line &&
        sign.detail.find(kTimeout) != std::string::npos) {
      return "; then NCCL: " + std::string(kTimeout) + " (line " + std::to_string(sign.line) + ")";
    }
  }
  return {};
}

Outcome OutcomeRules::decide(const RunDraft& run, std::int64_t begin_line,
                             std::int64_t end_line) const {
  const Record* last = run.last();
  const std::int64_t last_record = last != nullptr ? last->line : 0;
  Outcome out;
  const auto step = last != nullptr ? std::optional(last->step) : std::nullopt;
  const Sign* best = nullptr;
  for (const Sign& sign : signs_) {
    if (sign.line < begin_line || sign.line >= end_line || sign.line < last_record) continue;
    if (best == nullptr || sign.strength > best->strength) best = &sign;
  }
  if (run.stated_outcome && is_failure(run.stated_outcome->status) && !run.log.first_nan_step &&
      (best == nullptr || best->strength < kMemory)) {
    return *run.stated_outcome;
  }
  if (run.log.first_nan_step && (best == nullptr || best->strength < kNan)) {
    const auto& records = run.records();
    const auto at = std::ranges::find(records, *run.log.first_nan_step, &Record::step);
    return {Status::nan, run.log.first_nan_step, at != records.end() ? at->line : 0,
            "the loss is not finite"};
  }
  if (best != nullptr) {
    return {best->status, step, best->line, best->detail + what_followed(*best, end_line)};
  }
  if (last == nullptr && !run.ended_well) {
    return {Status::no_data, std::nullopt, 0, "no step in the log"};
  }
  if (run.ended_well || (run.planned && last != nullptr && last->step >= *run.planned)) {
    return {Status::completed, step, run.last_line, ""};
  }
  return {Status::truncated, step, run.last_line, "the log ends without a closing statement"};
}

}  // namespace bertbench
