#include "parsers/described/described_format.h"

#include <algorithm>

#include "parsers/core/whole_file.h"
#include "parsers/described/described_parser.h"
#include "parsers/described/description.h"

namespace bertbench {

Result<std::shared_ptr<const DescribedFormat>> DescribedFormat::parse(const std::string& text,
                                                                      const std::string& source) {
  auto description = read_description(text, source);
  if (!description) return tl::unexpected(description.error());
  return std::make_shared<const DescribedFormat>(std::move(*description));
}

Result<std::shared_ptr<const DescribedFormat>> DescribedFormat::load(const std::string& path) {
  const auto text = read_whole_file(path, kLargestMib, "a format file holds rules, not logs");
  if (!text) return tl::unexpected(text.error());
  return parse(*text, path);
}

DescribedFormat::DescribedFormat(const std::string& built_in)
    : DescribedFormat(read_description(built_in, "built-in", Checks::none).value()) {}
DescribedFormat::DescribedFormat(std::unique_ptr<const Description> description)
    : description_(std::move(description)) {}
DescribedFormat::~DescribedFormat() = default;

std::string_view DescribedFormat::name() const { return description_->name; }

const std::vector<std::string>& DescribedFormat::literals() const { return description_->literals; }

bool DescribedFormat::yields() const { return description_->yields; }

bool DescribedFormat::has_rows() const {
  return std::ranges::any_of(description_->rules, &DescribedRule::rows);
}

std::unique_ptr<LineParser> DescribedFormat::make() const {
  return std::make_unique<DescribedParser>(*description_);
}

}  // namespace bertbench
