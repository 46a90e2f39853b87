#include <ostream>

#include "reports/markup.h"
#include "reports/model/result_io.h"
#include "reports/report.h"

namespace bertbench {
namespace {

Result<void> render(const ResultSet& set, const ReportOptions&, std::ostream& out) {
  out << printable_json(to_text(set));
  return {};
}

}  // namespace

extern const Report report_json;
const Report report_json{"json", "everything, bertbench.result/1, for programs", ".json", &render};

}  // namespace bertbench
