#include "workloads/bert/data/word_piece.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "workloads/bert/data/sequence_source.h"

namespace bert {
namespace {

constexpr std::size_t kLongestWord = 100;  // characters, as in BERT's tokenizer
/// Bytes of a line of a vocabulary file: more is another kind of file.
constexpr std::size_t kLongestToken = 1000;

struct Special {
  std::int32_t number;
  const char* token;
};
constexpr Special kSpecial[] = {{SpecialTokens::kPad, "[PAD]"},
                                {SpecialTokens::kUnknown, "[UNK]"},
                                {SpecialTokens::kCls, "[CLS]"},
                                {SpecialTokens::kSep, "[SEP]"},
                                {SpecialTokens::kMask, "[MASK]"}};

/// A character of UTF-8 and its bytes; code 0 where the byte at `at` begins none.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
};

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + bytes > text.size()) return {};
  std::uint32_t code = first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(at + i) & 0x3fU);
  }
  constexpr std::uint32_t kSmallestByBytes[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallestByBytes[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    return {};
  return {code, bytes};
}

bool is_space(std::uint32_t c) {
  // Control characters and what is no character stand between words as well.
  return c <= 0x20 || (c >= 0x7f && c <= 0xa0) || c == 0xad || (c >= 0x2000 && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202f) || c == 0x205f || c == 0x3000 || c == 0xfeff || c == 0xfffd;
}

/// A word of its own: punctuation, and ideographs, which are written without white space.
bool is_single(std::uint32_t c) {
  return (c >= 0x21 && c <= 0x2f) || (c >= 0x3a && c <= 0x40) || (c >= 0x5b && c <= 0x60) ||
         (c >= 0x7b && c <= 0x7e) ||
         (c >= 0xa1 && c <= 0xbf && c != 0xaa && c != 0xb5 && c != 0xba) ||
         (c >= 0x2010 && c <= 0x205e) || (c >= 0x3001 && c <= 0x303f) ||
         (c >= 0x3400 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) ||
         (c >= 0xff01 && c <= 0xff0f) || (c >= 0x20000 && c <= 0x2ffff);
}

/// see(begin, end) for each word of the text.
template <class See>
void each_word(std::string_view text, const See& see) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    const bool space = is_space(c.code);
    if (space || is_single(c.code)) {
      if (begin < at) see(begin, at);
      if (!space) see(at, at + c.bytes);
      begin = at + c.bytes;
    }
    at += c.bytes;
  }
  if (begin < text.size()) see(begin, text.size());
}

std::string word_of(std::string_view text, bool lower_case) {
  std::string word(text);
  if (lower_case) {
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return word;
}

bool has_capital(const std::string& token) {
  return !token.starts_with("[") &&
         std::ranges::any_of(token, [](char c) { return c >= 'A' && c <= 'Z'; });
}

/// Learning: words as numbers of pieces, and which words hold a pair.
class Learner {
 public:
  explicit Learner(std::string_view text) {
    std::map<std::string, std::int64_t> counts;  // sorted: the result depends on the text alone
    each_word(text, [&](std::size_t begin, std::size_t end) {
      ++counts[word_of(text.substr(begin, end - begin), true)];
    });
    std::set<std::string> characters;
    for (const auto& [word, count] : counts) {
      each_character(word, [&](const std::string& piece) { characters.insert(piece); });
    }
    for (const auto& piece : characters) add(piece);
    for (const auto& [word, count] : counts) {
      Word& own = words_.emplace_back();
      own.count = count;
      each_character(word,
                     [&](const std::string& piece) { own.pieces.push_back(numbers_.at(piece)); });
    }
    for (std::size_t i = 0; i < words_.size(); ++i) count_pairs(i, 1);
    for (const auto& [pair, count] : pairs_) queue_.push({count, pair});
  }

  /// The pieces in the order in which they were found, at most `most`.
  std::vector<std::string> run(std::size_t most) {
    while (pieces_.size() < most && !queue_.empty()) {
      const auto [count, pair] = queue_.top();
      queue_.pop();
      const auto current = pairs_.find(pair);
      if (current == pairs_.end()) continue;
      if (current->second != count) {  // it has fallen since
        queue_.push({current->second, pair});
        continue;
      }
      if (count < 2) break;
      join(pair);
    }
    if (pieces_.size() > most) pieces_.resize(most);
    return std::move(pieces_);
  }

 private:
  using Pair = std::pair<std::int32_t, std::int32_t>;
  struct Word {
    std::vector<std::int32_t> pieces;
    std::int64_t count = 0;
  };
  struct Queued {
    std::int64_t count;
    Pair pair;
    /// The most frequent first; of equals the one whose pieces were found first.
    bool operator<(const Queued& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  template <class See>
  static void each_character(const std::string& word, const See& see) {
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t bytes = character_at(word, at).bytes;
      see((at == 0 ? "" : "##") + word.substr(at, bytes));
      at += bytes;
    }
  }

  std::int32_t add(const std::string& piece) {
    const auto [at, fresh] = numbers_.emplace(piece, static_cast<std::int32_t>(pieces_.size()));
    if (fresh) pieces_.push_back(piece);
    return at->second;
  }

  void count_pairs(std::size_t word, int sign) {
    const Word& own = words_[word];
    for (std::size_t i = 0; i + 1 < own.pieces.size(); ++i) {
      const Pair pair{own.pieces[i], own.pieces[i + 1]};
      pairs_[pair] += sign * own.count;
      if (sign > 0) holders_[pair].insert(word);
    }
  }

  void join(const Pair& pair) {
    const std::string& second = pieces_[static_cast<std::size_t>(pair.second)];
    const std::int32_t joined =
        add(pieces_[static_cast<std::size_t>(pair.first)] + second.substr(2));
    const std::set<std::size_t> words = std::move(holders_[pair]);
    holders_.erase(pair);
    std::set<Pair> changed;
    for (const std::size_t word : words) {
      count_pairs(word, -1);
      auto& pieces = words_[word].pieces;
      std::size_t to = 0;
      for (std::size_t from = 0; from < pieces.size(); ++from, ++to) {
        const bool here = from + 1 < pieces.size() && pieces[from] == pair.first &&
                          pieces[from + 1] == pair.second;
        pieces[to] = here ? joined : pieces[from];
        if (here) ++from;
      }
      pieces.resize(to);
      count_pairs(word, 1);
      // Pairs with the new piece have a count to be queued; of others it can only have fallen.
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
        if (pieces[i] == joined || pieces[i + 1] == joined) {
          changed.insert({pieces[i], pieces[i + 1]});
        }
      }
    }
    pairs_.erase(pair);
    for (const Pair& one : changed) queue_.push({pairs_[one], one});
  }

  std::vector<std::string> pieces_;
  std::map<std::string, std::int32_t> numbers_;
  std::vector<Word> words_;
  std::map<Pair, std::int64_t> pairs_;
  std::map<Pair, std::set<std::size_t>> holders_;
  std::priority_queue<Queued> queue_;
};

}  // namespace

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

void WordPiece::number_tokens() {
  numbers_.clear();
  longest_ = 0;
  lower_case_ = std::ranges::none_of(tokens_, has_capital);
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    numbers_.emplace(tokens_[i], static_cast<std::int32_t>(i));
    longest_ = std::max(longest_, tokens_[i].size());
  }
}

Result<WordPiece> WordPiece::read(const std::string& path, std::int64_t most) {
  const auto wrong = [&](const std::string& what) {
    return usage_error(fmt::format(
        "--vocabulary {}: {}; give a file of a token a line, as BERT's vocab.txt", path, what));
  };
  std::ifstream in(path, std::ios::binary);
  if (!in) return wrong(std::strerror(errno));
  WordPiece out;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.size() > kLongestToken) {
      return wrong(fmt::format("line {} is longer than {} bytes", out.size() + 1, kLongestToken));
    }
    if (out.size() == most) {
      return wrong(fmt::format("it has more tokens than the model's {}", most));
    }
    out.tokens_.push_back(std::move(line));
  }
  if (in.bad()) return wrong("cannot be read");
  out.number_tokens();
  for (const Special& special : kSpecial) {
    const auto found = out.numbers_.find(special.token);
    if (found == out.numbers_.end() || found->second != special.number) {
      return wrong(fmt::format("{} must be its token {}, on line {}", special.token, special.number,
                               special.number + 1));
    }
  }
  return out;
}

WordPiece WordPiece::learn(std::string_view text, std::int64_t most) {
  WordPiece out;
  for (std::int32_t i = 0; i < SpecialTokens::kFirstOrdinary; ++i) {
    out.tokens_.push_back(fmt::format("[unused{}]", i));
  }
  for (const Special& special : kSpecial) {
    out.tokens_[static_cast<std::size_t>(special.number)] = special.token;
  }
  const std::int64_t room = std::max<std::int64_t>(0, most - out.size());
  auto pieces = Learner(text).run(static_cast<std::size_t>(room));
  std::ranges::move(pieces, std::back_inserter(out.tokens_));
  out.number_tokens();
  return out;
}

Result<void> WordPiece::write(const std::string& path) const {
  const std::string part = fmt::format("{}.{}.part", path, getpid());
  std::ofstream file(part, std::ios::binary);
  for (const std::string& token : tokens_) file << token << '\n';
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(part.c_str());
    return run_error(
        fmt::format("--vocabulary {}: cannot be written: {}", path, std::strerror(error)));
  }
  return {};
}

std::vector<Piece> WordPiece::pieces(std::string_view text) const {
  std::vector<Piece> out;
  std::string piece;
  each_word(text, [&](std::size_t begin, std::size_t end) {
    const std::string word = word_of(text.substr(begin, end - begin), lower_case_);
    const auto first = out.size();
    std::size_t characters = 0;
    for (std::size_t at = 0; at < word.size(); at += character_at(word, at).bytes) ++characters;
    bool whole = characters <= kLongestWord;
    for (std::size_t at = 0; at < word.size() && whole;) {
      const std::string_view mark = at == 0 ? "" : "##";
      std::size_t bytes = std::min(word.size() - at, longest_);
      const auto known = [&] {
        piece.assign(mark).append(word, at, bytes);
        return numbers_.find(piece);
      };
      auto found = known();
      while (found == numbers_.end() && bytes > 1) {
        --bytes;
        found = known();
      }
      whole = found != numbers_.end();
      if (whole) out.push_back({found->second, begin + at, begin + at + bytes});
      at += bytes;
    }
    if (whole) return;
    out.resize(first);
    out.push_back({SpecialTokens::kUnknown, begin, end});
  });
  return out;
}

}  // namespace bert
