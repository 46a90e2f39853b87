// torchtitan: metrics on the console of PyTorch's torchtitan.
//
//   [titan] 2025-05-20 12:34:56,789 - root - INFO - step: 20  loss:  7.9984  grad_norm: 14.1964
//       memory:  8.44GiB(13.20%)  tps: 6,709  tflops: 62.26  mfu: 20.88%            (one line)
//   [rank0]:2024-08-11 10:20:30,400 - root - INFO - step: 10  loss:  7.91  memory: 47.9GiB(50.5%)
//       wps: 1,228  mfu: 7.5%                                                   (2024, one line)
//   ... - Building 2-D device mesh with ['dp', 'tp'], [32, 8]
//   ... - Trainer is initialized with local batch size 8, global batch size 64, gradient
//       accumulation steps 1, sequence length 2048, total steps 1000 (warmup 200)
//
// tps are tokens/s of one device over the steps since the line before; of the first step, which
// compiles, a line tells alone. The devices are the product of the mesh.
#include <cstdint>
#include <optional>
#include <string_view>

#include "parsers/assemble/run_builder.h"
#include "parsers/formats/format.h"
#include "parsers/lines/clock.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

constexpr std::string_view kMesh = "device mesh with ";
constexpr std::string_view kSizes = " local batch size ";
constexpr std::string_view kAnchors[] = {"GiB(", kMesh, kSizes};
constexpr std::int64_t kMost = 1'000'000'000'000, kMostDevices = 10'000'000;

class TorchtitanParser final : public LineParser {
 public:
  bool parse(const Line& line, RunBuilder& out) override;
  void finish(RunBuilder& out) override;

 private:
  void see_mesh(const Line& line);
  void see_sizes(const Line& line);
  bool see_step(const Line& line, RunBuilder& out);
  void tell(RunDraft& draft) const;

  std::optional<std::int64_t> devices_, micro_batch_, batch_, accumulation_, length_, planned_;
  bool of_a_device_ = false;  ///< rates that could not be made those of the job
};

/// The numbers of "['dp', 'tp'], [32, 8]" or "parallelism: pp=1, dp_replicate=1, dp_shard=8, ..."
/// multiplied; those of ep and etp are parts of the others.
std::optional<std::int64_t> devices_of(std::string_view mesh) {
  constexpr std::string_view kNamed[] = {"pp=", "dp_replicate=", "dp_shard=", "cp=", " tp="};
  std::int64_t product = 1;
  const auto take = [&](std::optional<std::int64_t> size) {
    const bool fine = size && *size >= 1 && *size <= kMostDevices / product;
    if (fine) product *= *size;
    return fine;
  };
  Cursor cursor(mesh, false);
  if (cursor.literal("parallelism: ")) {
    for (const std::string_view name : kNamed) {
      Cursor at(mesh, false);
      if (!at.skip_past(name) || !take(at.integer())) return std::nullopt;
    }
    return product;
  }
  if (!cursor.skip_past("], [")) return std::nullopt;
  do {
    if (!take(cursor.integer())) return std::nullopt;
  } while (cursor.literal(", "));
  return cursor.literal("]") ? std::optional(product) : std::nullopt;
}

void TorchtitanParser::see_mesh(const Line& line) {
  Cursor cursor(line);
  if (cursor.skip_past("Building ") && cursor.skip_past(kMesh))
    devices_ = devices_of(cursor.rest());
}

void TorchtitanParser::see_sizes(const Line& line) {
  if (line.text.find(kSizes) == std::string_view::npos) return;
  micro_batch_ = size_after(line, kSizes);
  batch_ = size_after(line, "global batch size ");
  accumulation_ = size_after(line, "gradient accumulation steps ");
  length_ = size_after(line, "sequence length ");
  planned_ = size_after(line, "total steps ");
}

/// The stamp of the logger in `front`, wherever a launcher's label lets it begin.
double stamp_in(std::string_view front) {
  constexpr std::size_t kDate = 10, kShortest = 19;
  for (std::size_t i = 0; i + kShortest <= front.size(); ++i) {
    if (front[i + 4] != '-' || front[i + kDate] != ' ') continue;
    if (const auto time = date_time(front.substr(i))) return *time;
  }
  return kUnknown;
}

void TorchtitanParser::tell(RunDraft& draft) const {
  Facts& facts = draft.log.facts;
  const auto set = [](Fact<std::int64_t>& fact, std::optional<std::int64_t> value) {
    if (value) fact.set(*value, FactSource::log);
  };
  set(facts.world_size, devices_);
  set(facts.micro_batch_size, micro_batch_);
  set(facts.global_batch_size, batch_);
  set(facts.gradient_accumulation_steps, accumulation_);
  set(facts.sequence_length, length_);
  if (planned_) draft.planned = *planned_;
}

bool TorchtitanParser::see_step(const Line& line, RunBuilder& out) {
  constexpr std::string_view kStep = "step: ";
  Cursor cursor(line);
  if (!cursor.skip_past(kStep)) return false;
  const std::string_view front = line.text.substr(0, cursor.at() - kStep.size());
  if (front.ends_with("validate ")) return false;
  cursor.blanks();
  const auto step = cursor.integer();
  cursor.blanks();
  if (!step || *step < 0 || *step > kMost || !cursor.literal("loss: ")) return false;
  cursor.blanks();
  const auto loss = cursor.number();
  if (!loss || (!cursor.skip_past(" tps: ") && !cursor.skip_past(" wps: "))) return false;
  const auto tokens = cursor.grouped_integer();
  Sample sample;
  sample.step = *step;
  if (*step == 1) sample.iterations = 1;
  sample.time_s = stamp_in(front);
  sample.loss = *loss;
  sample.line = line.number;
  sample.rank = line.rank;
  const bool rated = tokens && *tokens > 0 && *tokens < kMost;
  if (rated && devices_) {
    sample.rate = static_cast<double>(*tokens) * static_cast<double>(*devices_);
  }
  of_a_device_ = of_a_device_ || (rated && !devices_);
  RunDraft& draft = out.add(WorkKind::training, sample);
  draft.log.iteration_unit = IterationUnit::optimizer_step;
  draft.log.rate_unit = RateUnit::tokens_per_second;
  draft.log.clock_is_wall = true;
  draft.log.clock_resolution_s = 1e-3;
  tell(draft);
  return true;
}

bool TorchtitanParser::parse(const Line& line, RunBuilder& out) {
  if (see_step(line, out)) return true;
  see_mesh(line);
  see_sizes(line);
  return false;
}

void TorchtitanParser::finish(RunBuilder& out) {
  out.facts.framework.set("pytorch", FactSource::log);
  if (!of_a_device_) return;
  for (const auto& draft : out.drafts()) {
    draft->log.notices.push_back(foreign_notice(
        0, "tps are of one device, and no mesh tells how many there are: they are not taken"));
  }
}

std::unique_ptr<LineParser> make() { return std::make_unique<TorchtitanParser>(); }

}  // namespace

extern const Format format_torchtitan;
const Format format_torchtitan = {
    "torchtitan", "torchtitan: metrics on the console",
    "https://github.com/pytorch/torchtitan torchtitan/components/metrics.py", kAnchors, make};

}  // namespace bertbench
