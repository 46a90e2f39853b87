#include "reports/output/iterations_file.h"

#include <array>
#include <fstream>

#include "parsers/core/record.h"
#include "parsers/core/text.h"
#include "reports/output/iterations.h"

namespace bertbench {

bool stays_below_run_folder(std::string_view path) {
  if (path.empty() || path.front() == '/') return false;
  for (const std::string_view part : split(path, '/')) {
    if (part == "..") return false;
  }
  return true;
}

bool read_iterations(const std::string& run_folder, const std::string& path,
                     const std::function<void(const IterationRow&)>& row) {
  constexpr std::size_t kNumbers = 6;  // the columns after log and trial
  if (run_folder.empty() || !stays_below_run_folder(path)) return false;
  std::ifstream in(run_folder + "/" + path);
  std::string line;
  if (!std::getline(in, line) || trim(line) != trim(kIterationsHeader)) return false;
  while (std::getline(in, line)) {
    // From the end, as the path, which comes first, may hold commas in quotes; numbers hold none.
    std::string_view left = trim(line);
    std::array<double, kNumbers> number{};
    bool whole = true;
    for (std::size_t i = kNumbers; i-- > 0 && whole;) {
      const auto comma = left.rfind(',');
      whole = comma != std::string_view::npos;
      if (!whole) break;
      number[i] = to_double(left.substr(comma + 1)).value_or(kUnknown);
      left = left.substr(0, comma);
    }
    if (whole) row({number[0], number[1], number[2], number[3], number[4], number[5]});
  }
  return true;
}

}  // namespace bertbench
