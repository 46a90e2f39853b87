#include "workloads/bert/data/text_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "workloads/bert/data/examples.h"
#include "workloads/bert/data/token_file.h"

namespace bert {
namespace {

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

}  // namespace

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

}  // namespace bert
