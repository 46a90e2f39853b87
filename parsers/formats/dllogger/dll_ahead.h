// DllAhead: lines of a run that another thread has read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/formats/dllogger/dll_fast.h"
#include "parsers/scan/line_feed.h"

namespace bertbench {

/// The values of the lines of a text that are of one kind: alike but for their numbers.
class DllAhead final : public LinesAhead {
 public:
  /// Lines of the kind that `reader` takes.
  void read(std::string_view text, DllReader reader);

  /// The lines that were read, from the one that begins at `line` on, in order.
  [[nodiscard]] std::span<const DllLine> from(const char* line) const;
  [[nodiscard]] const char* text() const { return text_; }
  /// DllReader::kind() of all of them.
  [[nodiscard]] std::string_view kind() const { return kind_; }

 private:
  const char* text_ = nullptr;
  std::string kind_;
  std::vector<DllLine> lines_;
  std::size_t count_ = 0;  ///< of them
};

class DllRunReader final : public RunReader {
 public:
  explicit DllRunReader(DllReader reader) : reader_(std::move(reader)) {}
  [[nodiscard]] std::unique_ptr<LinesAhead> read_ahead(
      std::string_view text, std::unique_ptr<LinesAhead> spent) const override;

 private:
  DllReader reader_;
};

}  // namespace bertbench
