#include "parsers/described/described_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

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
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(path, "cannot be read", "give the path of a format file");
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (file.gcount() == 0 && !file.eof())) {
    return fail(path, "cannot be read", "give the path of a format file");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    return fail(path, fmt::format("is larger than {} MiB", kMaxFileBytes >> 20),
                "a format file holds rules, not logs");
  }
  return parse(text, path);
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
