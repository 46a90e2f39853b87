#include "workloads/bert/data/sequence_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "workloads/bert/data/examples.h"
#include "workloads/bert/data/random.h"

namespace bert {
namespace {

constexpr std::uint64_t kFileStream = 4;
constexpr char kMagic[9] = "BERTTOK1";

struct Header {
  char magic[8] = {};
  std::uint32_t token_bytes;  // 2 or 4
  std::uint32_t vocabulary;
  std::uint64_t documents;
  std::uint64_t tokens;
};
static_assert(sizeof(Header) == 32);

class Mapping {
 public:
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (data_ != nullptr) {
      munmap(data_, size_);
    }
  }
  // 0 or an errno
  int open(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      return errno;
    }
    struct stat info = {};
    int error = fstat(fd, &info) == 0 ? (S_ISDIR(info.st_mode) ? EISDIR : 0) : errno;
    size_ = static_cast<std::size_t>(info.st_size);
    if (error == 0 && size_ > 0) {
      void* data = mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
      error = data == MAP_FAILED ? errno : 0;
      data_ = data == MAP_FAILED ? nullptr : data;
    }
    ::close(fd);
    return error;
  }
  void hold(std::string bytes) { held_ = std::move(bytes); }
  [[nodiscard]] const char* data() const {
    return data_ != nullptr ? static_cast<const char*>(data_) : held_.data();
  }
  [[nodiscard]] std::size_t size() const { return data_ != nullptr ? size_ : held_.size(); }

 private:
  std::string held_;  ///< in place of a file
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

class TokenFile : public SequenceSource {
 public:
  explicit TokenFile(const DataOptions& options)
      : description_(options.source), seed_(options.seed), hold_out_(options.hold_out) {}

  // Empty, or what is wrong; likewise hold() and check().
  std::string open(const std::string& path, std::int64_t vocabulary) {
    if (const int error = mapping_.open(path); error != 0) {
      return fmt::format("{}", std::strerror(error));
    }
    return check(vocabulary);
  }
  std::string hold(std::string bytes, std::int64_t vocabulary) {
    mapping_.hold(std::move(bytes));
    return check(vocabulary);
  }
  void set_words(WordPiece words) { words_ = std::move(words); }
  void describe(std::string more) { description_ += ", " + std::move(more); }

  std::string check(std::int64_t vocabulary) {
    if (mapping_.size() < sizeof header_) {
      return fmt::format("{} bytes are too few for a header", mapping_.size());
    }
    std::memcpy(&header_, mapping_.data(), sizeof header_);
    if (std::memcmp(header_.magic, kMagic, sizeof header_.magic) != 0) {
      return "does not begin with BERTTOK1";
    }
    if (header_.token_bytes != 2 && header_.token_bytes != 4) {
      return fmt::format("token size {} is neither 2 nor 4", header_.token_bytes);
    }
    if (header_.vocabulary > static_cast<std::uint64_t>(vocabulary)) {
      return fmt::format("its vocabulary {} exceeds the model's {}", header_.vocabulary,
                         vocabulary);
    }
    const std::uint64_t limit = mapping_.size();
    const std::uint64_t body = limit - sizeof header_;
    if (header_.documents == 0 || header_.documents >= body / 8 ||
        header_.tokens > body / header_.token_bytes ||
        (header_.documents + 1) * 8 + header_.tokens * header_.token_bytes != body) {
      return fmt::format(
          "{} documents of {} tokens in all do not fit its size of {} bytes: cut off?",
          header_.documents, header_.tokens, limit);
    }
    if (hold_out_ && header_.documents < 2) {
      return "its one document leaves none to be held out and scored: take a file of several";
    }
    std::string wrong = check_documents();
    if (wrong.empty()) choose_held_out();
    return wrong;
  }

  [[nodiscard]] SegmentPair pair(std::uint64_t index, std::int64_t tokens) const override {
    KeyedRandom random(seed_, kFileStream, index);
    SegmentPair pair;
    pair.is_next = random.below(2) == 0;
    const std::int64_t split = 1 + random.below(tokens - 1);
    // Sampling is by token, so a long document comes in proportion to its length.
    const std::uint64_t at = position(random, index);
    read(at, split, pair.first);
    const std::uint64_t next = pair.is_next ? advance(at, split) : position(random, index);
    read(next, tokens - split, pair.second);
    return pair;
  }

  [[nodiscard]] std::vector<std::int32_t> text(std::uint64_t index,
                                               std::int64_t tokens) const override {
    KeyedRandom random(seed_, kFileStream, index);
    std::vector<std::int32_t> out;
    read(position(random, index), tokens, out);
    return out;
  }

  [[nodiscard]] bool continues_word(std::int32_t token) const override {
    return words_.continues(token);
  }
  [[nodiscard]] std::string description() const override { return description_; }

 private:
  [[nodiscard]] std::uint64_t document_start(std::uint64_t document) const {
    std::uint64_t value = 0;
    std::memcpy(&value, mapping_.data() + sizeof header_ + document * 8, 8);
    return value;
  }

  std::string check_documents() const {
    std::uint64_t last = document_start(0);
    for (std::uint64_t i = 1; i <= header_.documents; ++i) {
      const std::uint64_t start = document_start(i);
      if (start <= last || (i == 1 && last != 0)) {
        return fmt::format("document {} is empty or out of order", i - 1);
      }
      last = start;
    }
    if (last != header_.tokens) {
      return fmt::format("its last document ends at {}, not at its {} tokens", last,
                         header_.tokens);
    }
    for (std::uint64_t i = 0; i < header_.tokens; ++i) {
      if (static_cast<std::uint32_t>(token(i)) >= header_.vocabulary) {
        return fmt::format("token {} is {}, its vocabulary ends at {}", i, token(i),
                           header_.vocabulary);
      }
    }
    return "";
  }

  [[nodiscard]] std::int32_t token(std::uint64_t at) const {
    const char* tokens = mapping_.data() + sizeof header_ + (header_.documents + 1) * 8;
    if (header_.token_bytes == 2) {
      std::uint16_t value = 0;
      std::memcpy(&value, tokens + at * 2, 2);
      return value;
    }
    std::int32_t value = 0;
    std::memcpy(&value, tokens + at * 4, 4);
    return value;
  }

  void choose_held_out() {
    train_end_ = header_.tokens;
    if (!hold_out_) return;
    constexpr std::uint64_t kDocumentsPerHeldOut = 10;  // one document of so many
    const std::uint64_t held = std::max<std::uint64_t>(1, header_.documents / kDocumentsPerHeldOut);
    train_end_ = document_start(header_.documents - held);
  }
  [[nodiscard]] std::uint64_t position(KeyedRandom& random, std::uint64_t index) const {
    const bool held = hold_out_ && index >= static_cast<std::uint64_t>(kHeldOut);
    const std::uint64_t begin = held ? train_end_ : 0;
    const std::uint64_t end = held ? header_.tokens : train_end_;
    return begin + static_cast<std::uint64_t>(random.below(static_cast<std::int64_t>(end - begin)));
  }
  [[nodiscard]] std::uint64_t document_of(std::uint64_t at) const {
    std::uint64_t low = 0, high = header_.documents;
    while (high - low > 1) {
      const std::uint64_t middle = (low + high) / 2;
      (document_start(middle) <= at ? low : high) = middle;
    }
    return low;
  }
  // Text runs on inside its document and wraps to the document's beginning.
  [[nodiscard]] std::uint64_t advance(std::uint64_t at, std::int64_t count) const {
    const std::uint64_t document = document_of(at);
    const std::uint64_t start = document_start(document);
    const std::uint64_t size = document_start(document + 1) - start;
    return start + (at - start + static_cast<std::uint64_t>(count)) % size;
  }
  void read(std::uint64_t at, std::int64_t count, std::vector<std::int32_t>& out) const {
    const std::uint64_t document = document_of(at);
    const std::uint64_t start = document_start(document);
    const std::uint64_t end = document_start(document + 1);
    out.resize(static_cast<std::size_t>(count));
    for (std::int32_t& value : out) {
      value = token(at);
      at = at + 1 == end ? start : at + 1;
    }
  }

  std::string description_;
  WordPiece words_;  ///< without tokens where no vocabulary is known
  std::uint64_t seed_;
  bool hold_out_;
  std::uint64_t train_end_ = 0;  ///< tokens before the documents that are held out
  Mapping mapping_;
  Header header_ = {};
};

/// The file begins as a token file does.
bool is_token_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  char magic[8] = {};
  return in.read(magic, sizeof magic) && std::memcmp(magic, kMagic, sizeof magic) == 0;
}

}  // namespace

Result<std::unique_ptr<SequenceSource>> open_token_file(const DataOptions& options) {
  auto file = std::make_unique<TokenFile>(options);
  const std::string wrong = file->open(options.source, options.vocabulary);
  if (!wrong.empty()) {
    return usage_error(
        fmt::format("--data {}: {}; make a token file with workloads/bert/data/make_tokens.py",
                    options.source, wrong));
  }
  if (!options.vocabulary_file.empty()) {
    auto words = WordPiece::read(options.vocabulary_file, options.vocabulary);
    if (!words) return tl::unexpected(words.error());
    file->set_words(std::move(*words));
  }
  return file;
}

std::string token_file_of(std::string_view text, const WordPiece& words) {
  std::vector<std::int32_t> tokens;
  std::vector<std::uint64_t> starts{0};
  const auto end_document = [&] {
    if (tokens.size() > starts.back()) starts.push_back(tokens.size());
  };
  while (!text.empty()) {
    const auto pieces = words.pieces(take_line(text));
    if (pieces.empty()) end_document();
    for (const Piece& piece : pieces) tokens.push_back(piece.token);
  }
  end_document();
  if (tokens.empty()) return "";
  Header header = {.token_bytes = sizeof tokens[0],
                   .vocabulary = static_cast<std::uint32_t>(words.size()),
                   .documents = starts.size() - 1,
                   .tokens = tokens.size()};
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  std::string out;
  const auto append = [&](const void* bytes, std::size_t size) {
    out.append(static_cast<const char*>(bytes), size);
  };
  append(&header, sizeof header);
  append(starts.data(), starts.size() * sizeof starts[0]);
  append(tokens.data(), tokens.size() * sizeof tokens[0]);
  return out;
}

namespace {

/// The same as open_token_file() of bytes in memory, which `words` made of options.source.
Result<std::unique_ptr<SequenceSource>> open_token_bytes(std::string bytes,
                                                         const DataOptions& options,
                                                         WordPiece words,
                                                         const std::string& vocabulary_text) {
  auto file = std::make_unique<TokenFile>(options);
  const std::string wrong = file->hold(std::move(bytes), options.vocabulary);
  if (!wrong.empty()) return usage_error(fmt::format("--data {}: {}", options.source, wrong));
  file->set_words(std::move(words));
  file->describe(vocabulary_text);
  return file;
}

/// Text is held in memory, and its tokens too; a token file of any size is mapped.
constexpr std::int64_t kLargestText = std::int64_t{1} << 30;

Result<std::string> whole_text(const std::string& path) {
  const auto wrong = [&](const std::string& what) {
    return usage_error(fmt::format("--data {}: {}", path, what));
  };
  std::ifstream in(path, std::ios::binary);
  struct stat info {};
  if (!in || stat(path.c_str(), &info) != 0) return wrong(std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return wrong(std::strerror(EISDIR));
  if (info.st_size > kLargestText) {
    return wrong(
        "more than 1 GiB of text is not held in memory: make a token file with "
        "workloads/bert/data/make_tokens.py");
  }
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.gcount() != static_cast<std::streamsize>(text.size())) return wrong("cannot be read");
  if (text.find('\0') != text.npos) {
    return wrong("is neither a token file, which begins with BERTTOK1, nor text");
  }
  return text;
}

bool exists(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0;
}

/// Given, or learnt from `text` and written where a name is given.
Result<WordPiece> vocabulary_of(const DataOptions& options, std::string_view text) {
  const std::string& path = options.vocabulary_file;
  if (!path.empty() && exists(path)) return WordPiece::read(path, options.vocabulary);
  WordPiece words = WordPiece::learn(text, options.vocabulary);
  if (!path.empty() && options.writes_vocabulary) {
    if (auto written = words.write(path); !written) return tl::unexpected(written.error());
  }
  return words;
}

std::string vocabulary_text(const DataOptions& options, const WordPiece& words) {
  return fmt::format("WordPiece vocabulary of {} tokens{}", words.size(),
                     options.vocabulary_file.empty() ? ", learnt" : "");
}

/// Data of people's own: text, and labelled sequences, by a WordPiece vocabulary. What kind of file
/// `options.source` is follows from the task and its first bytes; see data/README.md. An error
/// names the file, what is wrong with it, where, and what to do.
Result<std::unique_ptr<SequenceSource>> open_text(const DataOptions& options) {
  auto text = whole_text(options.source);
  if (!text) return tl::unexpected(text.error());
  std::optional<LabelledText> labelled;
  if (options.questions || (options.hold_out && is_labelled_table(*text))) {
    auto read = options.questions ? read_squad(*text) : read_labelled_table(*text);
    if (!read) {
      return usage_error(fmt::format("--data {}: {}", options.source, read.error().message));
    }
    labelled = std::move(*read);
  }
  auto words = vocabulary_of(options, labelled ? labelled->all_text() : std::string_view(*text));
  if (!words) return tl::unexpected(words.error());
  const std::string made = vocabulary_text(options, *words);
  if (labelled) return make_example_source(options, *labelled, *words, made);
  const std::string tokens = token_file_of(*text, *words);
  if (tokens.empty()) {
    return usage_error(fmt::format("--data {}: holds no words of UTF-8 text", options.source));
  }
  return open_token_bytes(tokens, options, std::move(*words), made);
}

constexpr std::uint64_t kTextStream = 3;
constexpr std::int64_t kTopics = 64;
constexpr std::int64_t kTopicWords = 64;

// Ranks 0, 1, 2, ... with probability proportional to 1 / (rank + 1).
class Zipf {
 public:
  explicit Zipf(std::int64_t size) : cumulative_(static_cast<std::size_t>(size)) {
    double sum = 0;
    for (std::size_t i = 0; i < cumulative_.size(); ++i) {
      cumulative_[i] = sum += 1.0 / static_cast<double>(i + 1);
    }
  }
  [[nodiscard]] std::int64_t draw(double uniform) const {
    const auto found =
        std::upper_bound(cumulative_.begin(), cumulative_.end(), uniform * cumulative_.back());
    return std::min<std::int64_t>(found - cumulative_.begin(),
                                  static_cast<std::int64_t>(cumulative_.size()) - 1);
  }

 private:
  std::vector<double> cumulative_;
};

class SyntheticSource : public SequenceSource {
 public:
  SyntheticSource(std::uint64_t seed, std::int64_t vocabulary)
      : seed_(seed),
        first_(std::min<std::int64_t>(SpecialTokens::kFirstOrdinary, vocabulary / 2)),
        words_(vocabulary - first_),
        common_(words_),
        topic_words_(std::min(kTopicWords, words_)) {}

  [[nodiscard]] SegmentPair pair(std::uint64_t index, std::int64_t tokens) const override {
    KeyedRandom random(seed_, kTextStream, index);
    SegmentPair pair;
    pair.is_next = random.below(2) == 0;
    const std::int64_t topic = random.below(kTopics);
    const std::int64_t other =
        pair.is_next ? topic : (topic + 1 + random.below(kTopics - 1)) % kTopics;
    const std::int64_t split = 1 + random.below(tokens - 1);
    fill(random, topic, split, pair.first);
    fill(random, other, tokens - split, pair.second);
    return pair;
  }

  [[nodiscard]] std::vector<std::int32_t> text(std::uint64_t index,
                                               std::int64_t tokens) const override {
    KeyedRandom random(seed_, kTextStream, index);
    std::vector<std::int32_t> out;
    const std::int64_t topic = random.below(kTopics);
    fill(random, topic, tokens, out);
    return out;
  }

  [[nodiscard]] std::string description() const override { return "synthetic"; }

 private:
  void fill(KeyedRandom& random, std::int64_t topic, std::int64_t count,
            std::vector<std::int32_t>& out) const {
    out.resize(static_cast<std::size_t>(count));
    for (std::int32_t& token : out) {
      const bool of_topic = random.below(2) == 0;
      const double uniform = random.uniform();
      const std::int64_t word = of_topic
                                    ? (topic * kTopicWords + topic_words_.draw(uniform)) % words_
                                    : common_.draw(uniform);
      token = static_cast<std::int32_t>(first_ + word);
    }
  }

  std::uint64_t seed_;
  std::int64_t first_;
  std::int64_t words_;
  Zipf common_;
  Zipf topic_words_;
};

}  // namespace

std::unique_ptr<SequenceSource> make_synthetic_source(std::uint64_t seed, std::int64_t vocabulary) {
  return std::make_unique<SyntheticSource>(seed, vocabulary);
}

std::optional<Lengths> lengths_named(std::string_view name) {
  if (name == "full") return Lengths::full;
  if (name == "uniform") return Lengths::uniform;
  if (name == "wikipedia") return Lengths::wikipedia;
  return std::nullopt;
}

Result<std::unique_ptr<SequenceSource>> open_source(const DataOptions& options) {
  if (options.source == "synthetic") return make_synthetic_source(options.seed, options.vocabulary);
  const bool tokens = is_token_file(options.source);
  if (tokens && options.whole_words && options.vocabulary_file.empty()) {
    return usage_error(
        "--whole-word-masking: a token file does not state which tokens continue a word: give its "
        "--vocabulary");
  }
  if (tokens && !options.questions) return open_token_file(options);
  return open_text(options);
}

}  // namespace bert
