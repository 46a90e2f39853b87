// Logs: whatever the bytes are, the runs are sound, and the same however the bytes are cut.
#include <cmath>

#include "parsers/described/described_format.h"
#include "parsers/reader/log_reader.h"
#include "tests/fuzz/same_runs.h"
#include "tests/fuzz/targets.h"

namespace bertbench::fuzz {
namespace {

std::vector<RunLog> read_whole(std::string_view log, const ReadOptions& options) {
  LogReader reader(options, "fuzz.log");
  reader.feed(log);
  return reader.finish();
}

// Cuts at places that the first byte chooses: byte by byte at the front, longer pieces later.
std::vector<RunLog> read_in_pieces(std::string_view log, unsigned seed,
                                   const ReadOptions& options) {
  LogReader reader(options, "fuzz.log");
  std::size_t at = 0;
  for (unsigned state = seed * 2654435761U + 1; at < log.size();
       state = state * 1664525U + 1013904223U) {
    const std::size_t n = at < 16 ? 1 : 1 + (state >> 24U) % (1 + at);
    reader.feed(log.substr(at, n));
    at += std::min(n, log.size() - at);
    if ((state >> 16U) % 8 == 0) (void)reader.live();
  }
  return reader.finish();
}

void check_run(const RunLog& run) {
  require(run.records_seen >= 0 && run.first_line >= 1, "a run's counts");
  require(run.records.size() <= (std::size_t{1} << 20), "a run holds too many records");
  std::int64_t merged = 0;
  for (const Record& record : run.records) {
    require(record.iterations >= 1 && record.merged >= 1, "a record of no iteration");
    require(record.line >= 1, "a record without a line");
    require(!(record.seconds < 0), "negative seconds");
    require(!std::isinf(record.seconds) && !std::isinf(record.time_s), "an infinite time");
    require(!(record.rank_spread < 0), "a negative spread");
    merged += record.merged;
  }
  require(merged == run.records_seen, "records_seen is the sum of the records");
  for (const auto* count :
       {&run.facts.sequence_length, &run.facts.micro_batch_size,
        &run.facts.gradient_accumulation_steps, &run.facts.nodes, &run.facts.gpus_per_node,
        &run.facts.world_size, &run.facts.global_batch_size}) {
    require(!count->known() || *count->value >= 1, "a count below 1");
  }
  require(run.outcome.status != Status::no_data || run.records.empty(), "no_data with records");
  require(detail_text(run.outcome).find('\n') == std::string::npos, "a detail of several lines");
}

void check(std::string_view input, const ReadOptions& options) {
  if (input.empty()) return;
  const auto seed = static_cast<unsigned char>(input.front());
  const std::string_view log = input.substr(1);
  const auto whole = read_whole(log, options);
  for (const RunLog& run : whole) check_run(run);
  const std::string difference = difference_of(whole, read_in_pieces(log, seed, options));
  if (!difference.empty()) broken("cut into pieces, the log reads otherwise: " + difference);
}

}  // namespace

void reader(std::string_view input) { check(input, {}); }

void one_format(const std::string& name, std::string_view input) {
  ReadOptions options;
  options.format = name;
  check(input, options);
}

// A format file; after a NUL byte the log that it reads.
void format_file(std::string_view input) {
  const auto nul = input.find('\0');
  auto format = DescribedFormat::parse(std::string(input.substr(0, nul)), "fuzz.json");
  if (!format) {
    require(!format.error().message().empty(), "an error without a message");
    return;
  }
  if (nul == std::string_view::npos) return;
  ReadOptions options;
  options.user_format = *format;
  check(input.substr(nul + 1), options);
}

}  // namespace bertbench::fuzz
