#include "reports/model/json_tree.h"

#include <nlohmann/json.hpp>

namespace bertbench {

using Json = nlohmann::ordered_json;

void JsonTree::clear() {
  nodes_.clear();
  open_.clear();
  copies_.clear();
  name_ = {};
}

void JsonTree::key(std::string_view name) { name_ = name; }

JsonTree::Node& JsonTree::push(Type type) {
  Node& node = nodes_.emplace_back();
  node.type = type;
  node.end = static_cast<Index>(nodes_.size());
  node.name = name_.data();
  node.name_size = static_cast<std::uint32_t>(name_.size());
  name_ = {};
  return node;
}

void JsonTree::null() { push(Type::null); }
void JsonTree::flag(bool value) { push(Type::flag).value.flag = value; }
void JsonTree::count(std::uint64_t value) { push(Type::count).value.count = value; }
void JsonTree::integer(std::int64_t value) { push(Type::integer).value.integer = value; }
void JsonTree::real(double value) { push(Type::real).value.real = value; }

void JsonTree::text(std::string_view value) {
  Node& node = push(Type::text);
  node.value.text = value.data();
  node.size = static_cast<std::uint32_t>(value.size());
}

void JsonTree::open(Type object_or_array) {
  push(object_or_array);
  open_.push_back(static_cast<Index>(nodes_.size() - 1));
}

void JsonTree::close() {
  nodes_[open_.back()].end = static_cast<Index>(nodes_.size());
  open_.pop_back();
}

void JsonTree::add(const Json& value) {
  switch (value.type()) {
    case Json::value_t::object:
      open(Type::object);
      for (const auto& [name, inner] : value.items()) {
        key(copies_.emplace_back(name));
        add(inner);
      }
      return close();
    case Json::value_t::array:
      open(Type::array);
      for (const Json& inner : value) add(inner);
      return close();
    case Json::value_t::string:
      return text(copies_.emplace_back(value.get_ref<const std::string&>()));
    case Json::value_t::boolean:
      return flag(value.get<bool>());
    case Json::value_t::number_unsigned:
      return count(value.get<std::uint64_t>());
    case Json::value_t::number_integer:
      return integer(value.get<std::int64_t>());
    case Json::value_t::number_float:
      return real(value.get<double>());
    default:
      return null();
  }
}

double JsonTree::number(Index node) const {
  switch (type(node)) {
    case Type::count:
      return static_cast<double>(nodes_[node].value.count);
    case Type::integer:
      return static_cast<double>(nodes_[node].value.integer);
    default:
      return nodes_[node].value.real;
  }
}

Json JsonTree::json(Index node) const {
  switch (type(node)) {
    case Type::null:
      return {};
    case Type::flag:
      return flag(node);
    case Type::count:
      return count(node);
    case Type::integer:
      return integer(node);
    case Type::real:
      return number(node);
    case Type::text:
      return std::string(text(node));
    case Type::object:
    case Type::array:
      break;
  }
  const bool object = type(node) == Type::object;
  Json out = object ? Json::object() : Json::array();
  for (Index i = first(node); i < end(node); i = end(i)) {
    if (object) {
      out[std::string(name(i))] = json(i);
    } else {
      out.push_back(json(i));
    }
  }
  return out;
}

}  // namespace bertbench
