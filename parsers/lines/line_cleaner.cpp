#include "parsers/lines/line_cleaner.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "parsers/core/text.h"
#include "parsers/lines/decimal.h"
#include "parsers/lines/decoration.h"

namespace bertbench {
namespace {

constexpr char kEscape = '\x1b';

// End of the sequence that begins with the ESC at `at`; text.size() when it is cut.
std::size_t end_of_sequence(std::string_view text, std::size_t at) {
  std::size_t i = at + 1;
  if (i >= text.size()) return text.size();
  if (text[i] == '[') {
    for (++i; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c >= 0x40 && c <= 0x7e) return i + 1;
      if (c < 0x20 || c > 0x3f) return i;  // not a CSI after all
    }
    return text.size();
  }
  if (text[i] == ']') {
    for (++i; i < text.size(); ++i) {
      if (text[i] == '\a') return i + 1;
      if (text[i] == kEscape) return i + 1 < text.size() && text[i + 1] == '\\' ? i + 2 : i;
    }
    return text.size();
  }
  return i + 1;
}

// "Thu Jun  9 09:15:21 2022" at the end of `text` is 24 bytes long.
std::string_view without_trailing_date(std::string_view text) {
  constexpr std::size_t kLength = 24;
  if (text.size() < kLength) return text;
  const std::string_view date = text.substr(text.size() - kLength);
  const bool looks = date[3] == ' ' && date[7] == ' ' && date[10] == ' ' && date[13] == ':' &&
                     date[16] == ':' && date[19] == ' ' && is_digit(date[20]) && is_digit(date[23]);
  return looks ? text.substr(0, text.size() - kLength) : text;
}

std::optional<int> small_int(std::string_view digits) {
  const auto value = to_int(digits);
  if (!value || *value < 0 || *value > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(*value);
}

struct MpirunLabel {
  std::size_t begin = 0, end = 0;
  int rank = -1;
};

// "1,3" of mpirun, "prterun-n1-42@1,3" of Open MPI 5, "1,mpirank:3,algo-1" of SageMaker, "3" of
// horovodrun: the rank.
std::optional<int> rank_in_label(std::string_view inside) {
  const auto comma = inside.find(',');
  if (comma == std::string_view::npos) return small_int(inside);
  const std::string_view job = inside.substr(0, comma);
  std::string_view rank = inside.substr(comma + 1);
  if (!small_int(job.substr(job.rfind('@') + 1))) return std::nullopt;
  constexpr std::string_view kMpirank = "mpirank:";
  if (rank.starts_with(kMpirank)) {
    rank = rank.substr(kMpirank.size(), rank.find(',') - kMpirank.size());
  }
  return small_int(rank);
}

std::optional<MpirunLabel> next_mpirun_label(std::string_view text, std::size_t from) {
  for (std::size_t hit = text.find("]<std", from); hit != std::string_view::npos;
       hit = text.find("]<std", hit + 1)) {
    const auto open = text.rfind('[', hit);
    if (open == std::string_view::npos || open < from) continue;
    const auto rank = rank_in_label(text.substr(open + 1, hit - open - 1));
    const auto close = text.find(">:", hit);
    if (!rank || close == std::string_view::npos || close > hit + 12) continue;
    return MpirunLabel{open, close + 2, *rank};
  }
  return std::nullopt;
}

constexpr std::string_view kBoxMarks[] = {"│", "║", "┃"};

bool may_have_label(std::string_view text) {
  return text[0] == kBoxMarks[0][0] || text[0] == '[' || text[0] == ' ' || text[0] == '(' ||
         text[0] == '#' || is_digit(text[0]);
}

// Leading labels, by one launcher inside another ("localhost: [rank1]: " is left to pdsh).
Piece without_front_labels(Piece piece) {
  constexpr std::size_t kRankDigits = 6;  // at most: "[1715700019] " is a time since 1970
  piece.text = without_transport(piece.text, &piece.whole);
  for (int round = 0; round < 2; ++round) {
    const std::string_view text = piece.text;
    if (text.empty() || !may_have_label(text)) return piece;
    std::size_t blank = 0;
    while (blank < text.size() && blank < 6 && text[blank] == ' ') ++blank;
    const std::size_t digits = digits_after(text, blank) - blank;
    if (digits > 0 && digits <= kRankDigits && text.substr(blank + digits).starts_with(": ")) {
      piece.rank = small_int(text.substr(blank, digits)).value_or(-1);
      if (piece.whole.empty()) piece.whole = text.substr(blank);
      piece.text = text.substr(blank + digits + 2);
      continue;
    }
    if (text[0] != '[') return piece;
    std::size_t word = 1;
    while (word < text.size() && is_letter(text[word])) ++word;
    const std::string label = lower(text.substr(1, word - 1));
    const bool by_loop = label == "rank" || label == "gpu";  // "[rank 3] ", "[GPU0] "
    if (by_loop && word < text.size() && text[word] == ' ') ++word;
    const std::size_t n = digits_after(text, word) - word;
    const std::string_view after = n > 0 ? text.substr(word + n) : std::string_view{};
    const bool torch =
        !label.empty() && (after.starts_with("]:") || (by_loop && after.starts_with("] ")));
    const bool intel = label.empty() && n <= kRankDigits && after.starts_with("] ");
    if (!torch && !intel) return piece;
    piece.rank = small_int(text.substr(word, n)).value_or(-1);
    piece.text = after.substr(2);
    if (torch && piece.text.starts_with(' ')) piece.text.remove_prefix(1);
  }
  return piece;
}

}  // namespace

std::string_view strip_ansi(std::string_view text, std::string& buffer) {
  std::size_t at = text.find(kEscape);
  if (at == std::string_view::npos) return text;
  buffer.clear();
  std::size_t from = 0;
  while (at != std::string_view::npos) {
    buffer.append(text.substr(from, at - from));
    from = end_of_sequence(text, at);
    at = text.find(kEscape, from);
  }
  if (from < text.size()) buffer.append(text.substr(from));
  return buffer;
}

void split_by_launcher(std::string_view line, std::vector<Piece>& pieces) {
  pieces.clear();
  int rank = -1;
  std::size_t from = 0;
  // Keras 3 takes a bar back by backspaces before it draws it again.
  const auto put = [&](std::string_view text) {
    while (!text.empty()) {
      const std::string_view part = text.substr(0, text.find('\b'));
      if (!part.empty()) {
        pieces.push_back(without_front_labels({part, rank, part.size() < text.size()}));
      }
      text.remove_prefix(std::min(text.size(), part.size() + 1));
    }
  };
  while (const auto label = next_mpirun_label(line, from)) {
    put(without_trailing_date(line.substr(from, label->begin - from)));
    rank = label->rank;
    from = label->end;
  }
  put(line.substr(from));
}

namespace {

// No ESC and no "]<": nearly every line, so both are looked for in one pass.
bool plain_portable(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kEscape || (text[i] == '<' && i > 0 && text[i - 1] == ']')) return false;
  }
  return true;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) bool plain_avx2(std::string_view text) {
  const __m256i escape = _mm256_set1_epi8(kEscape);
  const __m256i close = _mm256_set1_epi8(']'), less = _mm256_set1_epi8('<');
  const char* p = text.data();
  const auto odd_at = [&](std::size_t i) __attribute__((target("avx2"))) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i));
    const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i + 1));
    const __m256i label = _mm256_and_si256(_mm256_cmpeq_epi8(x, close), _mm256_cmpeq_epi8(y, less));
    const __m256i odd = _mm256_or_si256(_mm256_cmpeq_epi8(x, escape), label);
    return _mm256_movemask_epi8(odd) != 0;
  };
  constexpr std::size_t kNeeded = 33;  // bytes that one step looks at
  std::size_t i = 0;
  for (; i + kNeeded <= text.size(); i += 32) {
    if (odd_at(i)) return false;
  }
  // The last step may look at some bytes twice.
  if (i > 0) return !odd_at(text.size() - kNeeded) && text.back() != kEscape;
  return plain_portable(text);
}
#endif

bool is_plain(std::string_view text) {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2") > 0;
  if (avx2) return plain_avx2(text);
#endif
  return plain_portable(text);
}

/// What a program printed, of a line in a notebook's file, `      "Epoch 1/5\n",`: a text in a list
/// that is a whole line of an output or of the code. What a bar took back is a piece of its own.
std::optional<std::string> printed_in_notebook(std::string_view text) {
  if (text.empty() || text[0] != ' ') return std::nullopt;
  text = trim(text);
  if (text.ends_with(',')) text.remove_suffix(1);
  if (!text.starts_with('"') || !(text.ends_with("\\n\"") || text.ends_with("\\r\""))) {
    return std::nullopt;
  }
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_string()) return std::nullopt;
  auto printed = json.get<std::string>();
  if (printed.ends_with('\n')) printed.pop_back();
  if (printed.find('\n') != std::string::npos) return std::nullopt;
  std::ranges::replace(printed, '\r', '\b');
  return printed;
}

// Where the record after the first begins in a line that holds several without anything between:
// "epoch 1 | loss: 5.40 | 0.75sepoch 1 | loss: 5.30 | 0.74s". A record begins with words and a
// number, the next one with the same words and what stands after the number, right after a letter,
// a digit or a closing mark. "Epoch 1:  9%|# | 4/45 [00:03<00:31]Epoch 1, step 4: loss 0.3" is one.
// Lines below `shortest`, as nearly all are, hold one record.
constexpr std::size_t kShortestRecord = 16, kShortestOfSeveral = 96;  // bytes
std::size_t end_of_record(std::string_view text, std::size_t shortest = kShortestOfSeveral) {
  constexpr std::size_t kShortestHead = 4, kLongestHead = 40, kAfterNumber = 3;  // bytes
  if (text.size() < shortest) return text.size();
  std::size_t n = 0, letters = 0;
  for (; n < kLongestHead && !is_digit(text[n]); ++n) letters += is_letter(text[n]) ? 1 : 0;
  if (n < kShortestHead || n == kLongestHead || letters < 2 || is_letter(text[n - 1])) {
    return text.size();
  }
  const std::string_view head = text.substr(0, n);
  const auto after_number = [&](std::size_t at) {
    const std::size_t end = digits_after(text, at + n);
    return end > at + n ? text.substr(end, kAfterNumber) : std::string_view();
  };
  const auto begins_at = [&](std::size_t at) {
    constexpr std::string_view kClosing = ")]}%.";
    const char before = text[at - 1];
    return (is_letter(before) || is_digit(before) || kClosing.find(before) != kClosing.npos) &&
           after_number(at) == after_number(0);
  };
  for (std::size_t at = text.find(head, kShortestRecord); at < text.size();
       at = text.find(head, at + 1)) {
    if (begins_at(at)) return at;
  }
  return text.size();
}

// Parts each piece into its records.
void split_records(std::vector<Piece>& pieces) {
  const auto whole = [](const Piece& piece) {
    return end_of_record(piece.text) == piece.text.size();
  };
  if (std::ranges::all_of(pieces, whole)) return;
  std::vector<Piece> records;
  for (Piece piece : pieces) {
    const auto next = [&] { return end_of_record(piece.text, 2 * kShortestRecord); };
    for (std::size_t end = next(); end < piece.text.size(); end = next()) {
      records.push_back({piece.text.substr(0, end), piece.rank, false, piece.whole});
      piece.text.remove_prefix(end);
      piece.whole = {};
    }
    records.push_back(piece);
  }
  pieces = std::move(records);
}

/// "│     1 │   2.5346 │" of rich and other programs that draw boxes, "100 │ loss 2.5 │ 14.0 it/s".
bool is_box_row(std::string_view text) {
  // The second byte of these marks, which the blocks of a bar do not have.
  const auto has = [&](char byte) { return text.find(byte) != std::string_view::npos; };
  if (!has('\x94') && !has('\x95')) return false;
  return std::ranges::any_of(kBoxMarks, [&](std::string_view mark) {
    const auto at = text.find(mark);
    return at != std::string_view::npos && (at == 0 || text[at - 1] == ' ');
  });
}

}  // namespace

bool is_bare(std::string_view text) {
  return !text.empty() && !may_have_label(text) && end_of_record(text) == text.size() &&
         is_plain(text) && !is_box_row(text);
}

/// Each mark becomes "|" and blanks, as many bytes as it has: columns stay where they are.
void put_plain_marks(std::string& text) {
  for (const std::string_view mark : kBoxMarks) {
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
      text.replace(at, mark.size(), "|  ");
    }
  }
}

void clean_line(std::string_view text, std::string& buffer, std::vector<Piece>& pieces) {
  if (is_box_row(text)) {
    const std::string_view stripped = strip_ansi(text, buffer);
    if (stripped.data() == text.data()) buffer = text;
    put_plain_marks(buffer);
    split_by_launcher(buffer, pieces);
  } else if (auto printed = printed_in_notebook(text)) {
    const std::string_view stripped = strip_ansi(*printed, buffer);
    if (stripped.data() == printed->data()) buffer = std::move(*printed);
    split_by_launcher(buffer, pieces);
  } else if (!is_plain(text)) {
    split_by_launcher(strip_ansi(text, buffer), pieces);
  } else {
    pieces.clear();
    if (!text.empty()) pieces.push_back(without_front_labels({text, -1, false}));
  }
  split_records(pieces);
}

std::string_view after_host_label(std::string_view text) {
  constexpr std::size_t kLongest = 253;  // of a host's name, and of a pod's
  std::size_t i = 0;
  while (i < text.size() && i < kLongest &&
         (is_digit(text[i]) || (text[i] >= 'a' && text[i] <= 'z') ||
          (text[i] >= 'A' && text[i] <= 'Z') || text[i] == '-' || text[i] == '.' ||
          text[i] == '_')) {
    ++i;
  }
  return i > 0 && text.substr(i).starts_with(": ") ? text.substr(i + 2) : std::string_view{};
}

std::string_view without_host_and_rank(std::string_view text) {
  const std::string_view message = after_host_label(text);
  return message.starts_with("[rank") ? without_front_labels({message, -1, false}).text : text;
}

}  // namespace bertbench
