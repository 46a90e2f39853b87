#include "parsers/reader/anchor_tables.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "parsers/described/described_format.h"
#include "parsers/rules/fact_rules.h"
#include "parsers/rules/mark_rules.h"
#include "parsers/rules/outcome_rules.h"

namespace bertbench {

AnchorTables::Lists AnchorTables::collect(std::span<const Format* const> formats,
                                          const DescribedFormat* user_format) {
  std::vector<std::tuple<std::string_view, std::uint32_t, std::uint32_t>> found;
  const auto add = [&](std::uint32_t owner, const auto& literals) {
    for (std::uint32_t row = 0; const std::string_view literal : literals) {
      if (literal != kFileLine) found.emplace_back(literal, owner, row);
      ++row;
    }
  };
  add(kMarks, MarkRules::anchors());
  add(kFacts, FactRules::anchors());
  add(kOutcomes, OutcomeRules::anchors());
  std::uint32_t owner = kFormats;
  for (const Format* format : formats) add(owner++, format->literals());
  if (user_format != nullptr) add(owner, user_format->literals());
  std::ranges::sort(found);
  Lists out;
  for (const auto& [literal, of, row] : found) {
    if (out.literals.empty() || out.literals.back() != literal) {
      out.literals.emplace_back(literal);
      out.first.push_back(out.rows.size());
    }
    out.rows.push_back({of, row});
  }
  out.first.push_back(out.rows.size());
  return out;
}

AnchorTables::AnchorTables(std::span<const Format* const> formats,
                           const DescribedFormat* user_format)
    : formats_(formats.begin(), formats.end()),
      lists_(collect(formats, user_format)),
      scanner_(lists_.literals) {}

void AnchorTables::places(std::string_view text, const char* data, std::span<const AnchorHit> hits,
                          std::vector<LiteralAt>& out) const {
  out.clear();
  for (const AnchorHit& hit : hits) {
    const char* const begin = data + scanner_.begin_of(hit);
    const char* const end = begin + lists_.literals[hit.literal].size();
    if (begin < text.data() || end > text.data() + text.size()) continue;
    for (std::size_t i = lists_.first[hit.literal]; i < lists_.first[hit.literal + 1]; ++i) {
      out.push_back({lists_.rows[i].owner, lists_.rows[i].row, begin});
    }
  }
  if (out.size() > 1) std::ranges::sort(out);
}

void AnchorTables::places(std::string_view text, std::vector<LiteralAt>& out) const {
  std::vector<AnchorHit> hits;
  scanner_.scan(text, 0, text.size(), hits);
  places(text, text.data(), hits, out);
}

namespace {

bool yields(std::string_view name, const DescribedFormat* user_format) {
  if (user_format != nullptr && user_format->name() == name) return user_format->yields();
  return std::ranges::any_of(
      all_formats(), [&](const Format* format) { return format->name == name && format->yields; });
}

}  // namespace

std::shared_ptr<const AnchorTables> AnchorTables::of(
    const std::string& only, const std::shared_ptr<const DescribedFormat>& user_format) {
  if (!only.empty() && yields(only, user_format.get())) return of({}, user_format);
  struct Entry {
    std::weak_ptr<const DescribedFormat> user_format;
    std::shared_ptr<const AnchorTables> tables;
  };
  static std::mutex mutex;
  static std::map<std::pair<std::string, const DescribedFormat*>, Entry> entries;
  const std::lock_guard lock(mutex);
  // An address may be used again once its format is gone.
  std::erase_if(entries, [](const auto& entry) {
    return entry.first.second != nullptr && entry.second.user_format.expired();
  });
  Entry& entry = entries[{only, user_format.get()}];
  if (entry.tables) return entry.tables;
  std::vector<const Format*> formats;
  const std::string_view users_name = user_format ? user_format->name() : std::string_view();
  for (const Format* format : all_formats()) {
    // A user's format takes the place of the built-in one of its name.
    if (format->name == users_name) continue;
    if (only.empty() || format->name == only) formats.push_back(format);
  }
  const bool users = user_format && (only.empty() || only == users_name);
  entry = {user_format,
           std::make_shared<const AnchorTables>(formats, users ? user_format.get() : nullptr)};
  return entry.tables;
}

}  // namespace bertbench
