// UserFormat: a log format that a user describes in a JSON file (docs/formats.md), for trainers
// that no built-in format reads. Rules are RE2 patterns, so no log can make one run away; each
// stands behind a literal that joins the built-in formats' scan, so other lines cost nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"
#include "parsers/formats/format.h"

namespace bertbench {

struct UserRules;  // parsers/described/user_rules.h

class UserFormat {
 public:
  static constexpr std::size_t kMaxRules = 64;
  static constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

  /// Everything is checked here: keys, patterns, groups, and that each rule reads its own example.
  /// Errors name "<file>:<line>", the JSON path, the rule that was broken and the nearest name.
  static Result<std::shared_ptr<const UserFormat>> load(const std::string& path);
  /// The same from text; `source` stands in messages.
  static Result<std::shared_ptr<const UserFormat>> parse(const std::string& text,
                                                         const std::string& source);
  explicit UserFormat(std::unique_ptr<const UserRules> rules);
  UserFormat(const UserFormat&) = delete;
  UserFormat& operator=(const UserFormat&) = delete;
  ~UserFormat();

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] const std::vector<std::string>& literals() const { return literals_; }
  /// State over one log; refers to this object. `world` as in ReadOptions.
  [[nodiscard]] std::unique_ptr<LineParser> make(std::optional<std::int64_t> world) const;

 private:
  std::unique_ptr<const UserRules> rules_;
  std::vector<std::string> literals_;
};

}  // namespace bertbench
