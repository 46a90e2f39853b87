#include "reports/stats/flops.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "parsers/core/config_reader.h"
#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"
#include "parsers/core/whole_file.h"

namespace bertbench {
namespace {

constexpr std::int64_t kBertVocabulary = 30522;       // uncased WordPiece of Devlin et al. 2018
constexpr std::int64_t kBertCasedVocabulary = 28996;  // cased
constexpr std::int64_t kGpt2Vocabulary = 50257;       // byte-pair encoding of Radford et al. 2019

ModelShape bert(std::string name, std::int64_t layers, std::int64_t hidden) {
  return {std::move(name), ModelFamily::bert, layers, hidden, hidden / 64,
          4 * hidden,      kBertVocabulary,   512,    2};
}
ModelShape gpt2(std::string name, std::int64_t layers, std::int64_t hidden) {
  return {std::move(name), ModelFamily::gpt2, layers, hidden, hidden / 64,
          4 * hidden,      kGpt2Vocabulary,   1024,   0};
}

const std::vector<ModelShape>& built_in() {
  static const std::vector<ModelShape> table = {
      bert("bert-tiny", 2, 128),    bert("bert-mini", 4, 256),  bert("bert-small", 4, 512),
      bert("bert-medium", 8, 512),  bert("bert-base", 12, 768), bert("bert-large", 24, 1024),
      gpt2("gpt2-tiny", 2, 128),    gpt2("gpt2", 12, 768),      gpt2("gpt2-medium", 24, 1024),
      gpt2("gpt2-large", 36, 1280), gpt2("gpt2-xl", 48, 1600)};
  return table;
}

bool drop_suffix(std::string& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.resize(text.size() - suffix.size());
  return true;
}

double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

std::vector<std::string> known_models() {
  std::vector<std::string> names;
  for (const ModelShape& shape : built_in()) names.push_back(shape.name);
  return names;
}

Result<ModelShape> model_shape(std::string_view given) {
  if (given.ends_with(".json")) return read_model_file(std::string(given));
  given = given.substr(given.rfind('/') + 1);  // "google/bert-large-uncased" is a name of the hub
  std::string text(given);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return c == '_' || c == ' ' ? '-' : static_cast<char>(std::tolower(c));
  });
  const bool cased = !text.ends_with("-uncased") && drop_suffix(text, "-cased");
  drop_suffix(text, "-uncased");
  if (text == "gpt2-small") text = "gpt2";
  if (text.starts_with("gpt-2")) text.erase(3, 1);
  for (const ModelShape& shape : built_in()) {
    if (shape.name != text) continue;
    ModelShape found = shape;
    if (cased && shape.family == ModelFamily::bert) {
      found.name += "-cased";
      found.vocabulary = kBertCasedVocabulary;
    }
    return found;
  }
  return fail("model '" + std::string(given) + "'", "its shape is not known",
              name_hint(text, known_models(), "known: ", ", or a JSON file as in configs/models"));
}

double parameter_count(const ModelShape& m) {
  const double h = real(m.hidden), i = real(m.intermediate), l = real(m.layers);
  const double v = real(m.vocabulary);
  const double norm = 2 * h;
  // Per layer: q, k, v and output projection; two feed-forward matrices; two LayerNorms.
  const double layer = 4 * (h * h + h) + (h * i + i) + (i * h + h) + 2 * norm;
  if (m.family == ModelFamily::gpt2) return embedding_parameters(m) + l * layer + norm;
  const double pooler = h * h + h;
  const double mlm = (h * h + h) + norm + v;  // transform, LayerNorm, decoder bias (weights tied)
  const double nsp = 2 * h + 2;
  return embedding_parameters(m) + l * layer + pooler + mlm + nsp;
}

double embedding_parameters(const ModelShape& m) {
  const double rows = real(m.vocabulary + m.max_positions + m.segment_types);
  const double norm = m.family == ModelFamily::bert ? 2 * real(m.hidden) : 0;
  return rows * real(m.hidden) + norm;
}

std::int64_t masked_positions(std::int64_t sequence_length) {
  return (20 * sequence_length + 127) / 128;
}

FlopsPerSequence flops_per_sequence(const ModelShape& m, std::int64_t sequence_length,
                                    bool checkpointing, std::optional<std::int64_t> masked) {
  const double l = real(m.layers), h = real(m.hidden), i = real(m.intermediate);
  const double v = real(m.vocabulary), s = real(sequence_length);
  const bool is_bert = m.family == ModelFamily::bert;

  FlopsPerSequence out;
  out.checkpointing = checkpointing;
  out.masked = masked.value_or(is_bert ? masked_positions(sequence_length) : sequence_length);

  const double linear = l * (8 * s * h * h + 4 * s * h * i);
  const double attention = l * 4 * s * s * h;
  const double head_per_position = is_bert ? 2 * h * h + 2 * h * v : 2 * h * v;
  const double pooler = is_bert ? 2 * h * h + 4 * h : 0;
  const auto training = [&](double positions) {
    return 3 * (linear + attention + positions * head_per_position + pooler);
  };
  out.masked_head = training(real(out.masked));
  out.all_positions = training(s);
  out.hardware = out.masked_head + (checkpointing ? linear + attention : 0);

  out.notebook = (checkpointing ? 4 : 3) * (l * (4 * h * s * s + 24 * s * h * h) + 2 * s * h * v);
  out.megatron = checkpointing ? 96 * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h))
                               : 72 * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
  const double n = parameter_count(m);
  out.palm = s * (6 * n + 12 * l * h * s);
  out.palm_encoder = s * (6 * (n - embedding_parameters(m)) + 12 * l * h * s);
  return out;
}

const std::vector<FlopsFormula>& flops_formulas() {
  static const std::vector<FlopsFormula> table = {
      {"masked_head", "model FLOPs: layers, attention, head at the predicted positions, pooler; x3",
       "default of bertbench, numerator of MFU", &FlopsPerSequence::masked_head,
       Recomputation::added},
      {"hardware", "masked_head and, when checkpointing, one more forward of the layers",
       "numerator of HFU", &FlopsPerSequence::hardware, Recomputation::counted},
      {"all_positions", "masked_head with logits at every position",
       "what a trainer does that computes all logits", &FlopsPerSequence::all_positions,
       Recomputation::added},
      {"notebook", "3 (L (4hs^2 + 24sh^2) + 2shV); x4/3 when checkpointing, head included",
       "Transformers benchmark notebook (M. Li)", &FlopsPerSequence::notebook,
       Recomputation::counted},
      {"megatron", "72 s L h^2 (1 + s/6h + V/12Lh); checkpointing: 96 and V/16Lh",
       "Narayanan et al. 2021, arXiv:2104.04473", &FlopsPerSequence::megatron,
       Recomputation::counted},
      {"palm", "s (6N + 12Lhs), N = all parameters", "Chowdhery et al. 2022, arXiv:2204.02311",
       &FlopsPerSequence::palm, Recomputation::unknown},
      {"palm_encoder", "s (6N + 12Lhs), N without embeddings",
       "Chowdhery et al. 2022, arXiv:2204.02311", &FlopsPerSequence::palm_encoder,
       Recomputation::unknown},
  };
  return table;
}

Result<const FlopsFormula*> flops_formula(std::string_view key, const std::string& where) {
  const std::vector<FlopsFormula>& all = flops_formulas();
  if (key.empty()) return &all.front();
  const auto at = std::ranges::find(all, key, &FlopsFormula::key);
  if (at != all.end()) return &*at;
  std::vector<std::string> names;
  for (const FlopsFormula& formula : all) names.emplace_back(formula.key);
  return fail(where, "'" + std::string(key) + "' is no formula of FLOPs",
              name_hint(key, names, "use one of "));
}

namespace {

using Field = std::pair<const char*, std::int64_t ModelShape::*>;
constexpr std::array<Field, 7> kFields = {{{"layers", &ModelShape::layers},
                                           {"hidden", &ModelShape::hidden},
                                           {"heads", &ModelShape::heads},
                                           {"intermediate", &ModelShape::intermediate},
                                           {"vocabulary", &ModelShape::vocabulary},
                                           {"max_positions", &ModelShape::max_positions},
                                           {"segment_types", &ModelShape::segment_types}}};
constexpr const char* kModelHint = "see configs/models/bert-base.json for the keys";

}  // namespace

Result<ModelShape> read_model_file(const std::string& path) {
  const auto text = read_whole_file(path, 1, kModelHint);
  if (!text) return tl::unexpected(text.error());
  auto in = ConfigReader::open(*text, path, {}, "a model");
  if (!in) return tl::unexpected(in.error());
  const auto& root = in->root();
  std::vector<std::string> keys{"name", "family", "source"};
  for (const auto& [key, member] : kFields) keys.emplace_back(key);
  in->check_keys(root, "", keys, "key");
  ModelShape shape;
  std::string family = "bert", source;
  in->text(root, "", "name", shape.name);
  in->text(root, "", "family", family);
  in->text(root, "", "source", source);
  for (const std::string& key : keys) {
    const bool may_lack = key == "family" || key == "source" || key == "segment_types";
    if (!may_lack && !root.contains(key)) in->fail_at("", "'" + key + "' is missing", kModelHint);
  }
  // The bound keeps every FLOP count finite and the parameter count exact in a double.
  constexpr std::int64_t kModelSizeLimit = 100'000'000;
  for (const auto& [key, member] : kFields) {
    const int least = std::string_view(key) == "segment_types" ? 0 : 1;
    in->integer(root, "", key, shape.*member, least, kModelSizeLimit);
  }
  if (in->error()) return tl::unexpected(*in->error());
  if (family != "bert" && family != "gpt2")
    return fail(path, "'family' is '" + family + "'", "bert or gpt2");
  shape.family = family == "bert" ? ModelFamily::bert : ModelFamily::gpt2;
  if (shape.hidden % shape.heads != 0)
    return fail(path, "'heads' does not divide 'hidden'", "a head has hidden / heads elements");
  return shape;
}

}  // namespace bertbench
