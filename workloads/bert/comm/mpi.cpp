// bert_mpi.so, the mpi communicator: collectives of the MPI library that started the job. Every
// collective is a non-blocking one that is asked whether it is done, because a blocking one waits
// for ever for a peer that hangs.
#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>

#include "workloads/bert/core/module.h"

namespace bert {
namespace {

using Clock = std::chrono::steady_clock;

// MPI counts in int.
constexpr std::size_t kMostElements = std::size_t{1} << 30;

std::string text_of(int error) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(const LaunchEnvironment& environment, std::chrono::milliseconds timeout)
      : timeout_(timeout) {
    int ready = 0;
    MPI_Initialized(&ready);
    if (ready == 0) {
      // One thread at a time calls us, not always the same one.
      int provided = MPI_THREAD_SINGLE;
      if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
          provided < MPI_THREAD_SERIALIZED) {
        throw NoDevice("this MPI library has no MPI_THREAD_SERIALIZED: use --comm tcp");
      }
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    if (rank_ != environment.rank || size_ != environment.world_size) {
      throw std::runtime_error(
          fmt::format("MPI gives rank {} of {}, the variables of {} give rank {} of {}: start it "
                      "with the mpirun "
                      "of the MPI library that bert_mpi.so was built with, or use --comm tcp",
                      rank_, size_, environment.source, environment.rank, environment.world_size));
    }
  }

  ~MpiCommunicator() override {
    // Without finish() this rank has failed. It must not finalize: that waits for the others. To
    // end without it, with a status of its own, is what mpirun notices, which ends them.
    if (finished_) {
      MPI_Comm_free(&comm_);
      MPI_Finalize();
    }
  }

  void finish() override {
    barrier();
    finished_ = true;
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int world_size() const override { return size_; }
  void all_reduce_sum(std::span<float> values) override { reduce(values, MPI_FLOAT, MPI_SUM); }
  void all_reduce_sum(std::span<double> values) override { reduce(values, MPI_DOUBLE, MPI_SUM); }
  void all_reduce_max(std::span<std::int64_t> values) override {
    reduce(values, MPI_INT64_T, MPI_MAX);
  }

  void broadcast(std::span<float> values, int root) override {
    in_parts(
        values,
        [&](std::span<float> part, MPI_Request* request) {
          return MPI_Ibcast(part.data(), static_cast<int>(part.size()), MPI_FLOAT, root, comm_,
                            request);
        },
        "broadcast");
  }

  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    complete(MPI_Ibarrier(comm_, &request), request, "barrier");
  }

  [[nodiscard]] std::string description() const override {
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(library, &length);
    std::string text(library, static_cast<std::size_t>(length));
    return "mpi, " + text.substr(0, text.find_first_of(",\n"));
  }

 private:
  template <typename T>
  void reduce(std::span<T> values, MPI_Datatype type, MPI_Op operation) {
    in_parts(
        values,
        [&](std::span<T> part, MPI_Request* request) {
          return MPI_Iallreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), type,
                                operation, comm_, request);
        },
        "all-reduce");
  }

  template <typename T, typename Start>
  void in_parts(std::span<T> values, Start start, const char* what) {
    while (!values.empty()) {
      const auto part = values.first(std::min(values.size(), kMostElements));
      MPI_Request request = MPI_REQUEST_NULL;
      const int error = start(part, &request);
      complete(error, request, what);
      values = values.subspan(part.size());
    }
  }

  void complete(int error, MPI_Request& request, const char* what) {
    const auto begin = Clock::now();
    int done = 0;
    for (std::int64_t look = 0; error == MPI_SUCCESS && done == 0; ++look) {
      error = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0 || error != MPI_SUCCESS) break;
      // With more ranks than cores the peer that we wait for needs this core.
      sched_yield();
      if (look < 1000) continue;
      if (Clock::now() - begin > timeout_) {
        throw std::runtime_error(fmt::format(
            "{} failed: a peer does not answer within {:.0f} s; see the errors of the other "
            "ranks, or raise --comm-timeout",
            what, std::chrono::duration<double>(timeout_).count()));
      }
      if (look > 20000) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    if (error != MPI_SUCCESS) {
      throw std::runtime_error(
          fmt::format("{} failed: {}; see the errors of the other ranks, then start the job again, "
                      "with --resume to go on from a checkpoint",
                      what, text_of(error)));
    }
  }

  std::chrono::milliseconds timeout_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool finished_ = false;
};

std::unique_ptr<Communicator> make(const LaunchEnvironment& environment,
                                   std::chrono::milliseconds timeout) {
  return std::make_unique<MpiCommunicator>(environment, timeout);
}

}  // namespace
}  // namespace bert

extern "C" __attribute__((visibility("default"))) const bert::Module* bert_module() {
  // The plug-ins of Open MPI look for its symbols among the global ones; this module was loaded
  // with its own kept local, so the library is made global first.
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &info) != 0 && info.dli_fname != nullptr) {
    (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  }
  static const bert::Module module{bert::kModuleAbi, "mpi", nullptr, bert::make};
  return &module;
}
