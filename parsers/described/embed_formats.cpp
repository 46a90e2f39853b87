// A step of the build (parsers/CMakeLists.txt): embed_formats JSON... > CPP checks the built-in
// descriptions and makes their `format_<name>::entry`. Literals, titles and references
// are constants; the rules are read when the first line of a format comes.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "parsers/described/description.h"

namespace bertbench {
namespace {

/// As a string literal of C++.
std::string cpp_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= ' ' && byte < 0x7f && c != '"' && c != '\\' && c != '?';
    out += plain ? std::string(1, c) : fmt::format("\\{:03o}", byte);
  }
  return out + '"';
}

/// The text without what only its checks need.
std::string compact(const std::string& text) {
  auto json = nlohmann::ordered_json::parse(text, nullptr, true, /*ignore_comments=*/true);
  for (auto& line : json["lines"]) line.erase("example");
  return json.dump();
}

std::string cpp_of(const Description& format, const std::string& text) {
  std::string name = format.name, literals;
  std::ranges::replace(name, '-', '_');
  for (const std::string& literal : format.literals) literals += cpp_text(literal) + ", ";
  return fmt::format(R"(
namespace format_{0} {{
constexpr std::string_view kLiterals[] = {{{1}}};
std::unique_ptr<LineParser> make() {{
  static const DescribedFormat format({2});
  return format.make();
}}
extern const Format entry{{.name = {3}, .title = {4}, .reference = {5}, .anchors = kLiterals,
    .make = make, .yields = {6}}};
}}  // namespace format_{0}
)",
                     name, literals, cpp_text(compact(text)), cpp_text(format.name),
                     cpp_text(format.title), cpp_text(format.reference), format.yields);
}

int embed(const std::vector<std::string>& paths) {
  std::string out =
      "// Made from the descriptions in parsers/formats/described; do not edit.\n"
      "#include \"parsers/described/described_format.h\"\n\nnamespace bertbench {\n";
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    const auto format = read_description(text.str(), path);
    if (!format) {
      std::cerr << format.error().message() << '\n';
      return 1;
    }
    // CMake names the format by its file.
    std::string stem = path.substr(path.rfind('/') + 1);
    stem.resize(stem.size() - std::string_view(".json").size());
    const Description& of = **format;
    const char* wrong = stem != of.name        ? "\"name\" is not that of the file"
                        : of.title.empty()     ? "a built-in format needs a \"title\""
                        : of.reference.empty() ? "a built-in format needs a \"reference\""
                                               : nullptr;
    if (wrong != nullptr) {
      std::cerr << path << ": " << wrong << "; docs/formats.md, \"A format in a JSON file\"\n";
      return 1;
    }
    out += cpp_of(of, text.str());
  }
  std::cout << out << "\n}  // namespace bertbench\n";
  return 0;
}

}  // namespace
}  // namespace bertbench

int main(int argc, char** argv) { return bertbench::embed({argv + 1, argv + argc}); }
