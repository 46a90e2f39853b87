#include "parsers/reader/anchor_tables.h"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "parsers/described/user_format.h"
#include "parsers/rules/fact_rules.h"
#include "parsers/rules/mark_rules.h"
#include "parsers/rules/outcome_rules.h"

namespace bertbench {

AnchorTables::Lists AnchorTables::collect(std::string_view only, const UserFormat* user_format) {
  // Each with its owner's bit and its place among the owner's anchors.
  std::vector<std::tuple<std::string_view, std::size_t, std::uint8_t>> found;
  const auto add = [&](std::size_t owner, std::span<const std::string_view> anchors) {
    for (std::size_t i = 0; i < anchors.size(); ++i) {
      if (anchors[i] == kFileLine) continue;
      found.emplace_back(anchors[i], owner,
                         static_cast<std::uint8_t>(std::min<std::size_t>(i, 63)));
    }
  };
  const auto formats = all_formats();
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (only.empty() || formats[i]->name == only) add(i, formats[i]->anchors);
  }
  add(kMarkBit, MarkRules::anchors());
  add(kFactBit, FactRules::anchors());
  add(kOutcomeBit, OutcomeRules::anchors());
  if (user_format != nullptr && (only.empty() || only == user_format->name())) {
    for (const std::string& literal : user_format->literals()) {
      found.emplace_back(literal, kUserBit, kNone);
    }
  }
  std::ranges::sort(found);
  Lists out;
  for (const auto& [literal, owner, place] : found) {
    if (out.literals.empty() || out.literals.back() != literal) {
      out.literals.emplace_back(literal);
      out.owners.push_back(0);
      out.places.emplace_back().fill(kNone);
    }
    out.owners.back() |= std::uint64_t{1} << owner;
    // Of an anchor that its owner names twice the first place counts.
    out.places.back()[owner] = std::min(out.places.back()[owner], place);
  }
  return out;
}

AnchorTables::AnchorTables(std::string_view only, const UserFormat* user_format)
    : lists_(collect(only, user_format)), scanner_(lists_.literals) {}

std::shared_ptr<const AnchorTables> AnchorTables::of(
    const std::string& only, const std::shared_ptr<const UserFormat>& user_format) {
  struct Entry {
    std::weak_ptr<const UserFormat> user_format;
    std::shared_ptr<const AnchorTables> tables;
  };
  static std::mutex mutex;
  static std::map<std::pair<std::string, const UserFormat*>, Entry> entries;
  const std::lock_guard lock(mutex);
  // An address may be used again once its format is gone.
  std::erase_if(entries, [](const auto& entry) {
    return entry.first.second != nullptr && entry.second.user_format.expired();
  });
  Entry& entry = entries[{only, user_format.get()}];
  if (!entry.tables) {
    entry = {user_format, std::make_shared<const AnchorTables>(only, user_format.get())};
  }
  return entry.tables;
}

}  // namespace bertbench
