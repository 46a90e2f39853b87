// Preloaded into bertbench (LD_PRELOAD): lets the Nth call of one function of the C library fail,
// or kills the process before it. Other programs that it is preloaded into, trainers and forks
// included, run as they are.
//   BB_FAULT_CALL    write, fsync, fdatasync, openat, renameat, mkdirat, ftruncate, fork, pipe2,
//                    read, pread, poll (open counts as openat), exec_status: the first read
//                    after a fork, by which Boost.Process learns whether exec succeeded
//   BB_FAULT_NTH     1, 2, 3 ...
//   BB_FAULT_ERRNO   number, or 0: SIGKILL instead
//   BB_FAULT_PATH    opens only: those of paths that end so count, all if it is not set
//   BB_FAULT_FIRED   file that is made when it happens: none means that N is past the last call
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

struct Fault {
  char call[32] = "";
  char fired[512] = "";
  char path[128] = "";
  long nth = 0;
  int number = 0;
  pid_t process = 0;  // 0: not this program
};

// Read once: what the program does to its environment later is its own affair.
const Fault& fault() {
  static const Fault kFault = [] {
    Fault out;
    const char* call = getenv("BB_FAULT_CALL");
    const char* nth = getenv("BB_FAULT_NTH");
    const char* number = getenv("BB_FAULT_ERRNO");
    const char* fired = getenv("BB_FAULT_FIRED");
    if (!call || !nth || !number || !fired) return out;
    if (strcmp(program_invocation_short_name, "bertbench") != 0) return out;
    strncpy(out.call, call, sizeof out.call - 1);
    strncpy(out.fired, fired, sizeof out.fired - 1);
    const char* path = getenv("BB_FAULT_PATH");
    if (path) strncpy(out.path, path, sizeof out.path - 1);
    out.nth = atol(nth);
    out.number = atoi(number);
    out.process = getpid();
    return out;
  }();
  return kFault;
}

template <class F>
F* real(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

bool ends_with(const char* text, const char* end) {
  const std::size_t size = strlen(text), tail = strlen(end);
  return size >= tail && strcmp(text + size - tail, end) == 0;
}

bool fails(const char* call, const char* path = "") {
  static std::atomic<long> count{0};
  const Fault& here = fault();
  if (here.process == 0 || strcmp(call, here.call) != 0 || getpid() != here.process) return false;
  if (!ends_with(path, here.path)) return false;
  if (++count != here.nth) return false;
  static auto* const open_really = real<int(const char*, int, ...)>("open");
  const int fd = open_really(here.fired, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  if (here.number == 0) kill(getpid(), SIGKILL);
  errno = here.number;
  return true;
}

/// Whether no read came after the last fork yet.
std::atomic<bool> forked{false};

}  // namespace

// NOLINTBEGIN: the C library's names and shapes.
#define BB_CALL(result, name, counted, parameters, arguments) \
  extern "C" result name parameters {                         \
    static auto* const next = real<result parameters>(#name); \
    if (fails(counted)) return static_cast<result>(-1);       \
    return next arguments;                                    \
  }
#define BB_OPEN(name, parameters, arguments)               \
  extern "C" int name parameters {                         \
    static auto* const next = real<int parameters>(#name); \
    mode_t mode = 0;                                       \
    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {            \
      va_list rest;                                        \
      va_start(rest, flags);                               \
      mode = va_arg(rest, mode_t);                         \
      va_end(rest);                                        \
    }                                                      \
    if (fails("openat", path)) return -1;                  \
    return next arguments;                                 \
  }
BB_CALL(ssize_t, write, "write", (int fd, const void* data, size_t size), (fd, data, size))
extern "C" ssize_t read(int fd, void* data, size_t size) {
  static auto* const next = real<ssize_t(int, void*, size_t)>("read");
  if (fails("read") || (forked.exchange(false) && fails("exec_status"))) return -1;
  return next(fd, data, size);
}
BB_CALL(ssize_t, pread, "pread", (int fd, void* data, size_t size, off_t at), (fd, data, size, at))
BB_CALL(ssize_t, pread64, "pread", (int fd, void* data, size_t size, off64_t at),
        (fd, data, size, at))
BB_CALL(int, fsync, "fsync", (int fd), (fd))
BB_CALL(int, fdatasync, "fdatasync", (int fd), (fd))
BB_CALL(int, renameat, "renameat", (int from, const char* old, int to, const char* name),
        (from, old, to, name))
BB_CALL(int, mkdirat, "mkdirat", (int fd, const char* path, mode_t mode), (fd, path, mode))
BB_CALL(int, ftruncate, "ftruncate", (int fd, off_t size) noexcept, (fd, size))
BB_CALL(int, ftruncate64, "ftruncate", (int fd, off64_t size) noexcept, (fd, size))
extern "C" pid_t fork() noexcept {
  static auto* const next = real<pid_t()>("fork");
  if (fails("fork")) return -1;
  forked = true;
  return next();
}
BB_CALL(int, pipe2, "pipe2", (int ends[2], int flags) noexcept, (ends, flags))
BB_CALL(int, poll, "poll", (pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))
BB_OPEN(open, (const char* path, int flags, ...), (path, flags, mode))
BB_OPEN(open64, (const char* path, int flags, ...), (path, flags, mode))
BB_OPEN(openat, (int fd, const char* path, int flags, ...), (fd, path, flags, mode))
BB_OPEN(openat64, (int fd, const char* path, int flags, ...), (fd, path, flags, mode))
// NOLINTEND
