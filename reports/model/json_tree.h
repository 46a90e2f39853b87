// A small JSON value as one flat list: what is read of a large file at a time (a cell), without an
// allocation per value and without a copy of its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench {

class JsonTree {
 public:
  enum class Type : std::uint8_t { null, flag, count, integer, real, text, object, array };
  using Index = std::uint32_t;

  // Building, in the order of the text. The first value is the root. Names and texts are not
  // copied: what they point to outlives the tree.
  void clear();
  void key(std::string_view name);
  void null();
  void flag(bool value);
  void count(std::uint64_t value);
  void integer(std::int64_t value);
  void real(double value);
  void text(std::string_view value);
  void open(Type object_or_array);
  void close();
  void add(const nlohmann::ordered_json& value);  ///< copied

  [[nodiscard]] bool empty() const { return nodes_.empty(); }
  [[nodiscard]] Index size() const { return static_cast<Index>(nodes_.size()); }
  /// True when the root is whole.
  [[nodiscard]] bool closed() const { return open_.empty(); }

  // Reading. Members of an object and elements of an array follow their parent:
  //   for (Index i = first(parent); i < end(parent); i = end(i))
  [[nodiscard]] Type type(Index node) const { return nodes_[node].type; }
  [[nodiscard]] std::string_view name(Index node) const {
    return {nodes_[node].name, nodes_[node].name_size};
  }
  [[nodiscard]] std::string_view text(Index node) const {
    return {nodes_[node].value.text, nodes_[node].size};
  }
  [[nodiscard]] bool flag(Index node) const { return nodes_[node].value.flag; }
  [[nodiscard]] std::uint64_t count(Index node) const { return nodes_[node].value.count; }
  [[nodiscard]] std::int64_t integer(Index node) const { return nodes_[node].value.integer; }
  /// Of any number.
  [[nodiscard]] double number(Index node) const;
  [[nodiscard]] Index first(Index node) const { return node + 1; }
  [[nodiscard]] Index end(Index node) const { return nodes_[node].end; }
  [[nodiscard]] bool is_number(Index node) const {
    return type(node) >= Type::count && type(node) <= Type::real;
  }
  [[nodiscard]] bool is_structured(Index node) const { return type(node) >= Type::object; }
  [[nodiscard]] nlohmann::ordered_json json(Index node) const;

 private:
  struct Node {
    union {
      bool flag;
      std::uint64_t count;
      std::int64_t integer;
      double real;
      const char* text;
    } value{};
    const char* name = nullptr;
    Index end = 0;
    std::uint32_t name_size = 0, size = 0;
    Type type = Type::null;
  };
  Node& push(Type type);

  std::vector<Node> nodes_;
  std::vector<Index> open_;
  std::deque<std::string> copies_;  // of add()
  std::string_view name_;           // of the value to come
};

}  // namespace bertbench
