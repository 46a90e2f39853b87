// A strict reader of the XML that reports write: elements, attributes, character data, the five
// named references. No comments, CDATA or DTD: a report that begins to write those must say so
// here.
#pragma once

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bertbench::xml {

struct Element {
  std::string name, parent;
  std::map<std::string, std::string> attributes;  ///< values as written, references and all
};

struct Document {
  std::string error;  ///< empty: well-formed
  std::vector<Element> elements;

  [[nodiscard]] std::vector<Element> named(const std::string& name) const {
    std::vector<Element> out;
    for (const Element& element : elements)
      if (element.name == name) out.push_back(element);
    return out;
  }
};

/// What is wrong with character data or an attribute value; empty if nothing is.
inline std::string check_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '<') return "raw <";
    if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') return "control character";
    if (text.substr(i).starts_with("\xEF\xBF\xBE") || text.substr(i).starts_with("\xEF\xBF\xBF"))
      return "U+FFFE or U+FFFF";
    if (text.substr(i).starts_with("]]>")) return "raw ]]>";
    if (c != '&') continue;
    bool known = false;
    for (const std::string_view reference : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#39;"})
      known = known || text.substr(i).starts_with(reference);
    if (!known) return "raw &";
  }
  return {};
}

inline Document parse(std::string_view text) {
  Document out;
  const auto bad = [&](const std::string& what) {
    if (out.error.empty()) out.error = what;
    return out;
  };
  constexpr std::string_view kHead = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  if (!text.starts_with(kHead)) return bad("no XML declaration");
  text.remove_prefix(kHead.size());
  const auto take_name = [&] {
    const auto in_name = [](char c, bool first) {
      return std::isalpha(static_cast<unsigned char>(c)) != 0 ||
             (!first && (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-'));
    };
    std::size_t n = 0;
    while (n < text.size() && in_name(text[n], n == 0)) ++n;
    std::string name(text.substr(0, n));
    text.remove_prefix(n);
    return name;
  };
  std::vector<std::string> open;
  while (!text.empty()) {
    const std::size_t tag = std::min(text.find('<'), text.size());
    const std::string_view data = text.substr(0, tag);
    if (const std::string wrong = check_text(data); !wrong.empty()) return bad(wrong);
    if (open.empty() && data.find_first_not_of("\r\n ") != std::string_view::npos)
      return bad("text outside the root");
    text.remove_prefix(tag);
    if (text.empty()) break;
    if (text.starts_with("</")) {
      text.remove_prefix(2);
      const std::string name = take_name();
      if (open.empty() || open.back() != name) return bad("</" + name + "> closes nothing");
      open.pop_back();
      if (!text.starts_with('>')) return bad("end tag is not closed");
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(1);
    if (open.empty() && !out.elements.empty()) return bad("two roots");
    Element element{take_name(), open.empty() ? "" : open.back(), {}};
    if (element.name.empty()) return bad("tag without a name");
    while (text.starts_with(' ')) {
      text.remove_prefix(1);
      const std::string key = take_name();
      if (key.empty() || !text.starts_with("=\"")) return bad("attribute of " + element.name);
      text.remove_prefix(2);
      const std::size_t end = text.find('"');
      if (end == std::string_view::npos) return bad("attribute " + key + " does not end");
      const std::string_view value = text.substr(0, end);
      if (const std::string wrong = check_text(value); !wrong.empty())
        return bad(wrong + " in " + key);
      if (!element.attributes.emplace(key, value).second) return bad(key + " twice");
      text.remove_prefix(end + 1);
    }
    const bool empty = text.starts_with('/');
    if (empty) text.remove_prefix(1);
    if (!text.starts_with('>')) return bad(element.name + " is not closed");
    text.remove_prefix(1);
    if (!empty) open.push_back(element.name);
    out.elements.push_back(std::move(element));
  }
  if (!open.empty()) return bad(open.back() + " is left open");
  if (out.elements.empty()) return bad("no root");
  return out;
}

/// What of a JUnit file is not in Jenkins' junit-10.xsd (elements, their places and attributes;
/// that of pytest's "xunit2"); empty if nothing is.
inline std::string beyond_junit_schema(const Document& document) {
  struct Rule {
    std::vector<std::string> parents, attributes;
  };
  const std::vector<std::string> verdict{"type", "message"};
  const std::map<std::string, Rule> rules = {
      {"testsuites", {{""}, {"name", "time", "tests", "failures", "errors"}}},
      {"testsuite",
       {{"testsuites", "testsuite"},
        {"name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp", "hostname",
         "id", "package", "file", "log", "url"}}},
      {"properties", {{"testsuite"}, {}}},
      {"property", {{"properties"}, {"name", "value"}}},
      {"testcase", {{"testsuite"}, {"name", "time", "classname", "group"}}},
      {"skipped", {{"testcase"}, verdict}},
      {"error", {{"testcase"}, verdict}},
      {"failure", {{"testcase"}, verdict}},
      {"rerunFailure", {{"testcase"}, verdict}},
      {"rerunError", {{"testcase"}, verdict}},
      {"flakyFailure", {{"testcase"}, verdict}},
      {"flakyError", {{"testcase"}, verdict}},
      {"system-out", {{"testsuite", "testcase"}, {}}},
      {"system-err", {{"testsuite", "testcase"}, {}}}};
  const auto in = [](const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  for (const Element& element : document.elements) {
    const auto rule = rules.find(element.name);
    if (rule == rules.end() || !in(rule->second.parents, element.parent)) {
      return element.name + " in " + element.parent;
    }
    for (const auto& [name, value] : element.attributes) {
      if (!in(rule->second.attributes, name)) return element.name + " " + name;
    }
  }
  return {};
}

}  // namespace bertbench::xml
