#include "workloads/bert/data/sequence_source.h"

#include "workloads/bert/data/synthetic.h"
#include "workloads/bert/data/token_file.h"

namespace bert {

Result<std::unique_ptr<SequenceSource>> open_source(const DataOptions& options) {
  if (options.source == "synthetic") return make_synthetic_source(options.seed, options.vocabulary);
  return open_token_file(options.source, options.seed, options.vocabulary, options.hold_out);
}

}  // namespace bert
