// ConfigReader: checked access to a JSON tree. Each error names file:line (or the --set that gave
// the value), the JSON path, the rule and the nearest known key. The first error stays.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"

namespace bertbench {

// JsonLines: on which line of a JSON text each member stands. The JSON library gives values, not
// places; an error about a value needs both.

struct JsonLines {
  std::map<std::string, int> lines;  ///< JSON pointer ("/grid/model/0") -> 1-based line
  struct Duplicate {
    std::string pointer;
    int line = 0, first_line = 0;
  };
  std::vector<Duplicate> duplicates;  ///< members named twice in one object
  int too_deep = 0;                   ///< where nesting exceeds what may be read; 0: nowhere

  /// Line of the pointer, or of its nearest parent; 1 when nothing is known.
  [[nodiscard]] int line_of(std::string pointer) const;
};

/// Member name or index appended to a pointer, with '~' and '/' escaped.
std::string child_pointer(const std::string& parent, std::string_view name);

using Json = nlohmann::ordered_json;

/// A member that the command line gives, above that of the file.
struct Override {
  std::string path;  ///< "trials", "grid.model", "grid.env.NAME"
  Json value;
  std::string option;  ///< names it in errors: "--grid model"
};

class ConfigReader {
 public:
  /// Parses `text` (comments allowed; at most 64 levels) and applies the sets. `what` names the
  /// thing in errors: "a sweep". An empty `source` is text that no file holds. `schema` outlives
  /// the reader; null: keys and limits are given to the calls below.
  static Result<ConfigReader> open(const std::string& text, const std::string& source,
                                   const std::vector<std::string>& sets,
                                   const std::string& what = "a sweep",
                                   const Json* schema = nullptr);
  Result<void> apply(const Override& given);

  [[nodiscard]] const Json& root() const { return root_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  /// Keeps the first error. Always returns false, so that checks can be chained.
  bool fail_at(const std::string& pointer, const std::string& what, const std::string& hint = {});
  /// True where `checked` holds; else its error is one of what stands at `pointer`.
  template <class T>
  bool accepts(const std::string& pointer, const Result<T>& checked) {
    return checked || fail_at(pointer, checked.error().what, checked.error().hint);
  }
  /// Every key of the object must be in `known`.
  void check_keys(const Json& object, const std::string& pointer,
                  const std::vector<std::string>& known, const std::string& what);
  /// Every key of the object must be one of the schema's "properties".
  void check_keys(const Json& object, const std::string& pointer, const std::string& what = "key");
  /// The member, or null where it is missing. One that is no object is an error and null; a key of
  /// it that the schema does not know is an error.
  const Json* section(const Json& object, const std::string& pointer, const char* key);

  // Reads of members of an object; a missing member leaves `out` as it is.
  /// One of the schema's "enum", where it has one.
  void text(const Json& object, const std::string& pointer, const char* key, std::string& out);
  void integer(const Json& object, const std::string& pointer, const char* key, std::int64_t& out,
               std::int64_t low, std::int64_t high);
  /// Within the schema's "minimum" and "maximum", as far as it has them.
  void integer(const Json& object, const std::string& pointer, const char* key, std::int64_t& out);
  void seconds(const Json& object, const std::string& pointer, const char* key, double& out);
  void flag(const Json& object, const std::string& pointer, const char* key, bool& out);
  /// A list of text, or nothing.
  void texts(const Json& object, const std::string& pointer, const char* key,
             std::vector<std::string>& out);
  /// An object of names and text or numbers.
  void variables(const Json& object, const std::string& pointer, const char* key,
                 std::map<std::string, std::string>& out);
  /// A scalar as text: "64", "bf16", "true"; nothing (and an error) for anything else.
  std::optional<std::string> scalar(const Json& value, const std::string& pointer);

 private:
  Result<void> apply_set(const std::string& set);
  /// The schema of what stands at `pointer`, or the one of its "oneOf", that has `keyword`; empty
  /// where none has.
  [[nodiscard]] const Json& rule(const std::string& pointer, const char* keyword) const;
  std::string source_;
  const Json* schema_ = nullptr;
  Json root_;
  JsonLines lines_;
  std::map<std::string, std::string> set_pointers_;  // pointer -> "--set a.b", "--grid a"
  std::optional<Error> error_;
};

/// "[A-Za-z_][A-Za-z0-9_]*", what may name an environment variable.
bool is_variable_name(std::string_view text);
/// "/grid/model/0" -> "grid.model[0]"
std::string path_of(const std::string& pointer);

}  // namespace bertbench
