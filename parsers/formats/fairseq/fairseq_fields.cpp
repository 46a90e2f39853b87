#include "parsers/formats/fairseq/fairseq_fields.h"

#include <string>
#include <string_view>

#include "parsers/core/record.h"
#include "parsers/lines/cursor.h"

namespace bertbench {
namespace {

// "key=1", "key 1", "\"key\": \"1\"": a key stands after no letter, so that "loss" is not found in
// "nll_loss".
std::optional<double> field(const Line& line, std::string_view key) {
  for (auto at = line.text.find(key); at != std::string_view::npos;
       at = line.text.find(key, at + 1)) {
    const char before = at > 0 ? line.text[at - 1] : ' ';
    if (before != ' ' && before != '"' && before != '|') continue;
    Cursor cursor(line);
    cursor.move_to(at + key.size());
    if (!cursor.literal("=") && !cursor.literal("\": ") && !cursor.literal(" ")) continue;
    cursor.literal("\"");
    if (const auto value = cursor.number()) return value;
    if (cursor.literal("NaN")) return kUnknown;  // JSON as Python writes it
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<FairseqFields> read_fairseq_line(const Line& line) {
  Cursor cursor(line);
  const bool old = cursor.literal("| epoch ");
  if (!old && !cursor.literal("epoch ") && !cursor.skip_past(" | epoch ")) return std::nullopt;
  FairseqFields out;
  const auto epoch = cursor.integer();
  if (!epoch) return std::nullopt;
  std::optional<double> counted;
  if (cursor.literal(":") || cursor.literal("  ")) {
    std::int64_t batch = 0, total = 0;
    if (cursor.read(kBlanks, batch, "%|")) cursor.skip_past("| ");
    if (!cursor.read(kBlanks, batch, kBlanks, "/", kBlanks, total)) return std::nullopt;
    out.within = static_cast<double>(batch);
    out.batches = static_cast<double>(total);
    counted = (static_cast<double>(*epoch) - 1) * *out.batches + *out.within;
  } else if (cursor.literal(" | ")) {
    out.epoch = true;
    out.evaluation = line.text.find(" | valid on ") != std::string_view::npos ||
                     line.text.find("| valid_loss ") != std::string_view::npos ||
                     line.text.find(" | valid | ") != std::string_view::npos;
    Cursor subset(line);
    if (subset.skip_past(" | valid on '")) out.subset = subset.until("'").value_or("");
  } else {
    return std::nullopt;
  }
  const std::string_view prefix = out.evaluation && field(line, "valid_wps") ? "valid_" : "";
  const auto get = [&](std::string_view key) {
    return field(line, std::string(prefix) + std::string(key));
  };
  out.updates = field(line, "num_updates");
  if (!out.updates) out.updates = get("num_updates");
  if (!out.updates) out.updates = counted;  // 2017: a batch is an update
  if (out.epoch && out.updates && *epoch > 0) {
    out.batches = *out.updates / static_cast<double>(*epoch);
  }
  out.wps = get("wps");
  out.ups = get("ups");
  out.wpb = get("wpb");
  out.bsz = get("bsz");
  out.loss = get("loss");
  out.wall = field(line, "wall");
  return out;
}

std::optional<FairseqFields> read_fairseq_json(const Line& line) {
  const auto begin = line.text.find("{\"epoch\": ");
  if (begin == std::string_view::npos) return std::nullopt;
  FairseqFields out;
  std::string prefix;
  if (field(line, "train_num_updates")) {
    prefix = "train_";
    out.epoch = true;
  } else if (!field(line, "num_updates")) {
    // A subset's name stands before its keys: valid_, test_, dev-other_.
    const auto key = line.text.find("_num_updates\": ", begin);
    const auto quote = key == std::string_view::npos ? key : line.text.rfind('"', key);
    if (quote == std::string_view::npos || quote < begin) return std::nullopt;
    prefix = std::string(line.text.substr(quote + 1, key - quote));
    out.epoch = out.evaluation = true;
    out.subset = prefix;
  } else if (!field(line, "update")) {
    out.epoch = true;  // releases whose epoch lines have no prefix
  }
  const auto get = [&](std::string_view key) { return field(line, prefix + std::string(key)); };
  out.updates = get("num_updates");
  out.wps = get("wps");
  out.ups = get("ups");
  out.wpb = get("wpb");
  out.bsz = get("bsz");
  out.loss = get("loss");
  out.wall = get("wall");
  return out;
}

}  // namespace bertbench
