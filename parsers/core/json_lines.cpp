#include "parsers/core/json_lines.h"

#include <nlohmann/json.hpp>
#include <set>

namespace bertbench {
namespace {

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
    if (c == '{') {
      object(pointer);
    } else if (c == '[') {
      array(pointer);
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
  int line_ = 1;
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

JsonLines find_json_lines(std::string_view text) {
  JsonLines out;
  Scanner(text, out).run();
  return out;
}

}  // namespace bertbench
