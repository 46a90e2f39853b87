#include "reports/model/json_reader.h"

#if defined(__SSE2__)
#define RAPIDJSON_SSE2  // skips blanks 16 at a time
#endif
// Of a 0 with many digits the library counts the leading zeros, which the builtin leaves undefined.
#define __builtin_clzll(x) ((x) == 0 ? 63 : __builtin_clzll(x))
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#undef __builtin_clzll

#include <cmath>
#include <nlohmann/json.hpp>

namespace bertbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLevels = 64;  // a result file has 7; printing JSON recurses

Json json_of(const JsonScalar& value) {
  return std::visit(
      [](const auto& one) {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::monostate>) {
          return Json();
        } else {
          return Json(one);
        }
      },
      value);
}

/// The library's events, by its names.
struct Events : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Events> {
  JsonReader& reader;
  explicit Events(JsonReader& to) : reader(to) {}
  bool Null() { return reader.value({}); }
  bool Bool(bool v) { return reader.value(v); }
  bool Int(int v) { return reader.value(std::int64_t{v}); }
  bool Uint(unsigned v) { return reader.value(std::uint64_t{v}); }
  bool Int64(std::int64_t v) { return reader.value(v); }
  bool Uint64(std::uint64_t v) { return reader.value(v); }
  bool Double(double v) { return reader.value(v); }
  bool String(const char* s, unsigned n, bool) { return reader.value(std::string_view(s, n)); }
  bool Key(const char* s, unsigned n, bool) { return reader.key({s, n}); }
  bool StartObject() { return reader.open(false); }
  bool StartArray() { return reader.open(true); }
  bool EndObject(unsigned) { return reader.close(); }
  bool EndArray(unsigned) { return reader.close(); }
};

const JsonKind kConstant{.take = [](void* at, const JsonScalar& value, const MemberRule&) {
  const auto wanted = *static_cast<const std::string_view*>(at);
  const auto* text = std::get_if<std::string_view>(&value);
  return text != nullptr && *text == wanted ? std::string() : std::string(wanted);
}};

std::string take_notice_text(void* at, const JsonScalar& value, const MemberRule&) {
  const auto* text = std::get_if<std::string_view>(&value);
  if (text == nullptr) return "a string";
  static_cast<std::vector<Notice>*>(at)->push_back(foreign_notice(0, std::string(*text)));
  return {};
}

const JsonKind kNoticeText{.take = take_notice_text};

const JsonKind kNoticeTexts{.holds = JsonKind::Holds::list,
                            .take = take_notice_text,
                            .open = [](void* at, std::shared_ptr<void>&) { return at; },
                            .element =
                                [](void* at) {
                                  return JsonSlot{at, &kNoticeText};
                                }};

const JsonKind kScalarText{.take = [](void* at, const JsonScalar& value, const MemberRule&) {
  if (value.index() == 0) return std::string("a string, a number, true or false");
  *static_cast<std::string*>(at) = scalar_text(value);
  return std::string();
}};

}  // namespace

std::optional<std::int64_t> whole_number(const JsonScalar& value, std::int64_t least) {
  constexpr double kExactInDouble = 9007199254740992;  // 2^53
  std::optional<std::int64_t> out;
  const auto real = number(value);
  if (const auto* n = std::get_if<std::int64_t>(&value)) {
    out = *n;
  } else if (real && *real >= -kExactInDouble && *real <= kExactInDouble &&
             *real == std::trunc(*real)) {
    out = static_cast<std::int64_t>(*real);
  }
  return out && *out >= least ? out : std::nullopt;
}

std::optional<double> number(const JsonScalar& value) {
  if (const auto* n = std::get_if<double>(&value)) return *n;
  if (const auto* n = std::get_if<std::int64_t>(&value)) return static_cast<double>(*n);
  if (const auto* n = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*n);
  return std::nullopt;
}

std::string scalar_text(const JsonScalar& value) {
  const auto* text = std::get_if<std::string_view>(&value);
  return text != nullptr ? std::string(*text) : json_of(value).dump();
}

void JsonFinder::constant(const char* key, const std::string_view& value) {
  // Looked at, never changed.
  if (is(key))
    slot_ = {const_cast<std::string_view*>(&value), &kConstant, {}, place_ - 1};  // NOLINT
}

void JsonFinder::texts(const char* key, std::vector<Notice>& notices) {
  if (is(key) && notices.empty()) slot_ = {&notices, &kNoticeTexts, {}, place_ - 1};
}

void JsonFinder::other_keys(std::map<std::string, std::string>& values) {
  if (!known_) slot_ = {&values[std::string(key_)], &kScalarText, {}, place_};
}

std::string JsonReader::path(bool of_value) const {
  std::string out = path_;
  for (std::size_t i = 0; i + (of_value ? 0 : 1) < frames_.size(); ++i) {
    out += frames_[i].slot.kind->holds == JsonKind::Holds::list
               ? "[" + std::to_string(frames_[i].count - 1) + "]"
               : "." + std::string(i + 1 < frames_.size() ? frames_[i + 1].key : key_);
  }
  return out;
}

bool JsonReader::fail(const std::string& path, std::string rule) {
  error_ = Error{where_ + ": " + path, std::move(rule), {}};
  return false;
}

JsonSlot JsonReader::next() {
  if (frames_.empty()) return root_;
  Frame& top = frames_.back();
  if (top.slot.kind->holds == JsonKind::Holds::list) {
    ++top.count;
    return top.slot.kind->element(top.at);
  }
  const JsonSlot slot = top.slot.kind->member(top.at, key_);
  if (slot.kind != nullptr) top.seen |= std::uint64_t{1} << slot.place;
  return slot;
}

Json& JsonReader::add(Json value) {
  Json& around = *boxed_.back();
  if (around.is_object()) return around[std::string(key_)] = std::move(value);
  around.push_back(std::move(value));
  return around.back();
}

bool JsonReader::key(std::string_view name) {
  key_ = name;
  return true;
}

bool JsonReader::value(const JsonScalar& value) {
  if (skipped_ > 0) return true;
  if (!boxed_.empty()) return add(json_of(value)), true;
  if (value.index() == 0 && !frames_.empty()) {
    const JsonKind& around = *frames_.back().slot.kind;
    // Unknown, as if the key were not there.
    if (around.holds == JsonKind::Holds::object && !around.keeps_null) return true;
  }
  const JsonSlot slot = next();
  if (slot.kind == nullptr) return true;
  const std::string wrong = slot.kind->take(slot.at, value, slot.rule);
  return wrong.empty() || fail(path(true), "must be " + wrong);
}

bool JsonReader::open(bool list) {
  if (++depth_ > kMostLevels) {
    error_ = Error{where_, "is nested more than " + std::to_string(kMostLevels) + " levels deep",
                   "a result set has fewer than ten"};
    return false;
  }
  if (!boxed_.empty()) {
    boxed_.push_back(&add(list ? Json::array() : Json::object()));
    return true;
  }
  const JsonSlot slot = skipped_ > 0 ? JsonSlot{} : next();
  if (slot.kind == nullptr) return ++skipped_, true;
  if (slot.kind->holds == JsonKind::Holds::json && !list) {
    boxed_.push_back(&**static_cast<JsonBox*>(slot.at));
    *boxed_.back() = Json::object();
    return true;
  }
  if (slot.kind->holds != (list ? JsonKind::Holds::list : JsonKind::Holds::object)) {
    const std::string wrong = slot.kind->take(slot.at, {}, slot.rule);
    return wrong.empty() ? (++skipped_, true) : fail(path(true), "must be " + wrong);
  }
  Frame& frame = frames_.emplace_back(Frame{slot, nullptr, key_});
  frame.at = slot.kind->open(slot.at, frame.scratch);
  return true;
}

bool JsonReader::close() {
  --depth_;
  if (skipped_ > 0) return --skipped_, true;
  if (!boxed_.empty()) return boxed_.pop_back(), true;
  const Frame& frame = frames_.back();
  const JsonKind& kind = *frame.slot.kind;
  if (kind.missing != nullptr) {
    if (const char* key = kind.missing(frame.at, frame.seen)) {
      return fail(path(false), "the key \"" + std::string(key) + "\" is missing");
    }
  }
  if (kind.close != nullptr) kind.close(frame.slot.at, frame.scratch.get());
  frames_.pop_back();
  return true;
}

// Strings of the text are unescaped where they stand.
std::optional<Error> JsonReader::text(std::string text) {
  text.append(32, '\0');  // blanks are looked at 16 bytes at a time, beyond the end as well
  rapidjson::InsituStringStream stream(text.data());
  rapidjson::Reader reader;
  Events events(*this);
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseFullPrecisionFlag |
                              rapidjson::kParseValidateEncodingFlag;
  const auto parsed = reader.Parse<kFlags>(stream, events);
  if (parsed.IsError() && !error_) {
    std::string what = rapidjson::GetParseError_En(parsed.Code());
    while (what.ends_with('.')) what.pop_back();
    // Lines cannot be counted any more: unescaped strings may hold line ends.
    error_ = Error{where_, "is not JSON: byte " + std::to_string(parsed.Offset()) + ": " + what,
                   "a result file is written by bertbench sweep or extract --json"};
  }
  return error_;
}

}  // namespace bertbench
