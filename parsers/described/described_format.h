// DescribedFormat: a log format that a JSON file describes (docs/formats.md): one of the built-in
// ones in parsers/formats/described, or a user's (--format-file). Each rule has a literal that
// joins the scan for those of all formats, so that other lines cost nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/core/error.h"
#include "parsers/formats/format.h"

namespace bertbench {

struct Description;  // parsers/described/description.h

class DescribedFormat {
 public:
  static constexpr std::size_t kLargestMib = 1;

  /// A user's file. Everything is checked here: keys, patterns, groups, and that each rule reads
  /// its own example. Errors name "<file>:<line>", the JSON path, the rule that was broken and the
  /// nearest name.
  static Result<std::shared_ptr<const DescribedFormat>> load(const std::string& path);
  /// The same from text; `source` stands in messages.
  static Result<std::shared_ptr<const DescribedFormat>> parse(const std::string& text,
                                                              const std::string& source);
  /// A text that the build has checked.
  explicit DescribedFormat(const std::string& built_in);
  explicit DescribedFormat(std::unique_ptr<const Description> description);
  DescribedFormat(const DescribedFormat&) = delete;
  DescribedFormat& operator=(const DescribedFormat&) = delete;
  ~DescribedFormat();

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] const std::vector<std::string>& literals() const;
  [[nodiscard]] bool yields() const;    ///< as Format::yields
  [[nodiscard]] bool has_rows() const;  ///< of a table below its head
  /// State over one log; refers to this object.
  [[nodiscard]] std::unique_ptr<LineParser> make() const;

 private:
  std::unique_ptr<const Description> description_;
};

}  // namespace bertbench
