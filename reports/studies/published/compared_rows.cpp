#include "reports/studies/published/compared_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "parsers/core/text.h"
#include "reports/output/value_text.h"
#include "reports/stats/flops.h"
#include "reports/stats/scaling.h"

namespace bertbench {
namespace {

constexpr double kMiB = 1 << 20, kGB = 1e9;

/// "bert-large-uncased" is a bert-large. A name of a log is never taken for a path.
std::string model_name(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::string last = slash == std::string::npos ? name : name.substr(slash + 1);
  if (last.find('.') != std::string::npos) return lower(name);
  const auto shape = model_shape(last);
  return shape ? shape->name : lower(name);
}

/// Two frameworks' names of one option.
std::string axis_name(std::string_view axis) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kAlike = {{
      {"optim", "optimizer"},
      {"optimizer_type", "optimizer"},
      {"gradient_checkpointing", "activation_checkpointing"},
      {"checkpoint_activations", "activation_checkpointing"},
      {"use_xla", "xla"},
      {"max_grad_norm", "gradient_clipping"},
  }};
  for (const auto& [name, common] : kAlike) {
    if (name == axis) return std::string(common);
  }
  return std::string(axis);
}

bool same_value(std::string_view a, std::string_view b) {
  const auto plain = [](std::string_view text) {
    const std::string word = lower(text);
    if (word == "true" || word == "yes" || word == "on") return std::string("1");
    if (word == "false" || word == "no" || word == "off") return std::string("0");
    const auto number = to_double(word);
    return number ? shortest(*number) : word;
  };
  return plain(a) == plain(b);
}

std::map<std::string, std::string> axes_of(const Identity& identity) {
  std::map<std::string, std::string> out;
  for (const auto& [axis, value] : identity.axes) out.emplace(axis_name(axis), value);
  return out;
}

/// How a cell and a row agree.
struct Agreement {
  bool fits = true;
  int common = 0;
  std::vector<std::string> unknown_to_page, unknown_to_us;
};

Agreement agreement(const Cell& cell, const PublishedRow& row) {
  Agreement out;
  const auto fact = [&](const char* name, const auto& ours, const auto& theirs, auto same) {
    if (!ours && !theirs) return;
    if (!theirs) {
      out.unknown_to_page.emplace_back(name);
    } else if (!ours) {
      out.unknown_to_us.emplace_back(name);
    } else {
      out.fits = out.fits && same(*ours, *theirs);
      ++out.common;
    }
  };
  const auto equal = [](const auto& a, const auto& b) { return a == b; };
  const Identity& ours = cell.identity;
  const Identity& theirs = row.identity;
  fact("model", ours.model, theirs.model,
       [](const std::string& a, const std::string& b) { return model_name(a) == model_name(b); });
  fact("precision", ours.precision, theirs.precision, equal);
  fact("sequence_length", ours.sequence_length, theirs.sequence_length, equal);
  fact("micro_batch_size", ours.micro_batch_size, theirs.micro_batch_size, equal);
  fact("gradient_accumulation_steps", ours.gradient_accumulation_steps,
       theirs.gradient_accumulation_steps, equal);
  if (ours.nodes && ours.gpus_per_node && theirs.nodes && theirs.gpus_per_node) {
    fact("nodes", ours.nodes, theirs.nodes, equal);
    fact("gpus_per_node", ours.gpus_per_node, theirs.gpus_per_node, equal);
  } else {
    fact("world_size", cell.world_size(), row.world(), equal);
  }
  const auto our_axes = axes_of(ours), their_axes = axes_of(theirs);
  for (const auto& [axis, value] : their_axes) {
    const auto at = our_axes.find(axis);
    const auto known = at == our_axes.end() ? std::nullopt : std::optional(at->second);
    fact(axis.c_str(), known, std::optional(value), same_value);
  }
  for (const auto& [axis, value] : our_axes) {
    if (!their_axes.contains(axis) && axis != "task" && axis != "simulated")
      out.unknown_to_page.push_back(axis);
  }
  // A fine-tuning has other sequences and another head: it is no pre-training unless both say so.
  const auto task = our_axes.find("task");
  out.fits = out.fits && (task == our_axes.end() ? std::string() : task->second) == row.task;
  return out;
}

std::vector<StatedDifference> differences(const Cell& cell, const PublishedRow& row) {
  std::vector<StatedDifference> out;
  const auto& framework = row.identity.framework;
  if (framework && cell.identity.framework && *framework != *cell.identity.framework) {
    out.push_back({"framework", *framework, *cell.identity.framework});
  }
  const bool real = !cell.emulated && !cell.identity.simulated();
  const std::string ours = cell.identity.simulated() ? "simulated GPUs"
                           : cell.emulated           ? "stand-ins"
                                                     : cell.gpu;
  if (ours.empty() && row.gpu.empty()) return out;
  if (row.gpu.empty() || ours.empty() || !real || !same_gpu(row.gpu, ours)) {
    out.push_back({"gpu", row.gpu, ours});
  }
  return out;
}

std::vector<ComparedValue> further_values(const Cell& cell, const PublishedTable& table,
                                          const PublishedRow& row) {
  std::vector<ComparedValue> out;
  if (const auto tflops = row.value("tflops_per_gpu"); tflops && *tflops > 0) {
    const auto ours = cell.flops.find(table.flops_formula);
    if (ours != cell.flops.end()) {
      out.push_back({"tflops_per_gpu", "TFLOPS by " + table.flops_formula, *tflops,
                     ours->second.tflops_per_gpu});
    }
  }
  for (const auto& [key, unit] : {std::pair{"memory_mib", kMiB}, std::pair{"memory_gb", kGB}}) {
    const auto memory = row.value(key);
    if (!memory || !(*memory > 0) || !cell.memory) continue;
    out.push_back({"memory.peak_bytes", "bytes", *memory * unit,
                   static_cast<double>(cell.memory->peak_bytes)});
  }
  return out;
}

std::optional<double> rate_of(const Cell& cell) {
  const auto median = cell.median_in(RateUnit::sequences_per_second);
  return median && *median > 0 ? median : std::nullopt;
}

/// The same work on the GPUs of the base.
const Cell* base_cell(const ResultSet& set, const Cell& cell, const Topology& base) {
  Identity wanted = cell.identity;
  wanted.nodes = base.nodes;
  wanted.gpus_per_node = base.gpus_per_node;
  const auto at = std::ranges::find_if(set.cells, [&](const Cell& other) {
    return other.kind == cell.kind && other.identity == wanted && other.emulated == cell.emulated &&
           rate_of(other);
  });
  if (at != set.cells.end()) return &*at;
  // Strong scaling: the batch of the whole job is cut anew for each number of GPUs.
  wanted.micro_batch_size = wanted.gradient_accumulation_steps = std::nullopt;
  const auto same_batch = std::ranges::find_if(set.cells, [&](const Cell& other) {
    Identity its = other.identity;
    its.micro_batch_size = its.gradient_accumulation_steps = std::nullopt;
    return other.kind == cell.kind && its == wanted && other.emulated == cell.emulated &&
           rate_of(other) && cell.global_batch_size() &&
           other.global_batch_size() == cell.global_batch_size();
  });
  return same_batch == set.cells.end() ? nullptr : &*same_batch;
}

void put_speedups(const ResultSet& set, const Cell& cell, const PublishedTable& table,
                  ComparedRow& out) {
  const auto world = cell.world_size();
  if (!table.base || !world) return;
  out.speedup_base = table.base->str();
  const auto efficiency = [&](double speedup) {
    return scaling_efficiency(speedup, table.base->world_size(), *world);
  };
  if (const auto speedup = out.row.value("speedup")) {
    out.speedup_published = *speedup;
    out.efficiency_published = efficiency(*speedup);
  }
  const Cell* base = base_cell(set, cell, *table.base);
  if (base == nullptr || !out.ours) return;
  out.speedup_ours = *out.ours / *rate_of(*base);
  out.efficiency_ours = efficiency(*out.speedup_ours);
}

struct Candidate {
  std::size_t table = 0, row = 0;
  Agreement how;
};

/// Those that fit with the most facts in common.
std::vector<Candidate> nearest_rows(const Cell& cell, const Published& page) {
  std::vector<Candidate> out;
  for (std::size_t t = 0; t < page.tables.size(); ++t) {
    const PublishedTable& table = page.tables[t];
    if (table.kind != cell.kind) continue;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const PublishedRow& row = table.rows[r];
      if (!row.identity.model || !row.world() || !row.value("sequences_per_second")) continue;
      Candidate candidate{t, r, agreement(cell, row)};
      if (!candidate.how.fits) continue;
      if (!out.empty() && out.front().how.common < candidate.how.common) out.clear();
      if (out.empty() || out.front().how.common == candidate.how.common) {
        out.push_back(std::move(candidate));
      }
    }
  }
  return out;
}

ComparedRow compared_row(const ResultSet& set, const Cell& cell, const Published& page,
                         Candidate candidate) {
  const PublishedTable& table = page.tables[candidate.table];
  ComparedRow out;
  out.key = cell.key;
  out.kind = cell.kind;
  out.emulated = cell.emulated;
  out.simulated = cell.identity.simulated();
  out.table = candidate.table;
  out.row = table.rows[candidate.row];
  out.published = *out.row.value("sequences_per_second");
  out.ours = rate_of(cell);
  out.n = out.ours ? cell.throughput.n : 0;
  if (out.ours && out.published > 0) {
    out.ratio = *out.ours / out.published;
    if (const auto shown = shown_interval(cell)) {
      out.interval = Interval{shown->interval.low / out.published,
                              shown->interval.high / out.published, shown->interval.coverage};
    }
  }
  put_speedups(set, cell, table, out);
  out.values = further_values(cell, table, out.row);
  out.unknown_to_page = std::move(candidate.how.unknown_to_page);
  out.unknown_to_us = std::move(candidate.how.unknown_to_us);
  out.differences = differences(cell, out.row);
  return out;
}

}  // namespace

std::size_t PublishedComparison::compared() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(rows, [](const ComparedRow& row) { return row.ratio.has_value(); }));
}

bool same_gpu(const std::string& published, const std::string& ours) {
  const auto words = [](std::string_view text) {
    std::vector<std::string> out(1);
    for (const char c : lower(text)) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
        out.back() += c;
      } else if (!out.back().empty()) {
        out.emplace_back();
      }
    }
    // "Tesla", "NVIDIA" are left out by some and added by others; "V100", "16GB" are not.
    std::erase_if(out, [](const std::string& word) {
      return std::ranges::none_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
    });
    return out;
  };
  const auto known = words(ours);
  const auto wanted = words(published);
  return !wanted.empty() && std::ranges::all_of(wanted, [&](const std::string& word) {
    return std::ranges::find(known, word) != known.end();
  });
}

PublishedComparison compare_with_published(const ResultSet& ours, const Published& page) {
  PublishedComparison out;
  for (const Cell& cell : ours.cells) {
    if (!cell.identity.model || !cell.world_size()) {
      out.unmatched.push_back({cell.key, cell.identity.model ? "its number of GPUs is not known"
                                                             : "its model is not known"});
      continue;
    }
    std::vector<Candidate> near = nearest_rows(cell, page);
    if (near.empty()) {
      out.unmatched.push_back({cell.key, "no published row is of this work"});
      continue;
    }
    for (Candidate& candidate : near) {
      out.rows.push_back(compared_row(ours, cell, page, std::move(candidate)));
    }
  }
  return out;
}

}  // namespace bertbench
