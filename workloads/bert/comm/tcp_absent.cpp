// Built instead of tcp.cpp where Gloo is not installed.
#include <stdexcept>

#include "workloads/bert/comm/make_communicator.h"

namespace bert {

namespace {
constexpr const char* kAbsent =
    "this bert_train was built without Gloo: apt-get install libgloo-dev and build again";
}

std::unique_ptr<Communicator> make_tcp_communicator(const LaunchEnvironment&,
                                                    std::chrono::milliseconds) {
  throw std::runtime_error(kAbsent);
}
std::unique_ptr<Communicator> make_tcp_communicator(const LaunchEnvironment&,
                                                    std::unique_ptr<Rendezvous>) {
  throw std::runtime_error(kAbsent);
}

}  // namespace bert
