// ThinnedSeries: values of a log's lines in their order, bounded: medians need no more.
#pragma once

#include <cstddef>
#include <vector>

namespace bertbench {

template <class Item>
class ThinnedSeries {
 public:
  /// Beyond this many every second one is left out, again and again.
  static constexpr std::size_t kMostItems = std::size_t{1} << 16;

  void add(const Item& item) {
    if (++offered_ % stride_ != 0) return;
    if (items_.size() == kMostItems) thin();
    items_.push_back(item);
  }
  [[nodiscard]] const std::vector<Item>& items() const { return items_; }
  void clear() { *this = {}; }

 private:
  void thin() {
    for (std::size_t i = 0; i < items_.size() / 2; ++i) items_[i] = items_[2 * i + 1];
    items_.resize(items_.size() / 2);
    stride_ *= 2;
  }

  std::vector<Item> items_;
  std::size_t offered_ = 0, stride_ = 1;
};

}  // namespace bertbench
