// The CPU backend of a build without oneDNN.
#include "workloads/bert/core/module.h"
#include "workloads/bert/cpu/cpu_backend.h"

namespace bert {

std::unique_ptr<Backend> make_cpu_backend(const BackendOptions&, CpuPrecision) {
  throw NoDevice(
      "--backend cpu: this bert_train was built without oneDNN (apt-get install libdnnl-dev and "
      "build again, or use --backend cuda)");
}

}  // namespace bert
