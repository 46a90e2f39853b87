#include "reports/model/fields.h"

#include <algorithm>

namespace bertbench {

NoticeText named(const Notice& notice) {
  NoticeText out{std::string(name(notice.code)), notice.line, notice.log, {}, text_of(notice)};
  if (notice.code == NoticeCode::foreign) return out;  // its text is all that there is
  const auto names = value_names(kind_of(notice.code).text);
  for (std::size_t i = 0; i < std::min(names.size(), notice.values.size()); ++i) {
    out.values.emplace_back(names[i], notice.values[i]);
  }
  return out;
}

Notice notice_of(NoticeText text) {
  const auto code = parse_notice_code(text.code).value_or(NoticeCode::foreign);
  if (code == NoticeCode::foreign) return foreign_notice(text.line, std::move(text.text));
  Notice out{code, text.line, {}, std::move(text.log)};
  for (const std::string_view name : value_names(kind_of(code).text)) {
    const auto at = std::ranges::find(
        text.values, name, [](const auto& value) { return std::string_view(value.first); });
    if (at == text.values.end()) return foreign_notice(text.line, std::move(text.text));
    out.values.push_back(std::move(at->second));
  }
  return out;
}

}  // namespace bertbench
