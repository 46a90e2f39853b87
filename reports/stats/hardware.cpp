#include "reports/stats/hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "parsers/core/whole_file.h"

namespace bertbench {

// configs/hardware.json as it was when bertbench was built (reports/output/output.cmake).
extern const char* const kHardwareJson;

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kHardwareHint = "see configs/hardware.json for the form";

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : lower(text)) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.')
      out.back() += c;
    else if (!out.back().empty())
      out.emplace_back();
  }
  return out;
}

bool has(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), lower(word)) != list.end();
}

Result<std::vector<std::string>> strings(const Json& object, const char* key,
                                         const std::string& where) {
  std::vector<std::string> out;
  if (!object.is_object()) return fail(where, "'match' holds no objects", kHardwareHint);
  if (!object.contains(key)) return out;
  if (!object[key].is_array())
    return fail(where, fmt::format("'{}' is not a list", key), kHardwareHint);
  for (const Json& item : object[key]) {
    if (!item.is_string())
      return fail(where, fmt::format("'{}' holds no text", key), kHardwareHint);
    out.push_back(item);
  }
  return out;
}

Result<Hardware> one(const Json& json, const std::string& where) {
  if (!json.is_object()) return fail(where, "is not an object", kHardwareHint);
  Hardware out;
  if (!json.contains("name") || !json["name"].is_string())
    return fail(where, "'name' is missing", kHardwareHint);
  out.name = json["name"];
  if (!json.contains("match") || !json["match"].is_array() || json["match"].empty())
    return fail(where, "'match' is not a list of {all, none}", kHardwareHint);
  for (const Json& item : json["match"]) {
    const auto all = strings(item, "all", where);
    if (!all) return tl::unexpected(all.error());
    if (all->empty())
      return fail(where, "'match.all' is empty and would match every GPU", kHardwareHint);
    const auto none = strings(item, "none", where);
    if (!none) return tl::unexpected(none.error());
    out.matches.push_back({*all, *none});
  }
  for (const char* key : {"source", "note"}) {
    if (json.contains(key) && !json[key].is_string())
      return fail(where, fmt::format("'{}' is not text", key), kHardwareHint);
  }
  out.source = json.value("source", "");
  out.note = json.value("note", "");
  if (!json.contains("dense_tflops") || !json["dense_tflops"].is_object())
    return fail(where, "'dense_tflops' is missing", kHardwareHint);
  for (const auto& [precision, value] : json["dense_tflops"].items()) {
    if (!value.is_number() || value <= 0)
      return fail(where, "'dense_tflops." + precision + "' is not a number above 0", kHardwareHint);
    out.peaks.push_back({out.name, precision, value, "dense", out.source});
  }
  return out;
}

Result<std::vector<Hardware>> parse(std::string_view text, const std::string& where) {
  const Json json = Json::parse(text, nullptr, false, true);
  if (!json.is_object() || !json.contains("hardware") || !json["hardware"].is_array())
    return fail(where, "is not a JSON object with a list 'hardware'", kHardwareHint);
  std::vector<Hardware> out;
  for (const Json& item : json["hardware"]) {
    auto entry = one(item, fmt::format("{}: hardware[{}]", where, out.size()));
    if (!entry) return tl::unexpected(entry.error());
    out.push_back(std::move(*entry));
  }
  return out;
}

}  // namespace

std::string Peak::str() const {
  return fmt::format("{} {} {} {} TFLOPS", gpu, precision, kind, tflops);
}

const std::vector<Hardware>& known_hardware() {
  // The file is checked by a test, so a parse error cannot reach a user.
  static const std::vector<Hardware> list =
      parse(kHardwareJson, "configs/hardware.json").value_or(std::vector<Hardware>{});
  return list;
}

Result<std::vector<Hardware>> read_hardware(const std::string& path) {
  const auto text = read_whole_file(path, 16, kHardwareHint);
  if (!text) return tl::unexpected(text.error());
  return parse(*text, path);
}

const Hardware* match_hardware(std::string_view gpu_name, const std::vector<Hardware>& list) {
  const std::vector<std::string> printed = words(gpu_name);
  if (has(printed, "mig")) return nullptr;
  const auto present = [&](const std::string& word) { return has(printed, word); };
  for (const Hardware& hardware : list) {
    for (const HardwareMatch& match : hardware.matches) {
      if (std::all_of(match.all.begin(), match.all.end(), present) &&
          std::none_of(match.none.begin(), match.none.end(), present))
        return &hardware;
    }
  }
  return nullptr;
}

std::optional<Peak> peak_of(std::string_view gpu_name, std::string_view precision) {
  const Hardware* hardware = match_hardware(gpu_name);
  if (hardware == nullptr) return {};
  for (const Peak& peak : hardware->peaks)
    if (peak.precision == precision) return peak;
  return {};
}

Utilization utilization(const ModelShape& shape, std::int64_t sequence_length, bool checkpointing,
                        double rate, const std::optional<Peak>& peak, std::string_view formula) {
  const FlopsPerSequence plain = flops_per_sequence(shape, sequence_length);
  const FlopsPerSequence done = flops_per_sequence(shape, sequence_length, checkpointing);
  Utilization out;
  const FlopsFormula* chosen = &flops_formulas().front();
  if (peak && peak->tflops > 0) out.peak = peak;
  for (const FlopsFormula& each : flops_formulas()) {
    if (each.key == formula) chosen = &each;
    FormulaUse& use = out.by_formula[std::string(each.key)];
    const double stated = done.*each.value;
    use.tflops_per_gpu = stated * rate / 1e12;
    if (!out.peak) continue;
    const auto share = [&](double flops) { return flops * rate / 1e12 / peak->tflops; };
    use.mfu = share(plain.*each.value);
    // What the recomputation of the layers costs is the same in every formula that adds it.
    const double extra =
        each.recomputation == Recomputation::added ? done.hardware - done.masked_head : 0;
    if (!checkpointing || each.recomputation != Recomputation::unknown) {
      use.hfu = share(stated + extra);
    }
  }
  out.formula = chosen->key;
  out.chosen = out.by_formula[out.formula];
  out.counted = fmt::format("linear, attention, head at {} of {} positions{}; x3", done.masked,
                            sequence_length, shape.family == ModelFamily::bert ? ", pooler" : "");
  if (out.chosen.mfu && *out.chosen.mfu > 1)
    out.warnings.push_back(
        make_notice(NoticeCode::mfu_above_one, 0, 100 * *out.chosen.mfu, peak->str()));
  return out;
}

}  // namespace bertbench
