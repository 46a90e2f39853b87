// JSON text -> ResultSet, event by event.
#if defined(__SSE2__)
#define RAPIDJSON_SSE2  // skips blanks 16 at a time
#endif
// Of a 0 with many digits the library counts the leading zeros, which the builtin leaves undefined.
#define __builtin_clzll(x) ((x) == 0 ? 63 : __builtin_clzll(x))
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#undef __builtin_clzll

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "reports/model/result_fields.h"
#include "reports/model/result_io.h"

namespace bertbench {
namespace {

constexpr std::size_t kDeepest = 64;  // nesting of a result file is 7; printing JSON recurses

// Events of the JSON text become the head and one cell after the other: memory holds the structs
// and a single cell's text, however large the file is.
class ResultEvents : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, ResultEvents> {
 public:
  ResultEvents(ResultSet& results, const std::string& where) : results_(results), where_(where) {}

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  /// After the last event.
  void finish() {
    JsonReader in(head_, "$", error_, where_);
    in.require("schema");
    check_schema();
    if (!saw_cells_) in.require("cells");
    read_head(in, results_);
  }

  // The names of the events are the library's.
  bool Null() {
    return value([](JsonTree& tree) { tree.null(); });
  }
  bool Bool(bool v) {
    return value([v](JsonTree& tree) { tree.flag(v); });
  }
  bool Int(int v) { return Int64(v); }
  bool Uint(unsigned v) { return Uint64(v); }
  bool Int64(std::int64_t v) {
    return value([v](JsonTree& tree) { tree.integer(v); });
  }
  bool Uint64(std::uint64_t v) {
    return value([v](JsonTree& tree) { tree.count(v); });
  }
  bool Double(double v) {
    return value([v](JsonTree& tree) { tree.real(v); });
  }
  bool String(const char* text, unsigned size, bool) {
    return value([=](JsonTree& tree) { tree.text({text, size}); });
  }
  bool Key(const char* text, unsigned size, bool) {
    const std::string_view name(text, size);
    at_cells_ = depth_ == 1 && name == "cells";
    if (!at_cells_) tree().key(name);
    return true;
  }
  bool StartObject() { return open(JsonTree::Type::object); }
  bool StartArray() { return open(JsonTree::Type::array); }
  bool EndObject(unsigned) { return close(); }
  bool EndArray(unsigned) { return close(); }

 private:
  [[nodiscard]] JsonTree& tree() { return in_cells_ ? cell_ : head_; }

  bool wrong(const std::string& path, const std::string& expected) {
    error_ = Error{where_ + ": " + path, "must be " + expected, {}};
    return false;
  }

  template <class Add>
  bool value(Add add) {
    if (depth_ == 0) return wrong("$", "an object");
    if (at_cells_) return wrong("$.cells", "an array");
    if (in_cells_ && depth_ == 2) return wrong(cell_path(), "an object");
    add(tree());
    return true;
  }

  bool open(JsonTree::Type type) {
    if (depth_ == 0 && type != JsonTree::Type::object) {
      no_object_ = true;  // how deep it goes is still looked at: that error is the more telling one
    }
    if (++depth_ > kDeepest) {
      error_ = Error{where_, "is nested more than " + std::to_string(kDeepest) + " levels deep",
                     "a result set has fewer than ten"};
      return false;
    }
    if (no_object_) return true;
    if (at_cells_) {
      at_cells_ = false;
      if (type != JsonTree::Type::array) return wrong("$.cells", "an array");
      in_cells_ = saw_cells_ = true;
      return check_schema();
    }
    if (in_cells_ && depth_ == 3 && type != JsonTree::Type::object) {
      return wrong(cell_path(), "an object");
    }
    tree().open(type);
    return true;
  }

  bool close() {
    --depth_;
    if (no_object_) return depth_ > 0 || wrong("$", "an object");
    if (in_cells_ && depth_ == 1) {
      in_cells_ = false;
      return true;
    }
    tree().close();
    if (in_cells_ && depth_ == 2) {
      JsonReader in(cell_, cell_path(), error_, where_);
      read_cell(in, results_.cells.emplace_back());
      cell_.clear();
    }
    return !error_;
  }

  /// As early as it is known: a file of another kind is called that, not a wrong result.
  bool check_schema() {
    for (JsonTree::Index i = 1; i < head_.size(); i = head_.end(i)) {
      if (head_.name(i) != "schema" || head_.type(i) == JsonTree::Type::null) continue;
      if (head_.type(i) != JsonTree::Type::text) return wrong("$.schema", "a string");
      if (head_.text(i) == kResultSchema) continue;
      error_ = Error{where_ + ": $.schema",
                     "\"" + std::string(head_.text(i)) + "\" is not " + std::string(kResultSchema),
                     "this program reads version 1 result sets"};
    }
    return !error_;
  }

  [[nodiscard]] std::string cell_path() const {
    return "$.cells[" + std::to_string(results_.cells.size()) + "]";
  }

  ResultSet& results_;
  const std::string& where_;
  std::optional<Error> error_;
  JsonTree head_, cell_;
  std::size_t depth_ = 0;
  bool at_cells_ = false, in_cells_ = false, saw_cells_ = false, no_object_ = false;
};

Result<std::string> read_text(const std::string& path) {
  if (path == "-") {
    std::ostringstream text;
    text << std::cin.rdbuf();
    return std::move(text).str();
  }
  std::string text;
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!unknown) text.reserve(size + 1);
  std::array<char, 1 << 16> block{};
  while (file.read(block.data(), block.size()) || file.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad() || (text.empty() && errno != 0)) {
    return fail(path, std::string("cannot be read: ") + std::strerror(errno));
  }
  return text;
}

// Reads in place: strings of the text are unescaped where they stand.
Result<ResultSet> read_in_place(std::string text, const std::string& where) {
  ResultSet results;
  ResultEvents events(results, where);
  // Blanks are looked at 16 bytes at a time, beyond the end of the text as well.
  text.append(32, '\0');
  rapidjson::InsituStringStream stream(text.data());
  rapidjson::Reader reader;
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseFullPrecisionFlag |
                              rapidjson::kParseValidateEncodingFlag;
  const auto parsed = reader.Parse<kFlags>(stream, events);
  if (!parsed.IsError()) {
    events.finish();
  } else if (!events.error()) {
    std::string what = rapidjson::GetParseError_En(parsed.Code());
    while (what.ends_with('.')) what.pop_back();
    // Lines cannot be counted any more: unescaped strings may hold line ends.
    return fail(where, "is not JSON: byte " + std::to_string(parsed.Offset()) + ": " + what,
                "a result file is written by bertbench sweep or extract --json");
  }
  if (auto error = events.error()) {
    if (error->hint.empty()) error->hint = "see configs/schema/result.schema.json";
    return tl::unexpected(*error);
  }
  return results;
}

}  // namespace

Result<ResultSet> result_set_from_text(std::string_view text, const std::string& where) {
  return read_in_place(std::string(text), where);
}

Result<ResultSet> read_result_set(const std::string& path_or_run_folder, Parts parts) {
  namespace fs = std::filesystem;
  std::error_code code;
  std::string path = path_or_run_folder;
  if (fs::is_directory(path, code)) {
    path = (fs::path(path) / kResultsFile).string();
    if (!fs::exists(path, code)) {
      return fail(path_or_run_folder, "holds no " + std::string(kResultsFile),
                  "a run folder gets one from bertbench sweep");
    }
  }
  auto text = read_text(path);
  if (!text) return tl::unexpected(text.error());
  if (text->empty()) return fail(path, "is empty", "expected a result set");
  auto results = read_in_place(std::move(*text), path);
  if (results && parts == Parts::refused && !results->partial.is_null()) {
    return fail(path, "is one shard of a result, not the whole",
                "join the results of all shards with bertbench merge");
  }
  return results;
}

}  // namespace bertbench
