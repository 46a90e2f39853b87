#include "harness/sweep/config/one_line.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "harness/sweep/config/axes.h"
#include "parsers/core/config_reader.h"
#include "parsers/core/text.h"
#include "parsers/core/whole_file.h"

namespace bertbench {
namespace {

/// "NAME=REST"; `usage` is for the error where there is no such form.
Result<std::pair<std::string, std::string>> name_and_rest(const std::string& option,
                                                          const std::string& text,
                                                          const std::string& usage) {
  const auto equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
    return fail(option + " " + text, "has no value", usage);
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

/// Values stay as they are typed: a learning rate of 1e-4 is "1e-4" in words and in keys.
Result<Override> axis_of(const std::string& text) {
  const auto given = name_and_rest("--grid", text, "write it as --grid micro_batch_size=4,8");
  if (!given) return tl::unexpected(given.error());
  const auto name = canonical_axis(given->first);
  Override out{"grid." + name, Json::array(), "--grid " + name};
  for (const auto value : split(given->second, ',')) {
    if (trim(value).empty()) {
      return fail(out.option, fmt::format("'{}' has an empty value", given->second),
                  "separate values by one comma; a value with a comma needs --set or a file");
    }
    out.value.push_back(std::string(value));
  }
  return out;
}

/// A file whose name ends in .json is an object whose strings hold placeholders, any other is text.
Result<Override> file_of(const std::string& text) {
  const auto given = name_and_rest("--file", text, "write it as --file ds.json=PATH");
  if (!given) return tl::unexpected(given.error());
  const auto& [name, path] = *given;
  constexpr std::size_t kLargestFileMib = 16;
  const auto content = read_whole_file(
      path, kLargestFileMib,
      "name a file; {file:" + name + "} in the command is then its path in a trial");
  if (!content) {
    Error error = content.error();
    error.where = "--file " + path;
    return tl::unexpected(error);
  }
  Override out{"", *content, "--file " + name};
  if (name.ends_with(".json")) {
    const auto reader = ConfigReader::open(*content, path, {}, "a file of JSON");
    if (!reader) return tl::unexpected(reader.error());
    out.value = reader->root();
  }
  out.path = "files." + name;
  return out;
}

}  // namespace

Result<std::vector<Override>> overrides_of(const OneLine& line) {
  std::vector<Override> out;
  if (!line.command.empty()) out.push_back({"command", line.command, "the command"});
  if (!line.each.empty()) out.push_back({"each", line.each, "--each"});
  std::set<std::string> named;
  const auto add = [&](Result<Override> given) -> Result<void> {
    if (!given) return tl::unexpected(given.error());
    if (!named.insert(given->path).second) {
      return fail(given->option, "is given twice", "give all values at once, or keep one of them");
    }
    out.push_back(std::move(*given));
    return {};
  };
  for (const auto& text : line.grid) {
    if (auto done = add(axis_of(text)); !done) return tl::unexpected(done.error());
  }
  for (const auto& text : line.files) {
    if (auto done = add(file_of(text)); !done) return tl::unexpected(done.error());
  }
  return out;
}

}  // namespace bertbench
