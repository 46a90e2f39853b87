#include "reports/output/iterations_file.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "parsers/core/record.h"
#include "parsers/core/text.h"

namespace bertbench {

void read_iterations(const std::string& run_folder, const std::string& path,
                     const std::function<void(const IterationRow&)>& row) {
  constexpr std::size_t kNumbers = 6;  // the columns after log and trial
  // A path of a result file is data: only one that stays below the run folder is followed.
  const auto parts = split(path, '/');
  if (run_folder.empty() || std::ranges::find(parts, "..") != parts.end()) return;
  std::ifstream in(run_folder + "/" + path);
  std::string line;
  std::getline(in, line);  // the header
  while (std::getline(in, line)) {
    // From the end, as the path, which comes first, may hold commas in quotes; numbers hold none.
    std::string_view left = trim(line);
    std::array<double, kNumbers> number{};
    std::size_t i = kNumbers;
    for (std::size_t comma = 0; i > 0 && (comma = left.rfind(',')) != left.npos;) {
      number[--i] = to_double(left.substr(comma + 1)).value_or(kUnknown);
      left = left.substr(0, comma);
    }
    if (i == 0) row({number[0], number[1], number[2], number[3], number[4], number[5]});
  }
}

}  // namespace bertbench
