#include "reports/cells/partial.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "reports/model/json_reader.h"

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRemedy = "write the shards again with bertbench extract --shard i/n";

Json source_of(const ShardLog& log) {
  Json source = {{"log", log.log}};
  if (log.run > 0) source["run"] = log.run;
  if (!log.measured.tree.empty()) source["tree"] = log.measured.tree;
  if (log.measured.numbered) source["numbered"] = true;
  return source;
}

Cell cell_of(MeasuredLog log) {
  Cell cell;
  cell.identity = std::move(log.identity);
  cell.kind = log.kind;
  cell.stated_world_size = log.world_size;
  cell.stated_global_batch_size = log.global_batch_size;
  cell.gpu = std::move(log.gpu);
  cell.trials.push_back(std::move(log.trial));
  return cell;
}

MeasuredLog measured_of(Cell cell) {
  MeasuredLog log;
  log.identity = std::move(cell.identity);
  log.kind = cell.kind;
  log.world_size = cell.stated_world_size;
  log.global_batch_size = cell.stated_global_batch_size;
  log.gpu = std::move(cell.gpu);
  log.trial = std::move(cell.trials.front());
  return log;
}

std::optional<Error> difference(const NamedShard& first, const NamedShard& other) {
  const auto error = [&](const std::string& what, const std::string& hint) {
    return Error{other.name, what + " " + first.name, hint};
  };
  const Shard& a = first.shard;
  const Shard& b = other.shard;
  if (a.of != b.of) {
    return error(fmt::format("is one of {} shards, not of {} as", b.of, a.of), kRemedy);
  }
  if (a.logs != b.logs || a.list != b.list) {
    return error(
        fmt::format("was cut from another list of logs ({} against {}) than", b.logs, a.logs),
        "give every shard the same paths, in the same order, while no log is added");
  }
  for (const auto* options : {&a.options, &b.options}) {
    for (const auto& [key, value] : *options) {
      const auto in_a = a.options.find(key), in_b = b.options.find(key);
      if (in_a != a.options.end() && in_b != b.options.end() && in_a->second == in_b->second) {
        continue;
      }
      const auto text = [&](auto it, const auto& map) {
        return it == map.end() ? std::string("not given") : it->second;
      };
      return error(fmt::format("was read with another {} ({} against {}) than", key,
                               text(in_b, b.options), text(in_a, a.options)),
                   "read every shard with the same options");
    }
  }
  return std::nullopt;
}

Result<void> check_set(std::vector<NamedShard>& shards) {
  std::ranges::stable_sort(shards, {}, [](const NamedShard& s) { return s.shard.shard; });
  for (std::size_t i = 1; i < shards.size(); ++i) {
    if (const auto differs = difference(shards.front(), shards[i])) {
      return tl::unexpected(*differs);
    }
    if (shards[i].shard.shard == shards[i - 1].shard.shard) {
      return fail(
          shards[i].name,
          fmt::format("is shard {} once more, after {}", shards[i].shard.shard, shards[i - 1].name),
          "name each shard once");
    }
  }
  std::string missing;
  const int of = shards.front().shard.of;
  std::size_t at = 0;
  for (int shard = 1; shard <= of; ++shard) {
    if (at < shards.size() && shards[at].shard.shard == shard) {
      ++at;
    } else if (missing.size() < 200) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", shard);
    }
  }
  if (missing.empty()) return {};
  return fail("merge", fmt::format("of {} shards these are missing: {}", of, missing),
              "name the results of all shards; run what is missing with the same options");
}

}  // namespace

std::string digest_of(const std::vector<std::string>& names) {
  // FNV-1a, 64 bits: tells lists apart that differ by accident, nobody gains by forging one.
  std::uint64_t hash = 14695981039346656037ULL;
  const auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 1099511628211ULL; };
  for (const std::string& name : names) {
    for (const char c : name) add(static_cast<unsigned char>(c));
    add(0);  // no path holds one
  }
  return fmt::format("{:016x}", hash);
}

ResultSet partial_result(Shard shard) {
  Json partial = {{"shard", shard.shard},
                  {"of", shard.of},
                  {"logs", shard.logs},
                  {"list", shard.list},
                  {"options", shard.options}};
  Json& sources = partial["sources"] = Json::array();
  // An empty builder stamps the set with version and time.
  ResultSet results = ResultBuilder(MeasureOptions{}).finish();
  for (ShardLog& log : shard.measured) {
    sources.push_back(source_of(log));
    results.cells.push_back(cell_of(std::move(log.measured)));
  }
  (void)summarize(results);  // each cell for itself, so that the part can be looked at
  for (Cell& cell : results.cells) {
    cell.speedup = cell.precision_speedup = std::nullopt;
    cell.scaling_efficiency = std::nullopt;
    cell.scaling.clear();
  }
  results.partial = std::move(partial);
  return results;
}

Result<Shard> read_shard(ResultSet results, const std::string& where) {
  if (results.partial.is_null()) {
    return fail(where, "is no part of a sharded extraction",
                "whole results need no merge; bertbench report joins their cells");
  }
  std::optional<Error> error;
  JsonReader in(*results.partial, "$.partial", error, where);
  for (const char* key : {"shard", "of", "logs", "list", "sources"}) in.require(key);
  Shard shard;
  constexpr std::int64_t kMost = 1'000'000'000;
  shard.shard = static_cast<int>(std::min(in.count("shard", 1).value_or(1), kMost));
  shard.of = static_cast<int>(std::min(in.count("of", 1).value_or(1), kMost));
  shard.logs = static_cast<std::size_t>(in.count("logs").value_or(0));
  shard.list = in.text("list").value_or("");
  in.object("options", [&](JsonReader& o) {
    o.members([&](std::string_view key, const JsonTree&, JsonTree::Index) {
      shard.options[std::string(key)] = o.text(key).value_or("");
    });
  });
  std::vector<ShardLog> sources;
  in.objects("sources", [&](JsonReader& o) {
    ShardLog& log = sources.emplace_back();
    o.require("log");
    log.log = static_cast<std::size_t>(o.count("log").value_or(0));
    log.run = static_cast<std::size_t>(o.count("run").value_or(0));
    log.measured.tree = o.text("tree").value_or("");
    log.measured.numbered = o.flag("numbered").value_or(false);
    if (log.log >= shard.logs) o.report("log", "an index into the list of logs");
  });
  if (!error && shard.shard > shard.of) in.report("shard", "at most the number of shards");
  if (!error && sources.size() != results.cells.size()) {
    in.report("sources", "one entry for each cell");
  }
  for (std::size_t i = 0; !error && i < sources.size(); ++i) {
    if (results.cells[i].trials.size() != 1) in.report("sources", "of cells of one trial each");
  }
  if (error) {
    error->hint = kRemedy;
    return tl::unexpected(*error);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    MeasuredLog measured = measured_of(std::move(results.cells[i]));
    measured.tree = std::move(sources[i].measured.tree);
    measured.numbered = sources[i].measured.numbered;
    sources[i].measured = std::move(measured);
  }
  shard.measured = std::move(sources);
  return shard;
}

Result<ResultSet> merge_shards(std::vector<NamedShard> shards, std::vector<Notice>& notices) {
  if (shards.empty()) return fail("merge", "nothing to merge", "name the results of all shards");
  if (auto good = check_set(shards); !good) return tl::unexpected(good.error());
  std::vector<ShardLog> all;
  for (NamedShard& one : shards) {
    std::ranges::move(one.shard.measured, std::back_inserter(all));
  }
  std::ranges::stable_sort(all, {},
                           [](const ShardLog& log) { return std::pair(log.log, log.run); });
  const auto& options = shards.front().shard.options;
  const auto option = [&](const char* key) {
    const auto it = options.find(key);
    return it == options.end() ? std::string() : it->second;
  };
  MeasureOptions how;
  how.base = option("base");
  how.flops_formula = option("flops-formula");
  ResultBuilder builder(how);
  for (ShardLog& log : all) builder.add(std::move(log.measured));
  ResultSet results = builder.finish();
  notices = builder.notices();
  return results;
}

}  // namespace bertbench
