// Built instead of tcp.cpp where Gloo is not installed.
#include <stdexcept>

#include "workloads/bert/comm/tcp.h"

namespace bert {

std::unique_ptr<Communicator> make_tcp_communicator(const LaunchEnvironment&,
                                                    std::chrono::milliseconds) {
  throw std::runtime_error(
      "this bert_train was built without Gloo: apt-get install libgloo-dev and build again");
}

}  // namespace bert
