#include "workloads/bert/data/sequence_source.h"

#include "workloads/bert/data/synthetic.h"
#include "workloads/bert/data/text_file.h"
#include "workloads/bert/data/token_file.h"

namespace bert {

Result<std::unique_ptr<SequenceSource>> open_source(const DataOptions& options) {
  if (options.source == "synthetic") return make_synthetic_source(options.seed, options.vocabulary);
  const bool tokens = is_token_file(options.source);
  if (tokens && options.whole_words && options.vocabulary_file.empty()) {
    return usage_error(
        "--whole-word-masking: a token file does not say which tokens continue a word: give its "
        "--vocabulary");
  }
  if (tokens && !options.questions) return open_token_file(options);
  return open_text(options);
}

}  // namespace bert
