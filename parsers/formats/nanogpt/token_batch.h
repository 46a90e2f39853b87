// What trainers after the manner of llm.c and nanoGPT say of their batch, most of it in tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "parsers/core/facts.h"
#include "parsers/core/line.h"

namespace bertbench {

/// Words of the lines that state it, some of them in the source that a trainer prints.
inline constexpr std::string_view kBatchOfAll = "# batch size, in sequences, across all devices";
inline constexpr std::string_view kLengthInTokens = "# sequence length, in tokens";
inline constexpr std::string_view kFlexLength = "# FlexAttention sequence length";
inline constexpr std::string_view kOneWorld = "assert world_size == ";
inline constexpr std::string_view kEachItsLength = ", world_size * args.train_seq_len, ";
inline constexpr std::string_view kLoaderOfTokens = "batch_size: int, seq_len=";
inline constexpr std::string_view kTokensOfIteration = "tokens per iteration will be: ";
inline constexpr std::string_view kTokensOfRank = "Tokens / micro-batch / rank: ";
inline constexpr std::string_view kAccumulatedBatch = " => gradient accumulation steps: ";

struct TokenBatch {
  std::optional<std::int64_t> tokens;  ///< of one step of the job
  std::optional<std::int64_t> length, micro, world;
  /// nanoGPT divides its gradient_accumulation_steps by the processes, where older ones of it do
  /// not: what the log says of the accumulation is not that of one GPU.
  bool of_all_processes = false;
  std::int64_t source_line = 0;  ///< of the printed source that states the batch; 0 = none

  /// "batch_size B=4 * seq_len T=1024 * num_processes=1 and total_batch_size=4096"       (llm.c)
  /// "train_batch_tokens:524288 train_seq_len:1024 ..."                          (parameter-golf)
  /// "tokens per iteration will be: 491,520", "block_size = 1024"                       (nanoGPT)
  /// "Tokens / micro-batch / rank: 32 x 2048 = 65,536",
  /// "Total batch size 524,288 => gradient accumulation steps: 1"                     (nanochat)
  /// "batch_size : int = 8*64 # batch size, in sequences, across all devices"   (the source that
  /// modded-nanogpt prints before its lines)
  void see(const Line& line);
  void add_to(Facts& facts) const;

 private:
  void see_product(const Line& line);
  void see_setting(const Line& line);
  void see_nanogpt(const Line& line);
  void see_nanochat(const Line& line);
  void see_source(const Line& line);

  std::optional<std::int64_t> sequences_;      ///< of one step of the job, as the source says
  std::optional<std::int64_t> loader_length_;  ///< of a loader whose batch is stated in tokens
  std::optional<std::int64_t> process_length_, processes_;  ///< of a sequence for each process
};

}  // namespace bertbench
