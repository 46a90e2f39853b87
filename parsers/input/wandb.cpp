// wandb's transaction log (run-<id>.wandb, also of offline runs): LevelDB's blocks of 32 KiB with a
// plain CRC-32, although the comment in wandb's datastore.py names another, and protobuf Records in
// them (wandb_internal.proto). A damaged block is left out.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "parsers/input/proto_fields.h"
#include "parsers/input/tracker_source.h"

namespace bertbench {
namespace {

constexpr std::size_t kLogBlock = 32768, kFileHead = 7, kChunkHead = 7;

unsigned byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<unsigned char>(bytes[i]);
}

/// A number, a text or a truth value; no format reads what lists and objects hold.
bool is_scalar(std::string_view json) {
  return !json.empty() && json.front() != '{' && json.front() != '[' &&
         nlohmann::json::accept(json);
}

/// "name": value, of a history item or a setting; empty where the value is no scalar.
std::string member_of(std::string_view item) {
  std::string key;
  std::string_view value;
  ProtoFields fields(item);
  while (const auto field = fields.next()) {
    if (field->is(1, 2)) key = field->bytes;
    if (field->is(2, 2)) key += (key.empty() ? "" : ".") + std::string(field->bytes);
    if (field->is(16, 2)) value = field->bytes;
  }
  if (key == "_step") return "";
  // Python's NaN and Infinity are no JSON.
  std::string text(value);
  if (value == "NaN" || value == "Infinity" || value == "-Infinity") text = json_string(value);
  return is_scalar(text) ? fmt::format("{}: {}", json_string(key), text) : "";
}

/// All of them, with ", " between.
std::string members_of(std::string_view message) {
  std::string out;
  ProtoFields fields(message);
  while (const auto field = fields.next()) {
    if (!field->is(1, 2)) continue;
    const std::string member = member_of(field->bytes);
    if (!member.empty()) out += (out.empty() ? "" : ", ") + member;
  }
  return out;
}

/// Of Record in wandb/proto/wandb_internal.proto.
enum RecordField : std::uint64_t {
  kHistory = 2,
  kOutput = 4,
  kConfig = 5,
  kOutputRaw = 13,
  kRun = 17,
  kExit = 18
};

class WandbSource final : public DecodedSource {
 public:
  using DecodedSource::DecodedSource;

 private:
  enum Chunk : unsigned { kFull = 1, kFirst, kMiddle, kLast };

  Result<bool> decode(std::string& out) override {
    const std::uint64_t from = offset();
    const std::size_t left = kLogBlock - from % kLogBlock;
    const bool begins = from == 0;
    const auto head = next(begins ? kFileHead : std::min(left, kChunkHead));
    if (!head) return tl::unexpected(head.error());
    if (head->empty()) return end(out);
    if (begins) out += "{\"run\": \"wandb\"}\n";
    if (begins || left < kChunkHead) return true;
    if (head->size() < kChunkHead) return cut(out);
    const unsigned crc = byte_at(*head, 0) | byte_at(*head, 1) << 8 | byte_at(*head, 2) << 16 |
                         byte_at(*head, 3) << 24;
    const std::size_t length = byte_at(*head, 4) | byte_at(*head, 5) << 8;
    const auto type = static_cast<char>(byte_at(*head, 6));
    if (length > left - kChunkHead || type < 1 || type > 4) return skip_block(from);
    const auto data = next(length);
    if (!data) return tl::unexpected(data.error());
    if (data->size() < length) return cut(out);
    uLong sum = crc32(0, reinterpret_cast<const Bytef*>(&type), 1);
    sum = crc32(sum, reinterpret_cast<const Bytef*>(data->data()), static_cast<uInt>(length));
    if (sum != crc) return skip_block(from);
    add_chunk(static_cast<unsigned>(type), *data, out);
    return true;
  }

  bool end(std::string& out) {
    out += std::exchange(lines_, {});
    out += std::exchange(exit_, {});
    for (std::string& text : console_) out += std::exchange(text, {});
    return false;
  }
  bool cut(std::string& out) {
    set_problem("the wandb file is cut: read up to its end");
    return end(out);
  }
  Result<bool> skip_block(std::uint64_t from) {
    set_problem(fmt::format(
        "the wandb file is damaged at byte {}: the rest of that block is left out", from));
    open_ = false;
    for (std::string& text : console_) {  // its line lost its end
      if (!text.empty()) lines_ += std::exchange(text, {}) + "\n";
    }
    const auto skipped = next((kLogBlock - offset() % kLogBlock) % kLogBlock);
    if (!skipped) return tl::unexpected(skipped.error());
    return true;
  }

  void add_chunk(unsigned type, std::string_view data, std::string& out) {
    if (type == kFull || type == kFirst) {
      record_.clear();
      open_ = true;
    }
    if (!open_ || record_.size() + data.size() > kLongestRecord) {
      open_ = false;
      return;
    }
    record_ += data;
    if (type == kFirst || type == kMiddle) return;
    open_ = false;
    ProtoFields fields(record_);
    while (const auto field = fields.next()) {
      if (field->wire == 2) take(*field, out);
    }
  }

  void take(const ProtoField& record, std::string& out) {
    const std::string_view message = record.bytes;
    switch (record.number) {
      case kHistory:
        take_history(message, out);
        break;
      case kOutput:
      case kOutputRaw:
        add_console(message, out);
        break;
      case kConfig:
        add_config(message, out);
        break;
      case kRun:
        take_run(message, out);
        break;
      case kExit:
        take_exit(message);
        break;
      default:
        break;
    }
  }

  static void add_config(std::string_view message, std::string& out) {
    const std::string members = members_of(message);
    if (!members.empty()) out += fmt::format("{{\"config\": {{{}}}}}\n", members);
  }

  void take_history(std::string_view message, std::string& out) {
    std::optional<std::int64_t> number;
    ProtoFields fields(message);
    while (const auto field = fields.next()) {
      if (!field->is(2, 2)) continue;
      number = 0;
      ProtoFields step(field->bytes);
      while (const auto value = step.next()) {
        if (value->is(1, 0)) number = static_cast<std::int64_t>(value->value);
      }
    }
    const std::string members = members_of(message);
    if (number && !members.empty()) add_row(*number, members, out);
  }

  /// Up to the last end of a line; the rest waits, so that nothing gets between. All of it comes
  /// after the history, whose rows wandb writes later than the lines of a failure after them.
  void add_console(std::string_view message, std::string& out) {
    constexpr std::size_t kLongestLine = std::size_t{64} << 10;
    std::string* text = &console_[0];
    std::string_view added;
    ProtoFields fields(message);
    while (const auto field = fields.next()) {
      if (field->is(1, 0) && field->value == 1) text = &console_[1];
      if (field->is(3, 2)) added = field->bytes;
    }
    // What waits holds no end of a line.
    const std::size_t waiting = text->size();
    *text += added;
    auto ends = added.find_last_of("\r\n");
    if (ends != std::string_view::npos) {
      ends += waiting;
    } else if (text->size() > kLongestLine) {
      ends = text->size() - 1;
    } else {
      return;
    }
    lines_.append(*text, 0, ends + 1);
    text->erase(0, ends + 1);
    if (lines_.size() > kLongestRecord) out += std::exchange(lines_, {});
  }

  static void take_run(std::string_view message, std::string& out) {
    ProtoFields fields(message);
    while (const auto field = fields.next()) {
      if (field->is(4, 2)) add_config(field->bytes, out);
    }
  }

  /// In the words that wandb prints of it.
  void take_exit(std::string_view message) {
    std::int64_t code = 0;
    ProtoFields fields(message);
    while (const auto field = fields.next()) {
      if (field->is(1, 0)) code = static_cast<std::int64_t>(field->value);
    }
    exit_ = code == 0 ? "wandb: Program ended successfully.\n"
                      : fmt::format("wandb: Program failed with code {}.\n", code);
  }

  std::string record_;
  bool open_ = false;       ///< its end has not come
  std::string console_[2];  ///< by OutputType: 0 standard error, 1 standard output
  std::string lines_;       ///< whole ones of the console
  std::string exit_;        ///< how the run ended
};

}  // namespace

std::unique_ptr<ByteSource> open_wandb(std::unique_ptr<ByteSource> raw) {
  return std::make_unique<WandbSource>(std::move(raw));
}

}  // namespace bertbench
