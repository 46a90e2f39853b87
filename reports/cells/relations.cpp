#include "reports/cells/relations.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>

#include "parsers/core/text.h"
#include "parsers/core/topology.h"
#include "reports/cells/cell_flops.h"
#include "reports/stats/flops.h"
#include "reports/stats/scaling.h"
#include "reports/stats/summary.h"

namespace bertbench {
namespace {

using Cells = std::span<CellFigures>;

void number_twins(Cells cells) {
  std::unordered_map<std::string_view, std::uint32_t> seen;
  for (CellFigures& cell : cells) cell.twin = ++seen[*cell.key];
}

/// Cells of one text that `text_of` makes of an identity; the text is made once an identity.
template <class TextOf>
std::vector<std::vector<std::uint32_t>> grouped(Cells cells, const TextOf& text_of) {
  std::map<std::pair<const Identity*, WorkKind>, std::size_t> group_of;
  std::map<std::string, std::size_t> numbers;
  std::vector<std::vector<std::uint32_t>> groups;
  for (std::uint32_t i = 0; i < cells.size(); ++i) {
    const auto [at, fresh] = group_of.emplace(std::pair(cells[i].identity, cells[i].kind), 0);
    if (fresh) {
      const std::string text =
          text_of(*cells[i].identity) + '\n' + std::string(name(cells[i].kind));
      at->second = numbers.emplace(text, numbers.size()).first->second;
      groups.resize(numbers.size());
    }
    groups[at->second].push_back(i);
  }
  return groups;
}

std::string framework_and_key(const Identity& identity) {
  return identity.framework.value_or("") + '\n' + identity.key();
}

std::optional<ScalingPoint> point_of(const CellFigures& cell) {
  const Identity& id = *cell.identity;
  if (!cell.world || !id.micro_batch_size) return std::nullopt;
  return ScalingPoint{*cell.world, *id.micro_batch_size,
                      id.gradient_accumulation_steps.value_or(1)};
}

bool same_but_world(const Identity& a, const Identity& b) {
  Identity x = a;
  Identity y = b;
  x.nodes = x.gpus_per_node = y.nodes = y.gpus_per_node = std::nullopt;
  return x == y;
}

void apply_base(Cells cells, std::uint32_t of, std::uint32_t base_index, bool compat_dlperf) {
  CellFigures& cell = cells[of];
  const CellFigures& base = cells[base_index];
  const double value = cell.rate / base.rate;
  cell.speedup = compat_dlperf ? round_dlperf(value) : value;
  cell.base = base_index;
  if (cell.world && base.world) {
    cell.efficiency = scaling_efficiency(cell.speedup, *base.world, *cell.world);
  }
  const auto a = point_of(base);
  const auto b = point_of(cell);
  if (a && b) cell.scaling = scaling_kind(*a, *b);
}

struct Base {
  std::optional<std::uint32_t> index, other;  ///< of cells; other: fits as well
};

/// The base of a cell among those of its family: the same identity at the base's topology (weak
/// scaling; not of a `strong` cell), else a cell of that topology with the same global batch
/// (strong scaling), cut into the same micro batches where there is one. Logs that were not joined
/// may be of different machines: where two of them fit alike, neither is the base.
Base base_of(const CellFigures& cell, Cells cells, std::span<const std::uint32_t> bases) {
  Base weak, strong;
  const auto cut_alike = [&](std::uint32_t i) {
    return cells[i].identity->micro_batch_size == cell.identity->micro_batch_size;
  };
  for (const std::uint32_t i : bases) {
    const CellFigures& other = cells[i];
    if (cell.identity == other.identity ||
        (!cell.strong && same_but_world(*cell.identity, *other.identity))) {
      if (weak.index) return {weak.index, i};
      weak.index = i;
    } else if (cell.global_batch && other.global_batch == cell.global_batch) {
      // Several ways to cut one batch are of one machine, unless they are twins.
      const bool twin = strong.index && *cells[*strong.index].key == *other.key;
      if (twin) {
        strong.other = i;
      } else if (!strong.index || cut_alike(i) || !cut_alike(*strong.index)) {
        strong = {i, std::nullopt};
      }
    }
  }
  return weak.index ? weak : strong;
}

void speedups_over_a_key(Cells cells, const SummaryOptions& options, std::vector<Notice>& notices) {
  const auto base = std::ranges::find(cells, options.base, &CellFigures::unique_key);
  if (base == cells.end() || !base->has_rate()) {
    notices.push_back(
        make_notice(NoticeCode::base_unusable, 0, options.base,
                    base == cells.end() ? "is no cell's key or topology" : "has no sequences/s"));
    return;
  }
  const auto base_index = static_cast<std::uint32_t>(base - cells.begin());
  for (std::uint32_t i = 0; i < cells.size(); ++i) {
    const bool alike = cells[i].kind == base->kind &&
                       cells[i].identity->simulated() == base->identity->simulated();
    if (cells[i].has_rate() && alike) {
      apply_base(cells, i, base_index, options.compat_dlperf);
    }
  }
}

// Cells of one family differ in their GPUs and, for strong scaling, in how a batch is cut.
std::string family_of(const Identity& identity) {
  Identity family = identity;
  family.nodes = family.gpus_per_node = family.micro_batch_size =
      family.gradient_accumulation_steps = std::nullopt;
  return framework_and_key(family);
}

void speedups(Cells cells, const SummaryOptions& options, std::vector<Notice>& notices) {
  const auto topology = parse_topology(options.base);
  if (!options.base.empty() && !topology) return speedups_over_a_key(cells, options, notices);
  const auto is_base_world = [&](const CellFigures& cell) {
    if (!topology) return cell.world == 1;
    return cell.identity->nodes == topology->nodes &&
           cell.identity->gpus_per_node == topology->gpus_per_node;
  };
  const bool several = std::ranges::any_of(cells, &CellFigures::run);
  bool found = false;
  std::size_t undecided = 0;
  Base such;
  for (const auto& family : grouped(cells, family_of)) {
    std::vector<std::uint32_t> bases;
    std::ranges::copy_if(family, std::back_inserter(bases), [&](std::uint32_t i) {
      return cells[i].has_rate() && is_base_world(cells[i]);
    });
    const auto of_its_run = [&](const CellFigures& cell) {
      std::vector<std::uint32_t> own;
      std::ranges::copy_if(bases, std::back_inserter(own),
                           [&](std::uint32_t i) { return cells[i].run == cell.run; });
      return own.empty() ? bases : own;
    };
    for (const std::uint32_t i : family) {
      if (!cells[i].has_rate()) continue;
      const Base base = base_of(cells[i], cells, several ? of_its_run(cells[i]) : bases);
      if (base.other) {
        if (!is_base_world(cells[i]) && undecided++ == 0) such = base;
      } else if (base.index) {
        apply_base(cells, i, *base.index, options.compat_dlperf);
        found = true;
      }
    }
  }
  // A base that nothing is compared with is none: 1.0 over itself is no speedup.
  std::vector<bool> used(cells.size(), false);
  for (std::uint32_t i = 0; i < cells.size(); ++i) {
    if (!std::isnan(cells[i].speedup) && cells[i].base != i) used[cells[i].base] = true;
  }
  for (std::uint32_t i = 0; i < cells.size(); ++i) {
    if (cells[i].base == i && !used[i]) cells[i].speedup = cells[i].efficiency = kUnknown;
  }
  if (such.other) {
    notices.push_back(make_notice(
        NoticeCode::base_ambiguous, 0, counted(static_cast<long long>(undecided), "cell"),
        cells[*such.index].unique_key(), cells[*such.other].unique_key()));
  }
  if (topology && !found && undecided == 0) {
    notices.push_back(make_notice(NoticeCode::base_unusable, 0, options.base,
                                  "is a topology of which no cell gives a rate"));
  }
}

int precision_rank(const std::optional<std::string>& precision) {
  if (precision == "fp32") return 1;
  if (precision == "tf32") return 2;
  if (precision == "bf16" || precision == "fp16") return 3;
  if (precision == "fp8") return 4;
  return 0;
}

// Mixed precision over TF32, else over FP32; TF32 over FP32.
void precision_speedups(Cells cells) {
  const auto groups = grouped(cells, [](const Identity& identity) {
    Identity rest = identity;
    rest.precision.reset();
    return framework_and_key(rest);
  });
  for (const auto& group : groups) {
    std::optional<std::uint32_t> first_of[3];  // by rank
    for (const std::uint32_t i : group) {
      const int rank = precision_rank(cells[i].identity->precision);
      if (cells[i].has_rate() && (rank == 1 || rank == 2) && !first_of[rank]) first_of[rank] = i;
    }
    for (const std::uint32_t i : group) {
      const int rank = precision_rank(cells[i].identity->precision);
      if (rank < 2) continue;
      const auto base = rank > 2 && first_of[2] ? first_of[2] : first_of[1];
      if (!base) continue;
      cells[i].precision_base = *base;
      cells[i].precision_speedup = cells[i].rate / cells[*base].rate;
    }
  }
}

/// Training cells whose rate per token and GPU at a longer sequence length reaches that at a length
/// at most half as long, though a token costs more there: such sequences are probably not of
/// constant length, and FLOPs that assume it are too many. Stand-ins are left alone: on a CPU,
/// short sequences can be the slower ones.
void warn_of_varying_lengths(Cells cells, Relations& out) {
  constexpr double kDearer = 1.05;  // FLOPs of a token, longer over shorter: else equal is right
  const auto tokens = [&](std::uint32_t i) {
    const CellFigures& cell = cells[i];
    return cell.rate / static_cast<double>(*cell.world) *
           static_cast<double>(cell.identity->sequence_length.value_or(0));
  };
  const auto groups = grouped(cells, [](const Identity& identity) {
    Identity rest = identity;
    rest.sequence_length = rest.micro_batch_size = rest.gradient_accumulation_steps = std::nullopt;
    return framework_and_key(rest);
  });
  for (const auto& group : groups) {
    // Batch sizes go with lengths, so the best of each length stands for it.
    std::map<std::int64_t, std::uint32_t> by_length;
    for (const std::uint32_t i : group) {
      const CellFigures& cell = cells[i];
      if (cell.kind != WorkKind::training || cell.emulated || !cell.has_rate() || !cell.world ||
          !cell.identity->sequence_length) {
        continue;
      }
      const auto [best, fresh] = by_length.emplace(*cell.identity->sequence_length, i);
      if (!fresh && tokens(i) > tokens(best->second)) best->second = i;
    }
    for (const auto& [length, i] : by_length) {
      const auto shape = shape_of(*cells[i].identity);
      if (!shape) continue;
      for (const auto& [shorter, other] : by_length) {
        if (2 * shorter > length) break;
        const auto cost = [&](std::int64_t s) {
          return flops_per_sequence(*shape, s).masked_head / static_cast<double>(s);
        };
        if (cost(length) < kDearer * cost(shorter) || tokens(i) < tokens(other)) continue;
        out.warnings.emplace_back(i, make_notice(NoticeCode::lengths_not_constant, 0, tokens(i),
                                                 length, tokens(other), shorter));
        break;
      }
    }
  }
}

}  // namespace

CellFigures::CellFigures(const Cell& cell, const Identity& its_identity, const std::string& its_key)
    : identity(&its_identity),
      key(&its_key),
      kind(cell.kind),
      emulated(cell.emulated),
      world(cell.world_size()),
      global_batch(cell.global_batch_size()),
      rate(rate_of(cell)) {}

std::string CellFigures::unique_key() const {
  return twin > 1 ? *key + "#" + std::to_string(twin) : *key;
}

Relations relate(Cells cells, const SummaryOptions& options) {
  Relations out;
  number_twins(cells);
  for (CellFigures& cell : cells) {
    cell.speedup = cell.efficiency = cell.precision_speedup = kUnknown;
    cell.scaling = "";
    cell.strong = cell.strong || options.strong_scaling;
  }
  speedups(cells, options, out.notices);
  precision_speedups(cells);
  warn_of_varying_lengths(cells, out);
  return out;
}

void put_relations(Cell& cell, const CellFigures& figures, std::span<const CellFigures> all,
                   std::string_view flops_formula) {
  cell.key = figures.unique_key();
  cell.speedup = cell.precision_speedup = std::nullopt;
  cell.scaling_efficiency = std::nullopt;
  if (!std::isnan(figures.speedup)) {
    cell.speedup = Ratio{figures.speedup, all[figures.base].unique_key()};
  }
  if (!std::isnan(figures.efficiency)) cell.scaling_efficiency = figures.efficiency;
  // Each cell of a strong sweep keeps that word: it may be summarized again with other results.
  cell.scaling = figures.scaling.empty() && figures.strong ? "strong" : figures.scaling;
  if (!std::isnan(figures.precision_speedup)) {
    cell.precision_speedup =
        Ratio{figures.precision_speedup, all[figures.precision_base].unique_key()};
  }
  count_flops(cell, flops_formula);
}

}  // namespace bertbench
