#include "parsers/reader/second_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "parsers/core/median.h"
#include "parsers/core/text.h"
#include "parsers/described/described_format.h"
#include "parsers/formats/format.h"
#include "parsers/reader/anchor_tables.h"

namespace bertbench {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;
constexpr std::size_t kShownOfALine = 80;  // bytes

/// Whether a run of training was found that the log shows to be one.
bool any_training(const std::vector<RunLog>& runs) {
  return std::ranges::any_of(runs, [](const RunLog& run) {
    return run.kind == WorkKind::training && (run.records_seen > 0 || run.summary) &&
           !all_epochs_in_one(run.iteration_unit, run.records) &&
           !run.noted(NoticeCode::unproven_bar_taken);
  });
}

/// Whether a training has any time or rate.
bool has_time(const RunLog& run) {
  return run.kind == WorkKind::training && std::ranges::any_of(run.records, [](const Record& one) {
           return !std::isnan(one.time_s) || !std::isnan(one.seconds) ||
                  !std::isnan(one.printed_rate);
         });
}

/// It, or its end, does.
bool has_any_time(const RunLog& run) {
  const bool ends = run.summary || run.totals.training_s;
  return has_time(run) || (run.kind == WorkKind::training && ends);
}

/// A bar that may be of the training has the time of lines that have none.
bool bars_alone_have_time(const std::vector<RunLog>& bars, const std::vector<RunLog>& lines) {
  return std::ranges::any_of(bars, has_time) && std::ranges::none_of(lines, has_any_time);
}

template <class Take>
void read_blocks(ByteSource& source, Take take) {
  std::string block(kBlock, '\0');
  while (true) {
    const auto got = source.read(block);
    if (!got || *got == 0 || !take(std::string_view(block).substr(0, *got))) return;
  }
}

/// A reader of an induced format. Its own rules come first; the named formats add what they know.
Result<LogReader> generic_reader(const InducedFormat& induced, const ReadOptions& options,
                                 const std::string& path) {
  auto format = DescribedFormat::parse(induced.json, path);
  if (!format) return tl::unexpected(format.error());
  ReadOptions with = options;
  with.format = "auto";
  with.user_format = *format;
  auto tables = std::make_shared<const AnchorTables>(all_formats(), format->get());
  return LogReader(std::move(tables), std::move(with), path);
}

/// Lines with a time of their iterations, between which others are missing: a cut, a filter, or
/// lines that read otherwise. A clock holds those as well.
void note_gaps(RunLog& run) {
  constexpr std::size_t kLinesThatShow = 4;
  constexpr std::int64_t kHole = 2;  // times the usual distance: less is the end of an epoch
  const auto& records = run.records;
  if (run.clock_is_wall || records.size() < kLinesThatShow) return;
  std::vector<double> strides;
  bool timed = false;
  for (std::size_t i = 1; i < records.size(); ++i) {
    strides.push_back(static_cast<double>(records[i].step - records[i - 1].step));
    timed = timed || records[i].seconds > 0 || records[i].printed_rate > 0;
    if (!std::isnan(records[i].time_s) || records[i].merged > 1) return;
  }
  const auto usual = static_cast<std::int64_t>(median(strides));
  if (!timed || usual < 1) return;
  std::int64_t missing = 0, line = 0;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const std::int64_t stride = records[i].step - records[i - 1].step;
    if (stride < kHole * usual) continue;
    missing += stride - usual;
    if (line == 0) line = records[i].line;
  }
  if (missing > 0) run.note(NoticeCode::iterations_without_line, line, missing);
}

/// What the reader of an induced format read, with its notices; empty where no run is a training.
std::vector<RunLog> runs_of(LogReader& reader, const InducedFormat& induced) {
  constexpr std::size_t kLine = 100;  // bytes of the notice
  auto runs = reader.finish();
  if (!any_training(runs)) return {};
  for (RunLog& run : runs) {
    if (run.format != kGenericName) continue;
    run.note(NoticeCode::generic_shape, induced.line, induced.example.substr(0, kLine));
    if (induced.ambiguous) run.note(NoticeCode::generic_time_unclear, induced.line);
    if (induced.commas_unclear) run.note(NoticeCode::commas_unclear, induced.line);
    note_gaps(run);
    if (run.iteration_unit == IterationUnit::epoch) run.note(NoticeCode::iterations_are_epochs, 0);
  }
  return runs;
}

}  // namespace

bool all_epochs_in_one(IterationUnit unit, const std::vector<Record>& records) {
  return unit == IterationUnit::epoch && records.size() == 1 && records.front().iterations > 1;
}

bool reads_more(const std::vector<RunLog>& generic, const std::vector<RunLog>& named) {
  if (!any_training(named)) return !generic.empty() && !bars_alone_have_time(named, generic);
  // A script that was made of a known one may print a time that the known one does not.
  const bool states_none = std::ranges::any_of(
      named, [](const RunLog& run) { return run.noted(NoticeCode::no_rate_in_log); });
  if (states_none && std::ranges::any_of(generic, has_any_time)) return true;
  return std::ranges::any_of(generic, [](const RunLog& run) {
    // What a named format leaves out on its lines it has a reason to leave out; a logger's stamps
    // are not its own.
    return run.format == kGenericName && run.kind == WorkKind::training && run.clock_is_wall &&
           std::ranges::any_of(run.records,
                               [](const Record& record) { return !std::isnan(record.time_s); });
  });
}

Induced induced_from(ByteSource& source, std::string_view name, bool of_training) {
  FormatInducer inducer(of_training);
  read_blocks(source, [&](std::string_view bytes) {
    inducer.feed(bytes);
    return !inducer.settled();
  });
  Induced out{inducer.finish(name), {}, {}};
  if (out.format) return out;
  out.nearest = inducer.nearest();
  out.training = inducer.unread_training();
  return out;
}

void note_unread(RunLog& run, const UnreadTraining& training) {
  for (const NearLine& near : training.nearest) {
    run.note(NoticeCode::near_to_a_rate, near.line, lack_text(near.lack),
             near.text.substr(0, kShownOfALine));
  }
}

Error unread_error(const std::string& path, const std::vector<NearLine>& nearest) {
  std::string what = "no line is of any known format";
  if (!nearest.empty()) what += "; nearest to a rate:";
  for (const NearLine& near : nearest) {
    what += fmt::format("{} line {} {}: \"{}\"", what.back() == ':' ? "" : ",", near.line,
                        lack_text(near.lack), trim(near.text.substr(0, kShownOfALine)));
  }
  const bool uncounted = !nearest.empty() && nearest.front().lack == Lack::counter;
  return {path, what,
          uncounted
              ? "print a word or a total with what counts (step 20, 20/400), or write a format "
                "file like configs/formats/example.json"
              : "see the formats with `bertbench list formats`"};
}

std::vector<RunLog> second_look(const std::string& path, const ReadOptions& options,
                                const OpenSource& open, Induced& found) {
  auto source = open();
  if (!source) return {};
  found = induced_from(*source, kGenericName, options.of_training);
  const auto& induced = found.format;
  if (!induced) return {};
  auto reader = generic_reader(*induced, options, path);
  source = open();
  if (!reader || !source) return {};
  read_blocks(*source, [&](std::string_view bytes) {
    reader->feed(bytes);
    return true;
  });
  return runs_of(*reader, *induced);
}

GrowingLook::GrowingLook(ReadOptions options, std::string path)
    : options_(std::move(options)), path_(std::move(path)) {}
GrowingLook::~GrowingLook() = default;

void GrowingLook::feed(std::string_view bytes, bool claimed) {
  if (given_up_) return;
  const std::string_view head = bytes.substr(0, kHead - head_.size());
  if (reader_) reader_->feed(head);
  if (!head.empty()) {
    head_ += head;
    if (head_.size() == kHead && !claimed) decide();
  }
  // Not before: a format that has a training at first may turn out to have none (lines of Mask
  // R-CNN that a damaged MLPerf log follows; found by fuzzing).
  if (claimed && head_.size() == kHead) return give_up();
  if (reader_ && head.size() < bytes.size()) reader_->feed(bytes.substr(head.size()));
}

void GrowingLook::give_up() {
  given_up_ = true;
  reader_.reset();
  std::string().swap(head_);
}

void GrowingLook::decide() {
  if (given_up_ || decided_ == head_.size()) return;
  decided_ = head_.size();
  FormatInducer inducer(options_.of_training);
  inducer.feed(head_);
  auto induced = inducer.finish();
  const bool same = induced && reader_ && induced->json == induced_->json;
  induced_ = std::move(induced);
  training_ = induced_ ? std::nullopt : inducer.unread_training();
  if (same) return;  // its reader goes on
  // Lines that no longer make a format made none, as if the log had come in one piece (a damaged
  // log of a fine-tuning with Chinese messages; found by fuzzing).
  reader_.reset();
  if (!induced_) return;
  auto reader = generic_reader(*induced_, options_, path_);
  if (!reader) return;
  reader->feed(head_);
  reader_ = std::make_unique<LogReader>(std::move(*reader));
}

LogReader* GrowingLook::reader() {
  if (head_.size() < kHead && head_.size() >= 2 * decided_) decide();
  return reader_.get();
}

std::vector<RunLog> GrowingLook::finish() {
  if (head_.size() < kHead) decide();
  return reader_ ? runs_of(*reader_, *induced_) : std::vector<RunLog>();
}

}  // namespace bertbench
