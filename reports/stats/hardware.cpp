#include "reports/stats/hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "parsers/core/text.h"

namespace bertbench {

// configs/hardware.json as it was when bertbench was built (reports/output/output.cmake). A test
// checks the file, so it is read without error messages.
extern const char* const kHardwareJson;

namespace {

using Json = nlohmann::ordered_json;

bool has(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), lower(word)) != list.end();
}

}  // namespace

std::vector<std::string> words_of_gpu(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : lower(text)) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.')
      out.back() += c;
    else if (!out.back().empty())
      out.emplace_back();
  }
  return out;
}

std::string Peak::str() const {
  return fmt::format("{} {} {} {} TFLOPS", gpu, precision, kind, tflops);
}

std::optional<Peak> peak_from_text(std::string_view text) {
  // From its end, as a GPU's name has blanks.
  const auto words = split(text, ' ');
  const std::size_t n = words.size();
  const auto tflops = n < 5 ? std::nullopt : to_double(words[n - 2]);
  if (!tflops || !(*tflops > 0) || words[n - 1] != "TFLOPS") return std::nullopt;
  const auto gpu = text.substr(0, static_cast<std::size_t>(words[n - 4].data() - text.data()) - 1);
  return Peak{std::string(gpu), std::string(words[n - 4]), *tflops, std::string(words[n - 3]), {}};
}

const std::vector<Hardware>& known_hardware() {
  static const std::vector<Hardware> list = [] {
    std::vector<Hardware> out;
    const Json json = Json::parse(kHardwareJson, nullptr, true, /*ignore_comments=*/true);
    for (const Json& item : json.at("hardware")) {
      Hardware& one = out.emplace_back();
      one.name = item.at("name");
      one.source = item.at("source");
      for (const Json& match : item.at("match")) {
        one.matches.push_back({match.at("all"), match.value("none", std::vector<std::string>())});
      }
      for (const auto& [precision, tflops] : item.at("dense_tflops").items()) {
        one.peaks.push_back({one.name, precision, tflops, "dense", one.source});
      }
    }
    return out;
  }();
  return list;
}

const Hardware* match_hardware(std::string_view gpu_name, const std::vector<Hardware>& list) {
  const std::vector<std::string> printed = words_of_gpu(gpu_name);
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
  out.peak = peak;
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
  if (out.chosen.mfu > 1.0)
    out.warnings.push_back(
        make_notice(NoticeCode::mfu_above_one, 0, 100 * *out.chosen.mfu, peak->str()));
  return out;
}

}  // namespace bertbench
