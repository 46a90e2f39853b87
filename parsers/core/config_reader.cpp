#include "parsers/core/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "parsers/core/name_hint.h"
#include "parsers/core/text.h"

namespace bertbench {
namespace {

constexpr int kMaxDepth = 64;

class Scanner {
 public:
  Scanner(std::string_view text, JsonLines& out) : text_(text), out_(out) {}
  void run() { value(""); }

 private:
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (text_.substr(at_, 2) == "/*") {
        for (at_ += 2; at_ < text_.size() && text_.substr(at_, 2) != "*/"; ++at_) {
          if (text_[at_] == '\n') ++line_;
        }
        at_ += 2;
      } else {
        return;
      }
    }
  }
  std::string string() {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    ++at_;
    const auto parsed = nlohmann::json::parse(text_.substr(begin, at_ - begin), nullptr,
                                              /*allow_exceptions=*/false);
    return parsed.is_string() ? parsed.get<std::string>() : std::string();
  }
  void value(const std::string& pointer) {
    const char c = peek();
    out_.lines.emplace(pointer, line_);
    if (c == '{' || c == '[') {
      if (++depth_ > kMaxDepth && out_.too_deep == 0) out_.too_deep = line_;
      if (out_.too_deep > 0) return;
      c == '{' ? object(pointer) : array(pointer);
      --depth_;
    } else if (c == '"') {
      string();
    } else {
      while (at_ < text_.size() &&
             std::string_view(",]} \t\r\n/").find(text_[at_]) == std::string_view::npos) {
        ++at_;
      }
    }
  }
  void object(const std::string& pointer) {
    ++at_;
    while (peek() == '"') {
      const int line = line_;
      const std::string child = child_pointer(pointer, string());
      if (const auto [it, fresh] = out_.lines.emplace(child, line); !fresh) {
        out_.duplicates.push_back({child, line, it->second});
      }
      if (peek() != ':') return;
      ++at_;
      value(child);
      if (peek() != ',') break;
      ++at_;
    }
    if (peek() == '}') ++at_;
  }
  void array(const std::string& pointer) {
    ++at_;
    for (int i = 0; peek() != ']' && at_ < text_.size(); ++i) {
      const std::size_t before = at_;
      value(child_pointer(pointer, std::to_string(i)));
      if (peek() == ',') ++at_;
      if (at_ == before) return;
    }
    ++at_;
  }

  std::string_view text_;
  JsonLines& out_;
  std::size_t at_ = 0;
  int line_ = 1, depth_ = 0;
};

}  // namespace

std::string child_pointer(const std::string& parent, std::string_view name) {
  std::string pointer = parent + "/";
  for (const char c : name) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

int JsonLines::line_of(std::string pointer) const {
  for (;;) {
    if (const auto it = lines.find(pointer); it != lines.end()) return it->second;
    const auto slash = pointer.rfind('/');
    if (slash == std::string::npos) return 1;
    pointer.resize(slash);
  }
}

namespace {

const char* kind_of(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "true or false";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "text";
  return value.is_array() ? "a list" : "an object";
}

int line_at_byte(std::string_view text, std::size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size()));
  return 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
}

const Json kNothing = Json::object();

/// The member, or an empty object where there is none.
const Json& member(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

using Limits = std::numeric_limits<std::int64_t>;

/// "must be a whole number from 1 to 9"; a limit that is none is left out.
std::string whole_number_text(std::int64_t low, std::int64_t high) {
  std::string out = "must be a whole number";
  if (low != Limits::min()) out += fmt::format(" from {}", low);
  if (high != Limits::max())
    out += fmt::format("{} to {}", low == Limits::min() ? " up" : "", high);
  return out;
}

}  // namespace

bool is_variable_name(std::string_view text) {
  if (text.empty() || is_digit(text[0])) return false;
  return std::ranges::all_of(text, is_name_char);
}

std::string path_of(const std::string& pointer) {
  std::string path;
  for (const auto piece : split(pointer, '/')) {
    if (piece.empty()) continue;
    if (to_int(piece)) {
      path += fmt::format("[{}]", piece);
    } else {
      if (!path.empty()) path += '.';
      for (std::size_t i = 0; i < piece.size(); ++i) {
        if (piece[i] == '~' && i + 1 < piece.size()) {
          path += piece[++i] == '1' ? '/' : '~';
        } else {
          path += piece[i];
        }
      }
    }
  }
  return path;
}

Result<ConfigReader> ConfigReader::open(const std::string& text, const std::string& source,
                                        const std::vector<std::string>& sets,
                                        const std::string& what, const Json* schema) {
  ConfigReader reader;
  reader.source_ = source;
  reader.schema_ = schema;
  if (trim(text).empty()) return fail(source, "is empty", what + " is a JSON object");
  Scanner(text, reader.lines_).run();
  if (const int line = reader.lines_.too_deep) {
    return fail(fmt::format("{}:{}", source, line),
                fmt::format("is nested more than {} levels deep", kMaxDepth));
  }
  try {
    reader.root_ = Json::parse(text, nullptr, true, /*ignore_comments=*/true);
  } catch (const Json::parse_error& e) {
    std::string why = e.what();
    // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while ..."
    if (const auto colon = why.find(": "); colon != std::string::npos) why.erase(0, colon + 2);
    return fail(fmt::format("{}:{}", source, line_at_byte(text, e.byte ? e.byte - 1 : 0)),
                "is not JSON: " + why, "comments are allowed, trailing commas are not");
  } catch (const Json::out_of_range&) {
    return fail(source, "holds a number that no double can hold", "write a smaller one");
  }
  if (!reader.root_.is_object()) {
    return fail(source + ":1",
                what + " is a JSON object, not " + std::string(kind_of(reader.root_)));
  }
  if (!reader.lines_.duplicates.empty()) {
    const auto& twice = reader.lines_.duplicates.front();
    return fail(
        fmt::format("{}:{}", source, twice.line),
        fmt::format("{}: named twice, first on line {}", path_of(twice.pointer), twice.first_line),
        "keep one of them");
  }
  for (const auto& set : sets) {
    if (auto done = reader.apply_set(set); !done) return tl::unexpected(done.error());
  }
  return reader;
}

Result<void> ConfigReader::apply_set(const std::string& set) {
  const auto equals = set.find('=');
  if (equals == std::string::npos || equals == 0) {
    return fail("--set " + set, "has no value", "write it as --set key=value, as trials=3");
  }
  const std::string path = set.substr(0, equals), text = set.substr(equals + 1);
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) value = text;
  return apply({path, std::move(value), "--set " + path});
}

Result<void> ConfigReader::apply(const Override& given) {
  const auto& [path, value, option] = given;
  try {
    (void)value.dump();
  } catch (const Json::exception&) {
    return fail(option, "is not UTF-8 text");
  }
  // "grid", "env" and "files" hold free names, which may have dots of their own (grid.env.NAME).
  const std::string head = path.substr(0, path.find('.'));
  const bool free_names = head == "grid" || head == "env" || head == "files";
  Json* at = &root_;
  std::string pointer;
  for (std::size_t begin = 0;;) {
    const auto dot = free_names && begin > 0 ? std::string::npos : path.find('.', begin);
    const std::string name = path.substr(begin, dot - begin);
    if (name.empty() || !(at->is_object() || at->is_null())) {
      return fail(option, fmt::format("'{}' has no members", path.substr(0, begin - 1)));
    }
    at = &(*at)[name];
    pointer = child_pointer(pointer, name);
    if (dot == std::string::npos) break;
    begin = dot + 1;
  }
  *at = value;
  set_pointers_[pointer] = option;
  return {};
}

bool ConfigReader::fail_at(const std::string& pointer, const std::string& what,
                           const std::string& hint) {
  if (error_) return false;
  std::string where = source_.empty() ? "" : fmt::format("{}:{}", source_, lines_.line_of(pointer));
  bool named = false;  // by an option of the command line that is no path
  for (const auto& [set, name] : set_pointers_) {
    if (pointer != set && !pointer.starts_with(set + "/")) continue;
    where = name;
    named = !name.starts_with("--set ");
  }
  const std::string path = path_of(pointer);
  const bool names_path = path.empty() || named || where == "--set " + path;
  error_ = Error{where, names_path ? what : path + ": " + what, hint};
  return false;
}

void ConfigReader::check_keys(const Json& object, const std::string& pointer,
                              const std::vector<std::string>& known, const std::string& what) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    fail_at(child_pointer(pointer, key), fmt::format("unknown {} '{}'", what, key),
            name_hint(key, known));
    return;
  }
}

void ConfigReader::check_keys(const Json& object, const std::string& pointer,
                              const std::string& what) {
  std::vector<std::string> known;
  for (const auto& [key, schema] : member(rule(pointer, "properties"), "properties").items()) {
    known.push_back(key);
  }
  check_keys(object, pointer, known, what);
}

const Json* ConfigReader::section(const Json& object, const std::string& pointer, const char* key) {
  if (!object.contains(key)) return nullptr;
  const std::string here = child_pointer(pointer, key);
  const auto& value = object[key];
  if (!value.is_object()) {
    fail_at(here, fmt::format("must be an object, not {}", kind_of(value)));
    return nullptr;
  }
  check_keys(value, here);
  return &value;
}

const Json& ConfigReader::rule(const std::string& pointer, const char* keyword) const {
  const Json* at = schema_ == nullptr ? &kNothing : schema_;
  for (const auto piece : split(pointer, '/')) {
    if (piece.empty()) continue;
    const Json& named = member(member(*at, "properties"), std::string(piece));
    const char* const others = at->contains("items") ? "items" : "additionalProperties";
    at = named.empty() ? &member(*at, others) : &named;
    if (at->contains("$ref")) {
      at = &schema_->at(Json::json_pointer(at->at("$ref").get<std::string>().substr(1)));
    }
  }
  if (at->contains(keyword)) return *at;
  for (const Json& branch : member(*at, "oneOf")) {
    if (branch.contains(keyword)) return branch;
  }
  return kNothing;
}

void ConfigReader::text(const Json& object, const std::string& pointer, const char* key,
                        std::string& out) {
  if (!object.contains(key)) return;
  const auto& value = object[key];
  const std::string here = child_pointer(pointer, key);
  if (!value.is_string()) {
    fail_at(here, fmt::format("must be text, not {}", kind_of(value)));
    return;
  }
  out = value.get<std::string>();
  if (out.find('\0') != std::string::npos) {
    fail_at(here, "holds a NUL byte", "no program can be given one");
  }
  const Json& words = member(rule(here, "enum"), "enum");
  if (words.empty() || std::ranges::find(words, value) != words.end()) return;
  fail_at(here, fmt::format("'{}' is not one of {}", out,
                            fmt::join(words.get<std::vector<std::string>>(), ", ")));
}

void ConfigReader::integer(const Json& object, const std::string& pointer, const char* key,
                           std::int64_t& out, std::int64_t low, std::int64_t high) {
  if (!object.contains(key)) return;
  const auto& value = object[key];
  const std::string rule = whole_number_text(low, high);
  // Unsigned values above 2^63 would turn negative in an int64.
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{1} << 62)) {
    fail_at(child_pointer(pointer, key), fmt::format("{}, not {}", rule, value.dump()));
    return;
  }
  const auto number = value.get<std::int64_t>();
  if (number < low || number > high) {
    fail_at(child_pointer(pointer, key), fmt::format("{}, not {}", rule, number));
    return;
  }
  out = number;
}

void ConfigReader::integer(const Json& object, const std::string& pointer, const char* key,
                           std::int64_t& out) {
  const std::string here = child_pointer(pointer, key);
  integer(object, pointer, key, out, rule(here, "minimum").value("minimum", Limits::min()),
          rule(here, "maximum").value("maximum", Limits::max()));
}

void ConfigReader::seconds(const Json& object, const std::string& pointer, const char* key,
                           double& out) {
  if (!object.contains(key)) return;
  const auto& value = object[key];
  if (!value.is_number() || !(value.get<double>() > 0) || value.get<double>() > 1e9) {
    fail_at(child_pointer(pointer, key),
            fmt::format("must be seconds, a number above 0, not {}", value.dump()));
    return;
  }
  out = value.get<double>();
}

void ConfigReader::flag(const Json& object, const std::string& pointer, const char* key,
                        bool& out) {
  if (!object.contains(key)) return;
  const auto& value = object[key];
  if (value.is_boolean()) {
    out = value.get<bool>();
    return;
  }
  fail_at(child_pointer(pointer, key), "must be true or false, not " + value.dump());
}

std::optional<std::string> ConfigReader::scalar(const Json& value, const std::string& pointer) {
  if (value.is_string()) {
    auto text = value.get<std::string>();
    if (text.find('\0') == std::string::npos) return text;
    fail_at(pointer, "holds a NUL byte", "no program can be given one");
  } else if (value.is_boolean()) {
    return value.get<bool>() ? "true" : "false";
  } else if (value.is_number_integer()) {
    return value.dump();
  } else if (value.is_number_float() && std::isfinite(value.get<double>())) {
    return shortest(value.get<double>());
  } else {
    fail_at(pointer, fmt::format("must be text, a number, true or false, not {}", kind_of(value)));
  }
  return std::nullopt;
}

void ConfigReader::texts(const Json& object, const std::string& pointer, const char* key,
                         std::vector<std::string>& out) {
  if (!object.contains(key)) return;
  const auto& list = object[key];
  const std::string here = child_pointer(pointer, key);
  if (!list.is_array()) {
    fail_at(here, fmt::format("must be a list of text, not {}", kind_of(list)));
    return;
  }
  out.clear();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto value = scalar(list[i], child_pointer(here, std::to_string(i)));
    if (!value) return;
    out.push_back(*value);
  }
}

void ConfigReader::variables(const Json& object, const std::string& pointer, const char* key,
                             std::map<std::string, std::string>& out) {
  if (!object.contains(key)) return;
  const auto& members = object[key];
  const std::string here = child_pointer(pointer, key);
  if (!members.is_object()) {
    fail_at(here, fmt::format("must be an object of names and values, not {}", kind_of(members)));
    return;
  }
  for (const auto& [name, value] : members.items()) {
    const std::string at = child_pointer(here, name);
    if (!is_variable_name(name)) {
      fail_at(at, fmt::format("'{}' cannot name an environment variable", name),
              "use letters, digits and _, no digit first");
      return;
    }
    const auto text = scalar(value, at);
    if (!text) return;
    out[name] = *text;
  }
}

}  // namespace bertbench
