// Typed access to a JSON object with errors that name the file and the JSON path.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/core/error.h"
#include "reports/model/json_tree.h"

namespace bertbench {

/// Reads one object. The first error stays; later reads return defaults, so that a caller checks
/// once at the end. Unknown keys are left alone.
class JsonReader {
 public:
  using Json = nlohmann::ordered_json;
  using Type = JsonTree::Type;
  using Index = JsonTree::Index;

  /// `tree` outlives the reader.
  JsonReader(const JsonTree& tree, std::string path, std::optional<Error>& error, std::string where)
      : tree_(&tree), error_(error), root_(std::move(path)), where_(std::move(where)) {
    if (tree.type(node_) != Type::object) report("", "an object");
  }
  JsonReader(const Json& json, std::string path, std::optional<Error>& error, std::string where)
      : copy_(std::make_unique<JsonTree>()),
        tree_(copy_.get()),
        error_(error),
        root_(std::move(path)),
        where_(std::move(where)) {
    copy_->add(json);
    if (!json.is_object()) report("", "an object");
  }

  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] std::string path() const {
    if (parent_ == nullptr) return root_;
    std::string out = parent_->path() + "." + std::string(key_);
    return index_ ? out + "[" + std::to_string(*index_) + "]" : out;
  }
  [[nodiscard]] Json json() const { return tree_->json(node_); }
  [[nodiscard]] bool has(std::string_view key) const { return find(key).has_value(); }

  [[nodiscard]] std::optional<std::string> text(std::string_view key) {
    const auto value = find(key);
    if (!value) return std::nullopt;
    if (tree_->type(*value) != Type::text) return report(key, "a string"), std::nullopt;
    return std::string(tree_->text(*value));
  }
  [[nodiscard]] std::optional<double> number(std::string_view key) {
    const auto value = find(key);
    if (!value) return std::nullopt;
    if (!tree_->is_number(*value)) return report(key, "a number"), std::nullopt;
    return tree_->number(*value);
  }
  /// A whole number in [least, 2^53].
  [[nodiscard]] std::optional<std::int64_t> count(std::string_view key, std::int64_t least = 0) {
    const auto value = find(key);
    if (!value) return std::nullopt;
    constexpr std::int64_t kTop = std::int64_t{1} << 53;
    std::optional<std::int64_t> n;
    if (tree_->type(*value) == Type::count) {
      const auto u = tree_->count(*value);
      if (u <= static_cast<std::uint64_t>(kTop)) n = static_cast<std::int64_t>(u);
    } else if (tree_->type(*value) == Type::integer) {
      n = tree_->integer(*value);
    } else if (tree_->type(*value) == Type::real) {
      const double d = tree_->number(*value);
      if (d >= -9.0e15 && d <= 9.0e15 && d == static_cast<double>(static_cast<std::int64_t>(d))) {
        n = static_cast<std::int64_t>(d);
      }
    }
    if (!n || *n < least) {
      return report(key, "a whole number of at least " + std::to_string(least)), std::nullopt;
    }
    return n;
  }
  [[nodiscard]] std::optional<bool> flag(std::string_view key) {
    const auto value = find(key);
    if (!value) return std::nullopt;
    if (tree_->type(*value) != Type::flag) return report(key, "true or false"), std::nullopt;
    return tree_->flag(*value);
  }
  /// The strings of an array; empty when there is none.
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> out;
    const auto value = find(key);
    if (!value) return out;
    bool good = tree_->type(*value) == Type::array;
    for (Index i = tree_->first(*value); good && i < tree_->end(*value); i = tree_->end(i)) {
      good = tree_->type(i) == Type::text;
      if (good) out.emplace_back(tree_->text(i));
    }
    if (!good) report(key, "an array of strings");
    return out;
  }
  /// Calls `read(name, tree, node)` for each member that is not null.
  template <class Read>
  void members(Read&& read) {
    if (failed()) return;
    for (Index i = tree_->first(node_); i < tree_->end(node_); i = tree_->end(i)) {
      if (tree_->type(i) != Type::null) read(tree_->name(i), *tree_, i);
    }
  }
  /// Calls `read(JsonReader&)` for the object at `key`, if there is one.
  template <class Read>
  void object(std::string_view key, Read&& read) {
    const auto value = find(key);
    if (!value) return;
    JsonReader child(*this, *value, key, std::nullopt);
    if (!failed()) read(child);
  }
  /// Calls `read(JsonReader&)` for each object of the array at `key`, if there is one.
  template <class Read>
  void objects(std::string_view key, Read&& read) {
    const auto value = find(key);
    if (!value) return;
    if (tree_->type(*value) != Type::array) return report(key, "an array");
    std::size_t index = 0;
    for (Index i = tree_->first(*value); i < tree_->end(*value); i = tree_->end(i)) {
      JsonReader child(*this, i, key, index++);
      if (failed()) return;
      read(child);
    }
  }
  /// Says that `key` is required.
  void require(std::string_view key) {
    if (!failed() && !has(key)) {
      error_ =
          Error{where() + ": " + path(), "the key \"" + std::string(key) + "\" is missing", {}};
    }
  }
  void report(std::string_view key, const std::string& expected) {
    if (failed()) return;
    const std::string at = key.empty() ? path() : path() + "." + std::string(key);
    error_ = Error{where() + ": " + at, "must be " + expected, {}};
  }

 private:
  // A member or an element; its path is put together only when an error needs it.
  JsonReader(const JsonReader& parent, Index node, std::string_view key,
             std::optional<std::size_t> index)
      : tree_(parent.tree_),
        error_(parent.error_),
        node_(node),
        parent_(&parent),
        key_(key),
        index_(index) {
    if (tree_->type(node) != Type::object) report("", "an object");
  }

  [[nodiscard]] const std::string& where() const {
    return parent_ == nullptr ? where_ : parent_->where();
  }
  // null means unknown, like an absent key.
  [[nodiscard]] std::optional<Index> find(std::string_view key) const {
    if (failed() || tree_->type(node_) != Type::object) return std::nullopt;
    // Readers ask in about the order in which keys are written, so a search goes on from the last
    // hit and begins again once.
    const Index first = tree_->first(node_), end = tree_->end(node_);
    for (const auto& [from, to] : {std::pair{next_ < first ? first : next_, end},
                                   std::pair{first, next_ < first ? first : next_}}) {
      for (Index i = from; i < to; i = tree_->end(i)) {
        if (tree_->name(i) != key) continue;
        next_ = tree_->end(i);
        if (tree_->type(i) == Type::null) return std::nullopt;
        return i;
      }
    }
    return std::nullopt;
  }

  std::unique_ptr<JsonTree> copy_;
  const JsonTree* tree_;
  std::optional<Error>& error_;
  Index node_ = 0;
  mutable Index next_ = 0;  // the member behind the last hit
  const JsonReader* parent_ = nullptr;
  std::string_view key_;
  std::optional<std::size_t> index_;
  std::string root_, where_;  // of the root only
};

}  // namespace bertbench
