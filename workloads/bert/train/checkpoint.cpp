#include "workloads/bert/train/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "workloads/bert/train/state_exchange.h"

namespace bert {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
constexpr char kMagic[9] = "BERTCKP1";

class OutputFile {
 public:
  explicit OutputFile(const std::string& path)
      : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)),
        error_(fd_ < 0 ? errno : 0) {}
  ~OutputFile() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    while (error_ == 0 && size > 0) {
      const ssize_t done = ::write(fd_, at, size);
      if (done < 0) {
        error_ = errno == EINTR ? 0 : errno;
      } else {
        at += done;
        size -= static_cast<std::size_t>(done);
      }
    }
  }
  // 0, or the errno of the first failure.
  int finish() {
    if (error_ == 0 && fsync(fd_) != 0) {
      error_ = errno;
    }
    return error_;
  }

 private:
  int fd_;
  int error_;
};

void sync_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    fsync(fd);
    ::close(fd);
  }
}

constexpr StateArray kArrays[] = {StateArray::weights, StateArray::first_moments,
                                  StateArray::second_moments};

Json describe(const CheckpointFacts& facts, Backend& backend) {
  Json parameters = Json::array();
  for (const Parameter& p : backend.parameters()) {
    parameters.push_back(
        {{"name", p.name}, {"shape", p.shape}, {"offset", p.offset}, {"size", p.size}});
  }
  return {{"step", facts.step},
          {"next_sequence", facts.step * facts.global_batch_size},
          {"model", facts.model},
          {"optimizer", facts.optimizer},
          {"sequence_length", facts.sequence_length},
          {"global_batch_size", facts.global_batch_size},
          {"seed", facts.seed},
          {"settings", facts.settings},
          {"elements", state_elements(backend)},
          {"parameters", std::move(parameters)}};
}

tl::unexpected<Failure> cannot_write(const std::string& path, int error) {
  return run_error(fmt::format("checkpoint {}: {}; earlier checkpoints are untouched", path,
                               std::strerror(error)));
}

}  // namespace

void Hash64::add(std::span<const float> values) {
  std::uint64_t state = state_;
  for (const float value : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    state = (state ^ bits) * 0x9e3779b97f4a7c15U;
    state ^= state >> 29;
  }
  state_ = state;
}

Result<void> make_checkpoint_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string trial = (fs::path(folder) / "step_00000000.ckpt.tmp").string();
  const int failed = error ? error.value() : OutputFile(trial).finish();
  ::unlink(trial.c_str());
  if (failed == 0) return {};
  return usage_error(fmt::format("--checkpoint {}: {}; give a folder that can be made and written",
                                 folder, std::strerror(failed)));
}

Result<std::string> write_checkpoint(const std::string& folder, const CheckpointFacts& facts,
                                     Backend& backend) {
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path path = fs::path(folder) / fmt::format("step_{:08}.ckpt", facts.step);
  const std::string temporary = path.string() + ".tmp";
  Json described = describe(facts, backend);
  if (const ScalarState scalars = backend.scalar_state(); scalars.loss_scale > 0) {
    described["skipped_steps"] = facts.skipped;
    described["loss_scale"] = scalars.loss_scale;
    described["good_steps"] = scalars.good_steps;
  }
  if (facts.phase_start > 0) described["phase_start"] = facts.phase_start;
  // The name of a file may be no UTF-8.
  const std::string header = described.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::uint64_t size = header.size();
  OutputFile file(temporary);
  file.write(kMagic, 8);
  file.write(&size, sizeof size);
  file.write(header.data(), header.size());
  Hash64 hash;
  for (const StateArray array : kArrays) {
    for_each_part(backend, [&](std::int64_t offset, std::span<float> part) {
      backend.read_state(array, offset, part);
      hash.add(part);
      file.write(part.data(), part.size_bytes());
    });
  }
  const std::uint64_t sum = hash.value();
  file.write(&sum, sizeof sum);
  if (const int failed = file.finish(); failed != 0) {
    ::unlink(temporary.c_str());
    return cannot_write(path.string(), failed);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return cannot_write(path.string(), errno);
  }
  sync_folder(folder);
  return path.string();
}

void take_part_in_checkpoint(Backend& backend) {
  for (const StateArray array : kArrays) {
    for_each_part(backend, [&](std::int64_t offset, std::span<float> part) {
      backend.read_state(array, offset, part);
    });
  }
}

std::string newest_checkpoint(const std::string& folder) {
  std::string newest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    // Names have one width up to step 99999999, so their order is the order of steps.
    if (name.starts_with("step_") && name.ends_with(".ckpt") &&
        (newest.empty() || name > fs::path(newest).filename().string())) {
      newest = entry.path().string();
    }
  }
  return newest;
}

namespace {

/// What is read from the header by its type; the rest is compared as a whole.
bool is_sound(const Json& header) {
  if (!header.is_object() || !header.contains("step") || !header["step"].is_number_integer()) {
    return false;
  }
  for (const char* key :
       {"skipped_steps", "good_steps", "phase_start", "sequence_length", "global_batch_size"}) {
    if (header.contains(key) && !header[key].is_number_integer()) return false;
  }
  return !header.contains("loss_scale") || header["loss_scale"].is_number();
}

std::int64_t number(const Json& header, const char* key) {
  return header.value(key, std::int64_t{0});
}

}  // namespace

Result<CheckpointReader> CheckpointReader::open(const std::string& folder,
                                                const CheckpointFacts& expected, Backend& backend,
                                                TakeUp take_up) {
  const std::string path = newest_checkpoint(folder);
  CheckpointReader reader;
  reader.name_ = fmt::format("--{} {}", take_up == TakeUp::weights ? "init-checkpoint" : "resume",
                             path.empty() ? folder : path);
  if (path.empty()) {
    return reader.refuse("no step_*.ckpt there; --checkpoint DIR of an earlier run writes them");
  }
  reader.in_.open(path, std::ios::binary);
  std::ifstream& in = reader.in_;
  char magic[8] = {};
  std::uint64_t size = 0;
  in.read(magic, sizeof magic);
  in.read(reinterpret_cast<char*>(&size), sizeof size);
  if (!in || std::memcmp(magic, kMagic, sizeof magic) != 0 || size > (1U << 28)) {
    return reader.refuse("not a checkpoint of bert_train; remove it to use an earlier one");
  }
  std::string text(size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  const Json found = Json::parse(text, nullptr, false);
  if (!in || !is_sound(found)) {
    return reader.refuse("its header is damaged; remove it to use an earlier one");
  }
  CheckpointFacts same = expected;
  same.step = found["step"].get<std::int64_t>();
  if (take_up != TakeUp::same_run) {
    same.sequence_length = number(found, "sequence_length");
    same.global_batch_size = number(found, "global_batch_size");
  }
  const Json wanted = describe(same, backend);
  for (const auto& [key, value] : wanted.items()) {
    if (take_up == TakeUp::weights && (key == "optimizer" || key == "seed")) continue;
    // The next sequence follows from step and batch; settings may change.
    if (key == "next_sequence" || key == "settings") continue;
    if (found.contains(key) && found[key] == value) continue;
    if (key == "parameters") {
      return reader.refuse("its parameters are laid out otherwise: another version of bert_train");
    }
    const char* remedy = key == "global_batch_size"
                             ? "; it is --micro-batch-size x --gradient-accumulation-steps x "
                               "ranks, and only --new-phase changes it"
                         : key == "sequence_length" ? "; only --new-phase changes it"
                                                    : "";
    return reader.refuse(fmt::format("was made with {} {}, this run has {}{}", key,
                                     found.value(key, Json()).dump(), value.dump(), remedy));
  }
  const Json settings = found.value("settings", Json::object());
  for (const auto& [name, value] : settings.items()) {
    if (value.is_string()) reader.point_.settings[name] = value;
  }
  reader.point_.step = same.step;
  reader.point_.skipped = number(found, "skipped_steps");
  reader.point_.phase_start =
      take_up == TakeUp::new_phase ? same.step : number(found, "phase_start");
  reader.point_.scalars.loss_scale = found.value("loss_scale", 0.0);
  reader.point_.scalars.good_steps = number(found, "good_steps");
  return reader;
}

tl::unexpected<Failure> CheckpointReader::refuse(const std::string& why) const {
  return usage_error(fmt::format("{}: {}", name_, why));
}

void CheckpointReader::read(std::span<float> part) {
  in_.read(reinterpret_cast<char*>(part.data()), static_cast<std::streamsize>(part.size_bytes()));
  if (!in_) {
    std::fill(part.begin(), part.end(), 0.0F);
  }
  hash_.add(part);
}

Result<void> CheckpointReader::finish() {
  std::uint64_t sum = 0;
  in_.read(reinterpret_cast<char*>(&sum), sizeof sum);
  if (!in_ || sum != hash_.value() || in_.peek() != std::ifstream::traits_type::eof()) {
    return refuse("is cut off or damaged; remove it to use an earlier one");
  }
  return {};
}

Result<std::int64_t> read_newest_checkpoint(const std::string& folder,
                                            const CheckpointFacts& expected, Backend& backend) {
  auto reader = CheckpointReader::open(folder, expected, backend);
  if (!reader) {
    return tl::unexpected(reader.error());
  }
  for (const StateArray array : kArrays) {
    for_each_part(backend, [&](std::int64_t offset, std::span<float> part) {
      reader->read(part);
      backend.write_state(array, offset, part);
    });
  }
  backend.set_scalar_state(reader->point().scalars);
  if (auto whole = reader->finish(); !whole) {
    return tl::unexpected(whole.error());
  }
  return reader->point().step;
}

}  // namespace bert
