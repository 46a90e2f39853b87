// TensorBoard's event files (events.out.tfevents.*): records of a length and a protobuf Event, each
// with a masked CRC-32C. Field numbers are those of tensorflow/core/util/event.proto and
// tensorflow/core/framework/{summary,tensor,types}.proto. Reading ends at the first record that
// does not fit its checksum.
#include <fmt/format.h>

#include <cmath>

#include "parsers/core/crc32c.h"
#include "parsers/input/proto_fields.h"
#include "parsers/input/tracker_source.h"

namespace bertbench {
namespace {

constexpr std::size_t kHead = 12;

template <class T>
T at(std::string_view bytes, std::size_t offset = 0) {
  T out{};
  std::memcpy(&out, bytes.data() + offset, sizeof out);
  return out;
}

bool fits(std::string_view bytes, std::uint32_t masked) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U == masked;
}

/// The value of a TensorProto of one number.
std::optional<std::string> scalar_of(std::string_view tensor) {
  enum Type : std::uint64_t { kFloat = 1, kDouble = 2, kInt32 = 3, kInt64 = 9 };
  std::uint64_t type = 0;
  std::string_view content;
  std::optional<std::string> packed;
  ProtoFields fields(tensor);
  while (const auto field = fields.next()) {
    if (field->is(1, 0)) type = field->value;
    if (field->is(4, 2)) content = field->bytes;
    if (field->is(5, 2) && field->bytes.size() == 4) packed = json_number(at<float>(field->bytes));
    if (field->is(5, 5)) packed = json_number(field->as_float());
    if (field->is(6, 2) && field->bytes.size() == 8) packed = json_number(at<double>(field->bytes));
    if (field->is(6, 1)) packed = json_number(field->as_double());
    if (field->is(7, 0) || field->is(10, 0)) {
      packed = fmt::format("{}", static_cast<std::int64_t>(field->value));
    }
  }
  if (type == kFloat && content.size() == 4) return json_number(at<float>(content));
  if (type == kDouble && content.size() == 8) return json_number(at<double>(content));
  if (type == kInt32 && content.size() == 4) return fmt::format("{}", at<std::int32_t>(content));
  if (type == kInt64 && content.size() == 8) return fmt::format("{}", at<std::int64_t>(content));
  return packed;
}

/// Whether the tag's step counts training steps: Keras counts epochs, Megatron has twins whose step
/// counts samples.
bool counts_steps(std::string_view tag) {
  return !tag.starts_with("epoch_") && !tag.ends_with(" vs samples");
}

class TensorboardSource final : public DecodedSource {
 public:
  using DecodedSource::DecodedSource;

 private:
  Result<bool> decode(std::string& out) override {
    const std::uint64_t from = offset();
    const auto end = [&](const char* what) {
      if (what != nullptr) set_problem(fmt::format("the event file is {} at byte {}", what, from));
      lines_.flush(out);
      return false;
    };
    const auto head = next(kHead);
    if (!head) return tl::unexpected(head.error());
    if (head->size() < kHead) return end(head->empty() ? nullptr : "cut");
    const auto length = at<std::uint64_t>(*head);
    if (!begins_tensorboard(*head)) return end("damaged");
    const auto body = next(length + 4);
    if (!body) return tl::unexpected(body.error());
    if (body->size() < length + 4) return end("cut");
    if (!fits(body->substr(0, length), at<std::uint32_t>(*body, length))) return end("damaged");
    take_event(body->substr(0, length), out);
    return true;
  }

  void take_event(std::string_view event, std::string& out) {
    double wall_time = 0;
    std::int64_t step = 0;
    ProtoFields fields(event);
    while (const auto field = fields.next()) {
      if (field->is(1, 1)) wall_time = field->as_double();
      if (field->is(2, 0)) step = static_cast<std::int64_t>(field->value);
      if (!field->is(5, 2)) continue;
      if (!(std::abs(wall_time) < 1e12) || step < 0) return;
      ProtoFields values(field->bytes);
      while (const auto value = values.next()) {
        if (value->is(1, 2)) take_value(value->bytes, step, wall_time, out);
      }
    }
  }

  void take_value(std::string_view message, std::int64_t step, double wall_time, std::string& out) {
    std::string_view tag;
    std::optional<std::string> value;
    ProtoFields fields(message);
    while (const auto field = fields.next()) {
      if (field->is(1, 2)) tag = field->bytes;
      if (field->is(2, 5)) value = json_number(field->as_float());
      if (field->is(8, 2)) value = scalar_of(field->bytes);
    }
    if (value && !tag.empty() && counts_steps(tag)) lines_.add(tag, step, wall_time, *value, out);
  }

  LoggedSteps lines_{6};
};

}  // namespace

bool begins_tensorboard(std::string_view head) {
  return head.size() >= kHead && at<std::uint64_t>(head) <= kLongestRecord &&
         fits(head.substr(0, 8), at<std::uint32_t>(head, 8));
}

std::unique_ptr<ByteSource> open_tensorboard(std::unique_ptr<ByteSource> raw) {
  return std::make_unique<TensorboardSource>(std::move(raw));
}

}  // namespace bertbench
