#include "harness/sweep/execute/arrival_file.h"

#include <unistd.h>

#include <cerrno>
#include <span>

namespace bertbench {
namespace {

std::string lines_of(std::span<const Arrival> arrivals) {
  std::string out;
  for (const Arrival& arrival : arrivals) out += arrival_line(arrival);
  return out;
}

}  // namespace

ArrivalFile::~ArrivalFile() {
  if (fd_ >= 0) close(fd_);
}

Result<void> ArrivalFile::save(const Folder& folder, const ArrivalRecorder& recorder, bool at_end) {
  const auto arrivals = at_end ? recorder.all() : recorder.kept();
  if (fd_ < 0 && arrivals.empty()) return {};
  if (fd_ < 0 || version_ != recorder.version()) {
    const auto text = std::string(kArrivalsHeader) + lines_of(arrivals);
    if (auto done = folder.write_unsynced(name_, text); !done) return done;
    auto opened = folder.open_append(name_);
    if (!opened) return tl::unexpected(opened.error());
    if (fd_ >= 0) close(fd_);
    fd_ = *opened;
    version_ = recorder.version();
  } else if (!write_all(fd_, lines_of(std::span(arrivals).subspan(written_)))) {
    version_ = -1;  // a part of it may stand there: next time the whole is written
    return tl::unexpected(file_error(folder.path_of(name_), "cannot write", errno));
  }
  written_ = arrivals.size();
  if (at_end && fsync(fd_) < 0 && errno != EINVAL) {
    return tl::unexpected(file_error(folder.path_of(name_), "cannot sync", errno));
  }
  return {};
}

}  // namespace bertbench
