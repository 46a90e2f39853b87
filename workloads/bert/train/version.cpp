#include "workloads/bert/train/version.h"

#include "git_commit.h"

namespace bert {

std::string version_number() { return BERT_VERSION; }
std::string version_commit() { return BB_GIT_COMMIT; }
std::string version_compiler() { return BERT_COMPILER; }
std::string version_text() {
  return "bert_train " + version_number() + " (" + version_commit() + ", " + version_compiler() +
         ")";
}

}  // namespace bert
