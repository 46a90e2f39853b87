#include "parsers/formats/paddle/paddle_launch.h"

#include "parsers/core/text.h"
#include "parsers/lines/argument_text.h"
#include "parsers/lines/cursor.h"
#include "parsers/scan/byte_search.h"

namespace bertbench {

void PaddleLaunch::see(const Line& line) {
  const auto at = [&](std::string_view what) { return find_text(line.text, what); };
  constexpr auto kNone = std::string_view::npos;
  if (at("] Local processes completed.") != kNone) {
    ended_well_ = true;
    return;
  }
  if (const auto merge = size_after(line, "gradient_merge_steps=")) merge_ = merge;
  if (const auto trainers = number_after(line, "] trainers: ")) {
    if (*trainers >= 1 && *trainers < 1e6) trainers_ = static_cast<std::int64_t>(*trainers);
  }
  if (const auto steps = argument(line.text, "max_steps")) max_steps_ = count(*steps);
  if (at("run_pretrain.py") == kNone) return;
  if (at("paddle.distributed.") == kNone) {
    if (const auto python = at("python"); python < at("run_pretrain.py")) cards_ = 1;
    return;
  }
  Cursor gpus(line);
  if (!gpus.skip_past("--gpus=") && !gpus.skip_past("--gpus ")) return;
  const auto list = gpus.until(" \t\"'");
  if (list) cards_ = static_cast<std::int64_t>(split(*list, ',').size());
  nodes_ = 1;
  for (const std::string_view several : {"--ips", "--cluster_node_ips", "--nnodes", "--master"}) {
    if (line.text.find(several) != kNone) nodes_.reset();
  }
}

void PaddleLaunch::give_to(Facts& facts) const {
  if (merge_) facts.gradient_accumulation_steps.set(*merge_, FactSource::log);
  if (cards_ == 1) {
    facts.world_size.set(1, FactSource::log);
  } else if (cards_) {
    facts.gpus_per_node.set(*cards_, FactSource::log);
    if (nodes_) facts.nodes.set(*nodes_, FactSource::log);
  }
}

}  // namespace bertbench
