#include "parsers/formats/nanogpt/token_batch.h"

#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

// "8*64", "8 * 64 * 1024"
std::optional<std::int64_t> product(Cursor& cursor) {
  constexpr std::int64_t kTokenLimit = 1'000'000'000;
  std::int64_t value = 1;
  do {
    cursor.blanks();
    const auto factor = cursor.integer();
    if (!factor || *factor < 1 || *factor > kTokenLimit / value) return std::nullopt;
    value *= *factor;
    cursor.blanks();
  } while (cursor.literal("*"));
  return value;
}

// "    sequence_length : int = 64*1024 # sequence length, in tokens"
std::optional<std::int64_t> setting_of_source(const Line& line, std::string_view name,
                                              std::string_view comment) {
  if (line.text.find(comment) == std::string_view::npos) return std::nullopt;
  Cursor cursor(line);
  cursor.blanks();
  if (!cursor.literal(name)) return std::nullopt;
  cursor.blanks();
  if (cursor.literal(":")) {
    cursor.blanks();
    if (!cursor.literal("int")) return std::nullopt;
    cursor.blanks();
  }
  if (!cursor.literal("=")) return std::nullopt;
  const auto value = product(cursor);
  return cursor.literal("#") ? value : std::nullopt;
}

}  // namespace

void TokenBatch::see_product(const Line& line) {
  Cursor cursor(line);
  if (!cursor.literal("batch_size B=")) return;
  const auto sequences = cursor.integer();
  if (!cursor.literal(" * seq_len T=")) return;
  const auto each = cursor.integer();
  if (!cursor.literal(" * num_processes=")) return;
  const auto processes = cursor.integer();
  if (!cursor.literal(" and total_batch_size=")) return;
  const auto total = cursor.integer();
  const auto fits = [](const auto& value) {
    return value && *value >= 1 && *value < 1'000'000'000;
  };
  if (!fits(sequences) || !fits(each) || !fits(processes) || !fits(total)) return;
  micro = sequences;
  length = each;
  world = processes;
  tokens = total;
}

void TokenBatch::see_setting(const Line& line) {
  const auto count = [&](std::string_view key) -> std::optional<std::int64_t> {
    const auto value = number_after(line, key);
    if (!value || !(*value >= 1 && *value < 1e12)) return std::nullopt;
    return static_cast<std::int64_t>(*value);
  };
  tokens = count("train_batch_tokens:");
  length = count("train_seq_len:");
  // parameter-golf's trainer for MLX, which has one process, prints the length on another line.
  const auto microbatch = count("microbatch_tokens:");
  const auto sequences = count("microbatch_batch_size:");
  if (length || !microbatch || !sequences || *microbatch % *sequences != 0) return;
  length = *microbatch / *sequences;
  micro = sequences;
  world = 1;
}

// The file of settings is printed first, then what the command line sets over it, then the tokens.
void TokenBatch::see_nanogpt(const Line& line) {
  constexpr std::int64_t kTokenLimit = 1'000'000'000'000;
  Cursor cursor(line);
  if (cursor.literal(kTokensOfIteration)) {
    const auto total = cursor.grouped_integer();
    if (!total || *total < 1 || *total >= kTokenLimit) return;
    tokens = total;
    of_all_processes = true;
    return;
  }
  cursor.literal("Overriding: ");
  if (!cursor.literal("block_size = ")) return;
  if (const auto each = cursor.integer(); each && *each >= 1 && *each < kTokenLimit) length = each;
}

// The processes are what the batch holds of them, each with as many backward passes a step.
void TokenBatch::see_nanochat(const Line& line) {
  constexpr std::int64_t kSequenceLimit = 1'000'000'000;
  Cursor cursor(line);
  if (cursor.literal(kTokensOfRank)) {
    const auto sequences = cursor.integer();
    if (!sequences || *sequences < 1 || *sequences >= kSequenceLimit || !cursor.literal(" x "))
      return;
    const auto each = cursor.integer();
    if (!each || *each < 1 || *each >= kSequenceLimit) return;
    micro = sequences;
    length = each;
    tokens = world = std::nullopt;
    return;
  }
  if (!micro || !length || !cursor.literal("Total batch size ")) return;
  const auto total = cursor.grouped_integer();
  if (!total || *total < 1 || !cursor.literal(kAccumulatedBatch)) return;
  const auto passes = cursor.integer();
  if (!passes || *passes < 1 || *passes >= kSequenceLimit) return;
  const std::int64_t pass = *total / *passes;
  if (*total % *passes != 0 || pass % (*micro * *length) != 0) return;
  tokens = total;
  world = pass / (*micro * *length);
}

// modded-nanogpt's source: settings whose comments say what they count, the loader of its track 3,
// whose batch is one of tokens, and that of 2025, which gives each process one long sequence:
//   train_seq_len = 48*1024 # FlexAttention sequence length
//   assert world_size == 8 # this code is designed for 8xH100
//   train_loader = distributed_data_generator(args.train_files, world_size * args.train_seq_len,...
void TokenBatch::see_source(const Line& line) {
  if (const auto all = setting_of_source(line, "batch_size", kBatchOfAll)) {
    sequences_ = all;
    source_line = line.number;
  }
  if (const auto each = setting_of_source(line, "sequence_length", kLengthInTokens)) {
    length = each;
  }
  Cursor cursor(line);
  if (cursor.literal("def distributed_data_generator(") && cursor.skip_past(kLoaderOfTokens)) {
    const auto each = cursor.integer();
    if (each && *each >= 1 && *each < 1'000'000'000 && cursor.literal("):"))
      length = loader_length_ = each;
  } else if (loader_length_ && cursor.literal("batch_size = ")) {
    const auto all = product(cursor);
    if (all && cursor.rest().empty()) {
      tokens = all;
      source_line = line.number;
    }
  }
  if (sequences_ && length) tokens = *sequences_ * *length;
  if (const auto each = setting_of_source(line, "train_seq_len", kFlexLength)) {
    process_length_ = each;
  }
  Cursor check(line);
  if (check.literal(kOneWorld)) processes_ = check.integer();
  if (line.text.starts_with("train_loader = ") && process_length_ && processes_ &&
      *processes_ >= 1 && *processes_ <= 1'000'000 &&
      line.text.find(kEachItsLength) != std::string_view::npos) {
    length = process_length_;
    world = processes_;
    micro = 1;
    tokens = *length * *world;
    source_line = line.number;
  }
}

void TokenBatch::see(const Line& line) {
  if (line.text.starts_with("train_batch_tokens:") ||
      (line.text.starts_with("iterations:") &&
       line.text.find(" train_batch_tokens:") != std::string_view::npos)) {
    see_setting(line);
  }
  see_product(line);
  see_nanogpt(line);
  see_nanochat(line);
  see_source(line);
}

void TokenBatch::add_to(Facts& facts) const {
  if (length) facts.sequence_length.set(*length, FactSource::log);
  if (micro) facts.micro_batch_size.set(*micro, FactSource::log);
  if (world) facts.world_size.set(*world, FactSource::log);
  if (tokens && length && *tokens % *length == 0) {
    facts.global_batch_size.set(*tokens / *length, FactSource::log);
  }
}

}  // namespace bertbench
