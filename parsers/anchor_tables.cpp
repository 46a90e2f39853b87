#include "parsers/anchor_tables.h"

#include <map>
#include <mutex>
#include <utility>

#include "parsers/rules/fact_rules.h"
#include "parsers/rules/mark_rules.h"
#include "parsers/rules/outcome_rules.h"
#include "parsers/runs/run_gate.h"
#include "parsers/user/user_format.h"

namespace bertbench {

AnchorTables::Lists AnchorTables::collect(std::string_view only, const UserFormat* user_format) {
  std::map<std::string_view, std::uint64_t> found;
  std::array<std::span<const std::string_view>, 64> anchors;  // by owner
  const auto formats = all_formats();
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (only.empty() || formats[i]->name == only) anchors[i] = formats[i]->anchors;
  }
  anchors[kMarkBit] = MarkRules::anchors();
  anchors[kFactBit] = FactRules::anchors();
  anchors[kOutcomeBit] = OutcomeRules::anchors();
  for (std::size_t owner = 0; owner < anchors.size(); ++owner) {
    for (const std::string_view anchor : anchors[owner]) {
      if (anchor != kFileLine) found[anchor] |= std::uint64_t{1} << owner;
    }
  }
  if (user_format != nullptr && (only.empty() || only == user_format->name())) {
    for (const std::string& literal : user_format->literals()) found[literal] |= kUserOwner;
  }
  Lists out;
  for (const auto& [literal, owners] : found) {
    out.literals.emplace_back(literal);
    if (literal.find_first_of("0123456789.-") != std::string_view::npos) {
      out.numbered.push_back(number_blind(literal));
    }
    out.owners.push_back(owners);
    auto& places = out.places.emplace_back();
    for (std::size_t owner = 0; owner < anchors.size(); ++owner) {
      const auto at = std::ranges::find(anchors[owner], literal) - anchors[owner].begin();
      places[owner] = at == std::ssize(anchors[owner])
                          ? kNone
                          : static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(at, 63));
    }
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
