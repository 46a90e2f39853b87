#include "harness/cli/extract_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/shard.h"
#include "parsers/core/text.h"
#include "parsers/reader/log_reader.h"
#include "reports/measure/estimators.h"

namespace bertbench {

Result<void> check_options(const ExtractOptions& options, const DescribedFormat* user_format) {
  if (auto known = check_format_name(options.format, user_format); !known) return known;
  if (options.follow && !options.shard_text.empty()) {
    return fail("--follow", "cannot be joined with --shard", "follow the logs that matter");
  }
  if (!options.follow && options.stall_after) {
    return fail("--stall-after", "only --follow waits for output", "add --follow");
  }
  const auto names = estimator_names();
  if (!options.estimator.empty() &&
      std::find(names.begin(), names.end(), options.estimator) == names.end()) {
    const std::string near = nearest_name(options.estimator, {names.begin(), names.end()});
    return fail("--estimator", fmt::format("'{}' is not an estimator", options.estimator),
                near.empty() ? fmt::format("use one of {}", fmt::join(names, ", "))
                             : fmt::format("did you mean {}?", near));
  }
  if (!options.compat.empty() && options.compat != "dlperf") {
    return fail("--compat", fmt::format("'{}' is not known", options.compat), "use dlperf");
  }
  if (options.iterations == "-" && options.output.machine_on_stdout()) {
    return fail("--iterations", "two machine forms cannot share stdout",
                "give one of them a file name");
  }
  if (options.shard_text.empty()) return {};
  if (!options.iterations.empty()) {
    return fail("--shard", "cannot be joined with --iterations, as merging numbers the trials",
                "write the iterations of the logs that matter in a run of its own");
  }
  if (!options.compat.empty()) {
    return fail("--shard", "cannot be joined with --compat, which replays a script on whole cells",
                "leave one of them out");
  }
  if (std::ranges::find(options.paths, "-") != options.paths.end()) {
    return fail("--shard", "stdin cannot be cut into shards", "name files or folders");
  }
  return {};
}

std::map<std::string, std::string> deciding(const ExtractOptions& options) {
  std::map<std::string, std::string> out = facts_as_options(options.facts);
  const auto put = [&](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  if (options.format != "auto") put("format", options.format);
  put("format-file", options.format_file);
  if (options.window) put("window", options.window->str());
  put("estimator", options.estimator);
  put("base", options.base);
  put("flops-formula", options.flops_formula);
  return out;
}

}  // namespace bertbench
