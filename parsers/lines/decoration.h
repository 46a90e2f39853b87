// What loggers, containers and CI put before a line, in layers: "2024-05-01T10:00:00.12Z ",
// "2024-05-01 10:00:00,123 - INFO - ", "INFO:root:", "trainer-1  | ", "(train pid=7) ".
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace bertbench {

/// `text` without the NUL bytes that it begins with, the holes of a file that was cut while it was
/// written, and without the byte order mark of the first line.
[[nodiscard]] std::string_view without_holes(std::string_view text, bool first_line);

/// The text after the stamp or name that a container, a CI system or Ray puts before each
/// line, whatever runs in it; `text` itself if there is none. Of these only the ISO stamp may be
/// the trainer's own: `stamped` gets the text from the first such stamp on, and stays as it is
/// where there is none.
[[nodiscard]] std::string_view without_transport(std::string_view text,
                                                 std::string_view* stamped = nullptr);

/// The text after the outermost decoration; empty if there is none. Trainers print time stamps and
/// levels as well, so this is tried only on a line that is of no format as it stands.
[[nodiscard]] std::string_view after_decoration(std::string_view text);

/// `text` without its leading stamps and levels, but with any name after them: "val - Epoch 3"
/// stays.
[[nodiscard]] std::string_view without_front(std::string_view text);

/// What is left of a line as its decorations are taken off one by one, without the line itself.
class Layers {
 public:
  explicit Layers(std::string_view text);
  [[nodiscard]] const std::string_view* begin() const { return texts_.data(); }
  [[nodiscard]] const std::string_view* end() const { return texts_.data() + count_; }

 private:
  static constexpr std::size_t kLayerLimit = 6;
  std::array<std::string_view, kLayerLimit> texts_;
  std::size_t count_ = 0;
};

}  // namespace bertbench
