#include "reports/model/result_io.h"
#include "reports/output/markup.h"
#include "reports/output/report.h"

namespace bertbench::report_json {
namespace {

void write(const CellSource& cells, const ReportOptions&, const TextSink& out) {
  write_text(cells, [&](std::string_view text) { out(printable_json(std::string(text))); });
}

}  // namespace

extern const Report entry{"json",  "everything, bertbench.result/1, for programs",
                          ".json", &render_cells<write>,
                          nullptr, &write};

}  // namespace bertbench::report_json
