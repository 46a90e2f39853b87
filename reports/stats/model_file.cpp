#include "reports/stats/model_file.h"

#include <array>
#include <nlohmann/json.hpp>

#include "parsers/core/whole_file.h"

namespace bertbench {
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
  const auto json = nlohmann::json::parse(*text, nullptr, false, true);
  if (!json.is_object()) return fail(path, "is not a JSON object", kModelHint);

  ModelShape shape;
  for (const auto& [key, value] : json.items()) {
    bool known = key == "name" || key == "family" || key == "source";
    for (const auto& field : kFields) known = known || key == field.first;
    if (!known) return fail(path, "unknown key '" + key + "'", kModelHint);
    if (value.is_string() != (key == "name" || key == "family" || key == "source"))
      return fail(path, "'" + key + "' has the wrong type", kModelHint);
  }
  if (!json.contains("name")) return fail(path, "'name' is missing", kModelHint);
  shape.name = json["name"];
  const std::string family = json.value("family", "bert");
  if (family != "bert" && family != "gpt2")
    return fail(path, "'family' is '" + family + "'", "bert or gpt2");
  shape.family = family == "bert" ? ModelFamily::bert : ModelFamily::gpt2;
  for (const auto& [key, member] : kFields) {
    const bool may_be_zero = std::string_view(key) == "segment_types";
    if (may_be_zero && !json.contains(key)) continue;
    if (!json.contains(key)) return fail(path, std::string("'") + key + "' is missing", kModelHint);
    // The bound keeps every FLOP count finite and the parameter count exact in a double.
    constexpr std::int64_t kModelSizeLimit = 100'000'000;
    const auto& value = json[key];
    if (!value.is_number_integer() || value < (may_be_zero ? 0 : 1) || value > kModelSizeLimit)
      return fail(path, std::string("'") + key + "' is not a whole number from 1 to 100000000",
                  kModelHint);
    shape.*member = value.get<std::int64_t>();
  }
  if (shape.hidden % shape.heads != 0)
    return fail(path, "'heads' does not divide 'hidden'", "a head has hidden / heads elements");
  return shape;
}

}  // namespace bertbench
