#include "reports/cells/partial.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "reports/cells/summarize.h"
#include "reports/model/json_reader.h"
#include "reports/model/json_writer.h"

namespace bertbench {

// What stands in "partial"; the cells hold the rest.
template <Of<ShardLog> S, class V>
void fields(S& s, V& v) {
  v("log", s.log, {.required = true});
  v("run", s.run, {.zero_unknown = true});
  v("tree", s.measured.tree);
  v("numbered", s.measured.numbered);
}

template <Of<Shard> S, class V>
void fields(S& s, V& v) {
  auto& [shard, of, logs, list, options, measured] = s;
  v("shard", shard, {.required = true, .least = 1});
  v("of", of, {.required = true, .least = 1});
  v("logs", logs, {.required = true});
  v("list", list, {.required = true, .always = true});
  v("options", options, {.always = true});
  v("sources", measured, {.required = true, .always = true});
}

namespace {

constexpr const char* kRemedy = "write the shards again with bertbench extract --shard i/n";

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

/// The rest of a log that cell_of made a cell.
void add(Cell cell, MeasuredLog& log) {
  log.identity = std::move(cell.identity);
  log.kind = cell.kind;
  log.world_size = cell.stated_world_size;
  log.global_batch_size = cell.stated_global_batch_size;
  log.gpu = std::move(cell.gpu);
  log.trial = std::move(cell.trials.front());
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
  // FNV-1a, 64 bits: distinguishes lists that differ by accident, nobody gains by forging one.
  std::uint64_t hash = 14695981039346656037ULL;
  const auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 1099511628211ULL; };
  for (const std::string& name : names) {
    for (const char c : name) add(static_cast<unsigned char>(c));
    add(0);  // no path holds one
  }
  return fmt::format("{:016x}", hash);
}

ResultSet partial_result(Shard shard) {
  JsonBox partial = JsonWriter::json_of(shard);
  // An empty builder stamps the set with version and time.
  ResultSet results = ResultBuilder(MeasureOptions{}).finish();
  for (ShardLog& log : shard.measured) results.cells.push_back(cell_of(std::move(log.measured)));
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
  Shard shard;
  JsonReader in(slot_of(shard), where, "$.partial");
  using Json = nlohmann::ordered_json;
  auto error = in.text(results.partial->dump(-1, ' ', false, Json::error_handler_t::replace));
  const auto require = [&](bool good, const std::string& key, const char* rule) {
    if (!good && !error)
      error = Error{where + ": $.partial." + key, "must be " + std::string(rule), {}};
  };
  std::vector<ShardLog>& logs = shard.measured;
  require(shard.shard <= shard.of, "shard", "at most the number of shards");
  require(logs.size() == results.cells.size(), "sources", "one entry for each cell");
  for (std::size_t i = 0; !error && i < logs.size(); ++i) {
    require(logs[i].log < shard.logs, fmt::format("sources[{}].log", i),
            "an index into the list of logs");
    require(results.cells[i].trials.size() == 1, "sources", "of cells of one trial each");
    if (!error) add(std::move(results.cells[i]), logs[i].measured);
  }
  if (error) return fail(error->where, error->what, kRemedy);
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
