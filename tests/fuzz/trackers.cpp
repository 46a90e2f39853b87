// Files of trackers: any bytes as a file, and any bytes as records with good checksums.
#include "tests/fuzz/targets.h"
#include "tests/tracker_bytes.h"

namespace bertbench::fuzz {
namespace {

void read_twice(std::string_view file) {
  const TrackerText large = tracker_text(file, std::size_t{256} << 10);
  const TrackerText small = tracker_text(file, 61);
  require(large.lines == small.lines && large.problem == small.problem,
          "what is read depends on the buffer");
}

/// Records of the input: the first byte of each is its length.
std::vector<std::string_view> parts_of(std::string_view input) {
  std::vector<std::string_view> out;
  while (!input.empty()) {
    const auto length = static_cast<unsigned char>(input.front());
    out.push_back(input.substr(1, length));
    input.remove_prefix(std::min<std::size_t>(input.size(), 1U + length));
  }
  return out;
}

}  // namespace

void tensorboard(std::string_view input) {
  read_twice(input);
  std::string file;
  for (const std::string_view part : parts_of(input)) file += event_record(part);
  read_twice(file);
}

void wandb(std::string_view input) {
  read_twice(input);
  read_twice(wandb_file(parts_of(input)));
}

void database(std::string_view input) { read_twice(input); }

}  // namespace bertbench::fuzz
