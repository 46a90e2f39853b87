// Format files: JSON text to UserRules, with every check that can be made without a log.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "parsers/core/config_reader.h"
#include "parsers/core/text.h"
#include "parsers/described/user_format.h"
#include "parsers/described/user_rules.h"

namespace bertbench {
namespace {

constexpr std::size_t kMinLiteral = 4;  ///< the scan's fingerprint
constexpr std::size_t kMaxLiteral = 200;
constexpr std::size_t kMaxPattern = 1000;
constexpr std::int64_t kMaxPatternMemory = std::int64_t{1} << 20;
constexpr int kMaxGroups = 31;

// Whether every match begins at the literal. An alternative or a quantifier behind it may say
// otherwise; then the whole line is searched.
bool begins_with_literal(std::string_view pattern, const std::string& literal) {
  const std::string quoted = re2::RE2::QuoteMeta(literal);
  std::size_t taken = 0;
  if (pattern.starts_with(quoted)) taken = quoted.size();
  const bool plain = std::ranges::none_of(
      literal, [](char c) { return std::string_view("\\^$.|?*+()[]{}").find(c) < 14; });
  if (plain && pattern.starts_with(literal)) taken = literal.size();
  if (taken == 0 || pattern.find('|') != std::string_view::npos) return false;
  return taken == pattern.size() ||
         std::string_view("*?+{").find(pattern[taken]) == std::string::npos;
}

class FileReader {
 public:
  explicit FileReader(ConfigReader& in) : in_(in) {}

  std::unique_ptr<UserRules> read() {
    const Json& root = in_.root();
    in_.check_keys(root, "", {"schema", "name", "title", "iteration", "rate", "facts", "lines"},
                   "key");
    std::string schema;
    in_.text(root, "", "schema", schema);
    if (schema != "bertbench.format/1") {
      in_.fail_at("/schema", "must be \"bertbench.format/1\"", "see docs/formats.md");
    }
    in_.text(root, "", "name", rules_->name);
    check_name();
    in_.text(root, "", "title", rules_->title);
    rules_->iteration_unit = static_cast<IterationUnit>(
        choice(root, "", "iteration", {"unknown", "micro_step", "optimizer_step"}));
    if (root.contains("rate")) read_rate(root["rate"]);
    if (root.contains("facts")) read_facts(root["facts"]);
    read_lines(root);
    return std::move(rules_);
  }

 private:
  void check_name() {
    const std::string& name = rules_->name;
    const bool plain = !name.empty() && name.size() <= 40 && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
    if (!plain) {
      in_.fail_at("/name", "must be 1 to 40 letters a-z, digits and '-'",
                  "it stands where built-in names like dllogger-json stand");
    }
    for (const Format* format : all_formats()) {
      if (format->name == name) {
        in_.fail_at("/name", fmt::format("'{}' is a built-in format", name), "choose another name");
      }
    }
    if (name == "auto") in_.fail_at("/name", "'auto' is no name", "choose another name");
  }

  /// Index of the text at `key` in `names`; 0 when it is not there.
  std::size_t choice(const Json& object, const std::string& pointer, const char* key,
                     const std::vector<std::string>& names) {
    std::string text = names.front();
    in_.text(object, pointer, key, text);
    const auto at = std::ranges::find(names, text);
    if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
    const std::string near = nearest_name(text, names);
    in_.fail_at(child_pointer(pointer, key), fmt::format("'{}' is not known", text),
                near.empty() ? fmt::format("use one of {}", fmt::join(names, ", "))
                             : fmt::format("did you mean '{}'?", near));
    return 0;
  }

  bool is_object(const Json& value, const std::string& pointer) {
    return value.is_object() || in_.fail_at(pointer, "must be an object");
  }

  void read_rate(const Json& rate) {
    if (!is_object(rate, "/rate")) return;
    in_.check_keys(rate, "/rate", {"unit", "per"}, "key");
    if (!rate.contains("unit")) in_.fail_at("/rate", "needs a unit", "for example sequences/s");
    constexpr RateUnit kUnits[] = {RateUnit::sequences_per_second, RateUnit::tokens_per_second,
                                   RateUnit::iterations_per_second};
    rules_->rate_unit =
        kUnits[choice(rate, "/rate", "unit", {"sequences/s", "tokens/s", "iterations/s"})];
    rules_->rate_of_one_gpu = choice(rate, "/rate", "per", {"job", "gpu"}) == 1;
    if (rules_->rate_of_one_gpu && rules_->rate_unit == RateUnit::iterations_per_second) {
      in_.fail_at("/rate/per", "iterations are of the job, never of one GPU", "remove \"per\"");
    }
  }

  void read_facts(const Json& facts) {
    if (!is_object(facts, "/facts")) return;
    static const std::vector<std::string> kCounts = {
        "micro_batch_size", "global_batch_size", "gradient_accumulation_steps",
        "sequence_length",  "world_size",        "nodes",
        "gpus_per_node"};
    static const std::vector<std::string> kTexts = {"framework", "model", "precision"};
    std::vector<std::string> known = kCounts;
    known.insert(known.end(), kTexts.begin(), kTexts.end());
    in_.check_keys(facts, "/facts", known, "fact");
    Facts& out = rules_->facts;
    const std::array counts = {
        &out.micro_batch_size, &out.global_batch_size, &out.gradient_accumulation_steps,
        &out.sequence_length,  &out.world_size,        &out.nodes,
        &out.gpus_per_node};
    for (std::size_t i = 0; i < kCounts.size(); ++i) {
      std::int64_t value = 0;
      in_.integer(facts, "/facts", kCounts[i].c_str(), value, 1, 1'000'000'000);
      if (value > 0) counts[i]->set(value, FactSource::log);
    }
    const std::array texts = {&out.framework, &out.model, &out.precision};
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
      std::string value;
      in_.text(facts, "/facts", kTexts[i].c_str(), value);
      if (!value.empty()) texts[i]->set(value, FactSource::log);
    }
  }

  void read_lines(const Json& root) {
    if (!root.contains("lines") || !root["lines"].is_array() || root["lines"].empty()) {
      in_.fail_at("/lines", "a format needs a list of lines", "see docs/formats.md");
      return;
    }
    const Json& lines = root["lines"];
    if (lines.size() > UserFormat::kMaxRules) {
      in_.fail_at("/lines", fmt::format("more than {} rules", UserFormat::kMaxRules));
      return;
    }
    bool counts = false;
    for (std::size_t i = 0; i < lines.size() && !in_.error(); ++i) {
      const std::string pointer = child_pointer("/lines", std::to_string(i));
      if (!is_object(lines[i], pointer)) return;
      UserRule rule = read_rule(lines[i], pointer);
      counts = counts || std::ranges::any_of(rule.groups, [](const UserRule::Group& group) {
                 return group.field == Field::step;
               });
      rules_->lines.push_back(std::move(rule));
    }
    if (!counts) {
      in_.fail_at("/lines", "no pattern has a group 'step'",
                  "the line of an iteration is told by its counter: (?P<step>\\d+)");
    }
  }

  UserRule read_rule(const Json& object, const std::string& pointer) {
    UserRule rule;
    in_.check_keys(object, pointer, {"literal", "pattern", "example", "kind", "scale", "outcome"},
                   "key");
    in_.text(object, pointer, "literal", rule.literal);
    check_literal(rule.literal, pointer);
    rule.kind = static_cast<WorkKind>(
        choice(object, pointer, "kind", {"training", "evaluation", "inference"}));
    std::string outcome, pattern;
    in_.text(object, pointer, "outcome", outcome);
    if (!outcome.empty()) {
      rule.outcome = parse_status(outcome);
      if (!rule.outcome || *rule.outcome == Status::no_data) {
        const std::vector<std::string> names = {"completed", "nan",      "out_of_memory",
                                                "error",     "killed",   "timeout",
                                                "stalled",   "truncated"};
        const std::string near = nearest_name(outcome, names);
        in_.fail_at(child_pointer(pointer, "outcome"), fmt::format("'{}' is no outcome", outcome),
                    near.empty() ? fmt::format("use one of {}", fmt::join(names, ", "))
                                 : fmt::format("did you mean '{}'?", near));
      }
    }
    in_.text(object, pointer, "pattern", pattern);
    if (pattern.empty()) pattern = re2::RE2::QuoteMeta(rule.literal);
    if (!in_.error()) compile(rule, pattern, pointer);
    if (!in_.error() && object.contains("scale")) read_scale(rule, object["scale"], pointer);
    if (!in_.error()) check_example(rule, object, pointer);
    if (!in_.error() && rule.groups.empty() && !rule.outcome) {
      in_.fail_at(pointer, "gives nothing: no named group and no outcome",
                  "name a group: (?P<rate>...)");
    }
    return rule;
  }

  void check_literal(const std::string& literal, const std::string& pointer) {
    const std::string at = child_pointer(pointer, "literal");
    if (literal.size() < kMinLiteral || literal.size() > kMaxLiteral) {
      in_.fail_at(at, fmt::format("must be text of {} to {} bytes", kMinLiteral, kMaxLiteral),
                  "a part of the line that is always there, the rarer the better; lines without "
                  "it are never looked at");
    } else if (std::ranges::any_of(literal,
                                   [](char c) { return c >= 0 && c < ' ' && c != '\t'; })) {
      in_.fail_at(at, "must not hold control characters");
    }
  }

  void compile(UserRule& rule, const std::string& pattern, const std::string& pointer) {
    const std::string at = child_pointer(pointer, "pattern");
    if (pattern.size() > kMaxPattern) {
      in_.fail_at(at, fmt::format("is longer than {} bytes", kMaxPattern));
      return;
    }
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);  // logs are bytes
    options.set_log_errors(false);
    options.set_max_mem(kMaxPatternMemory);
    rule.pattern = std::make_unique<re2::RE2>(pattern, options);
    if (!rule.pattern->ok()) {
      in_.fail_at(at, "is no RE2 pattern: " + rule.pattern->error(),
                  "RE2 has neither look-around nor back references, and repeats at most 1000");
      return;
    }
    if (rule.pattern->NumberOfCapturingGroups() > kMaxGroups) {
      in_.fail_at(at, fmt::format("has more than {} groups", kMaxGroups),
                  "write (?:...) where nothing is taken");
      return;
    }
    rule.at_literal = begins_with_literal(pattern, rule.literal);
    for (const auto& [name, index] : rule.pattern->NamedCapturingGroups()) {
      const auto field = parse_field(name);
      if (!field) {
        const std::string near = nearest_name(name, field_names());
        in_.fail_at(at, fmt::format("unknown group '{}'", name),
                    near.empty() ? fmt::format("known: {}", fmt::join(field_names(), ", "))
                                 : fmt::format("did you mean '{}'?", near));
        return;
      }
      rule.groups.push_back({index, *field, 1});
    }
    std::ranges::sort(rule.groups, {}, &UserRule::Group::index);
    const auto has = [&](Field field) {
      return std::ranges::find(rule.groups, field, &UserRule::Group::field) != rule.groups.end();
    };
    for (const Field field : {Field::iterations, Field::seconds, Field::seconds_per_iteration,
                              Field::elapsed, Field::clock, Field::rate}) {
      if (has(field) && !has(Field::step)) {
        in_.fail_at(at,
                    fmt::format("has a group '{}' but no 'step'",
                                field_names()[static_cast<std::size_t>(field)]),
                    "an iteration is told by its counter; a closing rate is average_rate, a "
                    "closing time total_seconds");
      }
    }
    if (has(Field::rate) && rules_->rate_unit == RateUnit::unknown) {
      in_.fail_at(at, "has a group 'rate', but the file does not say of what",
                  "add \"rate\": {\"unit\": \"sequences/s\", \"per\": \"job\"}");
    }
  }

  void read_scale(UserRule& rule, const Json& scale, const std::string& pointer) {
    const std::string here = child_pointer(pointer, "scale");
    if (!is_object(scale, here)) return;
    for (const auto& [name, value] : scale.items()) {
      const std::string at = child_pointer(here, name);
      const auto field = parse_field(name);
      const auto group = field ? std::ranges::find(rule.groups, *field, &UserRule::Group::field)
                               : rule.groups.end();
      if (group == rule.groups.end()) {
        in_.fail_at(at, fmt::format("the pattern has no group '{}'", name));
      } else if (!value.is_number() || !(value.get<double>() > 0) || value.get<double>() > 1e18) {
        in_.fail_at(at, "must be a number above 0", "0.001 turns milliseconds into seconds");
      } else {
        group->scale = value.get<double>();
      }
    }
  }

  void check_example(const UserRule& rule, const Json& object, const std::string& pointer) {
    const std::string at = child_pointer(pointer, "example");
    std::string example;
    in_.text(object, pointer, "example", example);
    if (example.empty()) {
      in_.fail_at(at, "each rule needs a line that it reads", "paste one from a log");
      return;
    }
    if (example.find(rule.literal) == std::string::npos) {
      in_.fail_at(at, fmt::format("does not hold the literal '{}'", rule.literal),
                  "the scan would never show this line to the pattern");
      return;
    }
    const auto values = rule.match(example, false);
    if (!values) {
      in_.fail_at(at, "is not matched by the pattern");
      return;
    }
    for (const UserRule::Value& value : *values) {
      if (readable(value.field, value.text)) continue;
      in_.fail_at(at,
                  fmt::format("the group '{}' is '{}', which is not what it must be",
                              field_names()[static_cast<std::size_t>(value.field)], value.text),
                  "narrow the group: [0-9.]+ for a number");
    }
  }

  ConfigReader& in_;
  std::unique_ptr<UserRules> rules_ = std::make_unique<UserRules>();
};

}  // namespace

Result<std::shared_ptr<const UserFormat>> UserFormat::parse(const std::string& text,
                                                            const std::string& source) {
  auto in = ConfigReader::open(text, source, {}, "a format");
  if (!in) return tl::unexpected(in.error());
  auto rules = FileReader(*in).read();
  if (in->error()) return tl::unexpected(*in->error());
  return std::make_shared<const UserFormat>(std::move(rules));
}

Result<std::shared_ptr<const UserFormat>> UserFormat::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(path, "cannot be read", "give the path of a format file");
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (file.gcount() == 0 && !file.eof())) {
    return fail(path, "cannot be read", "give the path of a format file");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    return fail(path, fmt::format("is larger than {} MiB", kMaxFileBytes >> 20),
                "a format file holds rules, not logs");
  }
  return parse(text, path);
}

}  // namespace bertbench
