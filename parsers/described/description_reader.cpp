// Format files: JSON text to a Description, with every check that can be made without a log.
#include <fmt/format.h>

#include <algorithm>

#include "parsers/core/config_reader.h"
#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"
#include "parsers/described/description.h"
#include "parsers/described/format_keys.h"
#include "parsers/described/line_values.h"
#include "parsers/described/printed_value.h"
#include "parsers/described/stated_facts.h"

namespace bertbench {
namespace {

class DescriptionReader {
 public:
  DescriptionReader(ConfigReader& in, Checks checks) : in_(in), checks_(checks) {}

  std::unique_ptr<const Description> read() {
    const Json& root = in_.root();
    in_.check_keys(root, "", names_of(format_keys()), "key");
    std::string schema;
    in_.text(root, "", "schema", schema);
    if (schema != kFormatSchema) {
      in_.fail_at("/schema", fmt::format("must be \"{}\"", kFormatSchema), "see docs/formats.md");
    }
    in_.text(root, "", "name", out_->name);
    check_name();
    in_.text(root, "", "title", out_->title);
    in_.text(root, "", "reference", out_->reference);
    if (const auto unit = iteration_of(root, "")) out_->iteration = *unit;
    if (const auto rate = rate_of(root, "")) out_->rate = *rate;
    out_->facts = facts_of(root, "");
    out_->own_facts = is_set(root, "", "own_facts");
    out_->day_first = choice(root, "", "date_order", {"month_first", "day_first"}) == 1;
    out_->commas =
        static_cast<Commas>(choice(root, "", "commas", {"thousands", "decimal", "unclear"}));
    in_.texts(root, "", "notes", out_->notes);
    out_->yields = is_set(root, "", "yields");
    read_lines(root);
    return std::move(out_);
  }

 private:
  void check_name() {
    const std::string& name = out_->name;
    const bool plain = !name.empty() && name.size() <= 40 && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
    if (!plain) {
      in_.fail_at("/name", "must be 1 to 40 letters a-z, digits and '-'",
                  "it stands where built-in names like dllogger-json stand");
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
    in_.fail_at(child_pointer(pointer, key), fmt::format("'{}' is not known", text),
                name_hint(text, names, "use one of "));
    return 0;
  }

  bool is_object(const Json& value, const std::string& pointer) {
    return value.is_object() || in_.fail_at(pointer, "must be an object");
  }

  bool is_set(const Json& object, const std::string& pointer, const char* key) {
    bool set = false;
    in_.flag(object, pointer, key, set);
    return set;
  }

  std::optional<IterationUnit> iteration_of(const Json& object, const std::string& pointer) {
    if (!object.contains("iteration")) return std::nullopt;
    return static_cast<IterationUnit>(choice(object, pointer, "iteration",
                                             {"unknown", "micro_step", "optimizer_step", "epoch",
                                              "sequence", "process_sequence", "token"}));
  }

  std::optional<DescribedRate> rate_of(const Json& object, const std::string& pointer) {
    if (!object.contains("rate")) return std::nullopt;
    const std::string here = child_pointer(pointer, "rate");
    const Json& rate = object["rate"];
    if (!is_object(rate, here)) return std::nullopt;
    in_.check_keys(rate, here, {"unit", "per"}, "key");
    if (!rate.contains("unit")) in_.fail_at(here, "needs a unit", "for example sequences/s");
    constexpr RateUnit kUnits[] = {RateUnit::sequences_per_second, RateUnit::tokens_per_second,
                                   RateUnit::iterations_per_second};
    DescribedRate out;
    out.unit = kUnits[choice(rate, here, "unit", {"sequences/s", "tokens/s", "iterations/s"})];
    out.of_one_gpu = choice(rate, here, "per", {"job", "gpu"}) == 1;
    if (out.of_one_gpu && out.unit == RateUnit::iterations_per_second) {
      in_.fail_at(child_pointer(here, "per"), "iterations are of the job, never of one GPU",
                  "remove \"per\"");
    }
    return out;
  }

  Facts facts_of(const Json& object, const std::string& pointer) {
    Facts out;
    if (!object.contains("facts")) return out;
    const std::string here = child_pointer(pointer, "facts");
    const Json& facts = object["facts"];
    if (!is_object(facts, here)) return out;
    in_.check_keys(facts, here, fact_names(), "fact");
    for (const std::string& name : fact_names()) {
      const auto field = parse_field(name);
      if (!facts.contains(name) || !field) continue;
      std::string text;
      std::int64_t count = 0;
      if (info(*field).kind == FieldKind::text) {
        in_.text(facts, here, name.c_str(), text);
      } else {
        in_.integer(facts, here, name.c_str(), count, 1, kLargestFact);
      }
      set_fact(out, *field, text, count);
    }
    return out;
  }

  void read_lines(const Json& root) {
    if (!root.contains("lines") || !root["lines"].is_array() || root["lines"].empty()) {
      in_.fail_at("/lines", "a format needs a list of lines", "see docs/formats.md");
      return;
    }
    const Json& lines = root["lines"];
    if (lines.size() > kMaxRules) {
      in_.fail_at("/lines", fmt::format("more than {} rules", kMaxRules));
      return;
    }
    for (std::size_t i = 0; i < lines.size() && !in_.error(); ++i) {
      const std::string pointer = child_pointer("/lines", std::to_string(i));
      if (!is_object(lines[i], pointer)) return;
      add_rules(lines[i], pointer);
    }
    const bool counts = std::ranges::any_of(out_->rules, [](const DescribedRule& rule) {
      return rule.gives_step || rule.gives(Field::total_iterations);
    });
    if (!counts) {
      in_.fail_at("/lines", "no pattern has a group 'step'",
                  "the line of an iteration is known by its counter: (?P<step>\\d+)");
    }
    const auto gives = [&](Field field) {
      return std::ranges::any_of(out_->rules,
                                 [&](const DescribedRule& rule) { return rule.gives(field); });
    };
    if (gives(Field::began) && !gives(Field::ended)) {
      in_.fail_at("/lines", "'began' is given, but 'ended' by no line",
                  "the difference of the two clocks is the time of the training");
    }
  }

  /// A rule with a list of literals is one rule for each.
  void add_rules(const Json& object, const std::string& pointer) {
    if (!object.contains("literal") || !object["literal"].is_array()) {
      out_->rules.push_back(rule_of(object, pointer));
      return;
    }
    std::vector<std::string> literals, examples;
    in_.texts(object, pointer, "literal", literals);
    in_.texts(object, pointer, "example", examples);
    if (checks_ == Checks::none) examples.resize(literals.size());
    if (literals.size() > kMaxRules) {
      in_.fail_at(pointer, fmt::format("more than {} literals", kMaxRules));
    } else if (literals.empty() || literals.size() != examples.size()) {
      in_.fail_at(pointer, "has a list of literals, but not an example for each",
                  "give as many lines as literals, in their order");
    }
    in_list_ = true;
    for (std::size_t i = 0; i < literals.size() && !in_.error(); ++i) {
      Json one = object;
      one["literal"] = literals[i];
      one["example"] = examples[i];
      out_->rules.push_back(rule_of(one, pointer));
    }
    in_list_ = false;
    pattern_of_list_.reset();
  }

  DescribedRule rule_of(const Json& object, const std::string& pointer) {
    DescribedRule rule;
    in_.check_keys(object, pointer, names_of(line_keys()), "key");
    in_.text(object, pointer, "literal", rule.literal);
    check_literal(rule.literal, pointer);
    add_literal(rule);
    rule.kind = static_cast<WorkKind>(
        choice(object, pointer, "kind", {"training", "evaluation", "inference"}));
    if (object.contains("outcome")) {
      const auto names = outcome_names();
      rule.outcome = parse_status(names[choice(object, pointer, "outcome", names)]);
    }
    read_sources(rule, object, pointer);
    rule.iteration = iteration_of(object, pointer);
    rule.rate = rate_of(object, pointer);
    rule.facts = facts_of(object, pointer);
    rule.counts_from =
        static_cast<CountsFrom>(choice(object, pointer, "counts_from", {"one", "zero", "first"}));
    in_.integer(object, pointer, "step_iterations", rule.step_iterations, 1, kMostStepIterations);
    for (const auto& [key, flag] : {std::pair{"own_step", &rule.own_step},
                                    {"own_epoch", &rule.own_epoch},
                                    {"begins_run", &rule.begins_run},
                                    {"within_run", &rule.within_run},
                                    {"continues", &rule.continues},
                                    {"fallback", &rule.fallback},
                                    {"rows", &rule.rows},
                                    {"interrupts", &rule.interrupts},
                                    {"parts_runs", &rule.parts_runs},
                                    {"whole_line", &rule.whole},
                                    {"wraps", &rule.wraps},
                                    {"mean_through_epochs", &rule.mean_through_epochs}}) {
      *flag = is_set(object, pointer, key);
    }
    read_note(rule, object, pointer);
    if (!in_.error()) check_fields(rule, pointer);
    if (!in_.error()) read_factors(rule, object, pointer);
    if (!in_.error() && checks_ == Checks::all) check_example(rule, object, pointer);
    const auto gives_any = [&](const auto& names) {
      return std::ranges::any_of(
          names, [&](const std::string& name) { return rule.gives(*parse_field(name)); });
    };
    rule.gives_step = rule.gives(Field::step);
    rule.gives_field = gives_any(field_names());
    rule.states_facts =
        object.contains("facts") || gives_any(fact_names()) || rule.gives(Field::data_parallel);
    if (!in_.error()) check_use(rule, pointer);
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

  void add_literal(DescribedRule& rule) {
    auto& literals = out_->literals;
    const auto at = std::ranges::find(literals, rule.literal);
    rule.literal_index = static_cast<std::size_t>(at - literals.begin());
    if (at == literals.end()) literals.push_back(rule.literal);
  }

  /// Where values stand: pattern, json, after.
  void read_sources(DescribedRule& rule, const Json& object, const std::string& pointer) {
    std::string pattern;
    in_.text(object, pointer, "pattern", pattern);
    rule.json = keys_of(object, pointer, "json");
    rule.after = keys_of(object, pointer, "after");
    if (!pattern.empty() && !rule.json.empty()) {
      in_.fail_at(pointer, "has both a pattern and json", "describe them as two rules");
    }
    if (pattern.empty() && !(rule.json.empty() && rule.after.empty())) return;
    rule.pattern = pattern_of_list_;
    if (rule.pattern) return;
    // To compile a pattern takes longer than to read a short log.
    rule.pattern = std::make_shared<LinePattern>(pattern, rule.literal);
    if (in_list_ && !pattern.empty()) pattern_of_list_ = rule.pattern;
    if (checks_ == Checks::none) return;
    if (const auto problem = rule.pattern->problem()) {
      in_.fail_at(child_pointer(pointer, "pattern"), problem->what, problem->hint);
    }
  }

  std::vector<DescribedRule::Key> keys_of(const Json& object, const std::string& pointer,
                                          const char* key) {
    std::vector<DescribedRule::Key> out;
    if (!object.contains(key)) return out;
    const std::string here = child_pointer(pointer, key);
    if (!is_object(object[key], here)) return out;
    const bool json = std::string_view(key) == "json";
    for (const auto& [name, value] : object[key].items()) {
      const std::string at = child_pointer(here, name);
      const std::string text = value.is_string() ? value.get<std::string>() : "";
      const auto field = parse_field(text);
      if (!field) {
        in_.fail_at(at, fmt::format("unknown field '{}'", text), name_hint(text, field_names()));
        return out;
      }
      const FieldKind kind = info(*field).kind;
      if (!json && (kind == FieldKind::clock || kind == FieldKind::duration)) {
        in_.fail_at(at, fmt::format("'{}' is no number", text), "take it by a group of a pattern");
      }
      DescribedRule::Key out_key{{}, *field};
      if (json) {
        for (const std::string_view part : split(name, '.')) out_key.path.emplace_back(part);
      } else {
        out_key.path.push_back(name);
      }
      out.push_back(std::move(out_key));
    }
    return out;
  }

  void read_note(DescribedRule& rule, const Json& object, const std::string& pointer) {
    if (!object.contains("note")) return;
    const std::string here = child_pointer(pointer, "note");
    DescribedNote note;
    if (object["note"].is_object()) {
      in_.check_keys(object["note"], here, {"text", "when"}, "key");
      in_.text(object["note"], here, "text", note.text);
      note.when = static_cast<DescribedNote::When>(
          choice(object["note"], here, "when", {"used", "gaps", "no_gaps", "too_coarse"}));
    } else {
      in_.text(object, pointer, "note", note.text);
    }
    if (note.text.empty()) in_.fail_at(here, "needs a text");
    rule.note = std::move(note);
  }

  void check_fields(const DescribedRule& rule, const std::string& pointer) {
    const std::string at = child_pointer(pointer, "pattern");
    for (std::size_t i = 0; i < field_infos().size(); ++i) {
      const FieldInfo& field = field_infos()[i];
      if (!field.of_record || !rule.gives(static_cast<Field>(i))) continue;
      if (!rule.gives(Field::step) && !rule.continues) {
        in_.fail_at(at, fmt::format("has a group '{}' but no 'step'", field.name),
                    "an iteration is known by its counter; a closing rate is average_rate, a "
                    "closing time total_seconds, the clocks of begin and end are began and ended; "
                    "a line that adds to the record before it has \"continues\": true");
      }
    }
    const RateUnit unit = rule.rate ? rule.rate->unit : out_->rate.unit;
    if (rule.gives(Field::rate) && unit == RateUnit::unknown) {
      in_.fail_at(at, "has a group 'rate', but the file does not state its unit",
                  "add \"rate\": {\"unit\": \"sequences/s\", \"per\": \"job\"}");
    }
  }

  /// What the rule must give to be read further; its name is `name`.
  std::optional<Field> given_field(const DescribedRule& rule, const std::string& name,
                                   const std::string& at) {
    const auto field = parse_field(name);
    if (field && rule.gives(*field)) return field;
    in_.fail_at(at, fmt::format("the pattern has no group '{}'", name));
    return std::nullopt;
  }

  /// The member or text of that name, where it is no field.
  static DescribedRule::Key* named_key(DescribedRule& rule, const std::string& name) {
    if (parse_field(name)) return nullptr;
    for (auto* keys : {&rule.json, &rule.after}) {
      const auto found = std::ranges::find_if(*keys, [&](const DescribedRule::Key& key) {
        return fmt::format("{}", fmt::join(key.path, ".")) == name;
      });
      if (found != keys->end()) return &*found;
    }
    return nullptr;
  }

  double factor_at(const Json& value, const std::string& at) {
    if (value.is_number() && value.get<double>() > 0 && value.get<double>() <= 1e18) {
      return value.get<double>();
    }
    in_.fail_at(at, "must be a number above 0", "0.001 turns milliseconds into seconds");
    return 1;
  }

  void read_factors(DescribedRule& rule, const Json& object, const std::string& pointer) {
    for (const char* key : {"scale", "least"}) {
      if (!object.contains(key)) continue;
      const std::string here = child_pointer(pointer, key);
      if (!is_object(object[key], here)) return;
      for (const auto& [name, value] : object[key].items()) {
        const std::string at = child_pointer(here, name);
        const bool scales = std::string_view(key) == "scale";
        DescribedRule::Key* named = scales && value.is_number() ? named_key(rule, name) : nullptr;
        if (named != nullptr) {
          named->factor = factor_at(value, at);
          continue;
        }
        const auto field = given_field(rule, name, at);
        if (!field) return;
        if (!scales) {
          rule.least.emplace_back(*field, factor_at(value, at));
          continue;
        }
        DescribedRule::Factor factor{*field, 1, {}};
        if (!value.is_object()) {
          factor.factor = factor_at(value, at);
        } else if (!rule.gives(Field::unit)) {
          in_.fail_at(at, "has a factor by unit, but the pattern has no group 'unit'");
        } else {
          for (const auto& [unit, by] : value.items()) {
            factor.by_unit.emplace_back(unit, factor_at(by, child_pointer(at, unit)));
          }
        }
        rule.scale.push_back(std::move(factor));
      }
    }
  }

  void check_use(const DescribedRule& rule, const std::string& pointer) {
    if (rule.gives_field || rule.outcome || rule.begins_run || rule.interrupts || rule.parts_runs ||
        rule.iteration || rule.note || rule.states_facts) {
      return;
    }
    in_.fail_at(
        pointer,
        "gives nothing: no field, facts, iteration, outcome, begins_run, interrupts, parts_runs or "
        "note",
        "name a group: (?P<rate>...)");
  }

  void check_example(const DescribedRule& rule, const Json& object, const std::string& pointer) {
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
    if (rule.rows) {
      const auto end = example.find('\n');
      if (!rule.pattern || end == std::string::npos) {
        in_.fail_at(at, "is no head with a row of a table below it",
                    "give both, with \\n between them, and a pattern that reads the row");
        return;
      }
      example.erase(0, end + 1);
    }
    LineValues values;
    const bool matched = values.read(rule, example, false, out_->day_first, out_->commas);
    for (const LinePattern::Group& group : values.groups()) {
      if (readable(info(group.field).kind, group.text)) continue;
      in_.fail_at(at,
                  fmt::format("the group '{}' is '{}', which is not what it must be",
                              info(group.field).name, group.text),
                  "narrow the group: [0-9.]+ for a number");
    }
    if (!matched) {
      in_.fail_at(at, rule.pattern ? "is not matched by the pattern" : "gives none of the keys");
    }
  }

  ConfigReader& in_;
  Checks checks_;
  bool in_list_ = false;  ///< the rule has one literal of several
  std::shared_ptr<const LinePattern> pattern_of_list_;
  std::unique_ptr<Description> out_ = std::make_unique<Description>();
};

}  // namespace

Result<std::unique_ptr<const Description>> read_description(const std::string& text,
                                                            const std::string& source,
                                                            Checks checks) {
  auto in = ConfigReader::open(text, source, {}, "a format");
  if (!in) return tl::unexpected(in.error());
  auto description = DescriptionReader(*in, checks).read();
  if (in->error()) return tl::unexpected(*in->error());
  return description;
}

}  // namespace bertbench
