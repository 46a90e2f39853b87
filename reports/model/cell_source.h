// The cells of a result one after the other: a result of very many logs is never in memory at once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "reports/model/result_set.h"

namespace bertbench {

/// Cells in the order of the result, as often as wanted. Several threads may ask at once.
class CellSource {
 public:
  virtual ~CellSource() = default;

  /// The result without its cells.
  [[nodiscard]] virtual const ResultSet& head() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// A cell without its trials.
  [[nodiscard]] virtual Cell cell(std::size_t i) const = 0;
  [[nodiscard]] virtual std::size_t trials(std::size_t i) const = 0;
  /// The trials of cell i in their order.
  virtual void each_trial(std::size_t i, const std::function<void(const Trial&)>& visit) const = 0;

  [[nodiscard]] Cell whole_cell(std::size_t i) const;
  [[nodiscard]] ResultSet whole() const;
};

/// A result that is in memory, which must live as long.
class SetSource final : public CellSource {
 public:
  explicit SetSource(const ResultSet& set);
  [[nodiscard]] const ResultSet& head() const override { return head_; }
  [[nodiscard]] std::size_t size() const override { return set_.cells.size(); }
  [[nodiscard]] Cell cell(std::size_t i) const override;
  [[nodiscard]] std::size_t trials(std::size_t i) const override {
    return set_.cells[i].trials.size();
  }
  void each_trial(std::size_t i, const std::function<void(const Trial&)>& visit) const override;

 private:
  const ResultSet& set_;
  ResultSet head_;
};

/// Takes a text piece by piece.
using TextSink = std::function<void(std::string_view)>;

}  // namespace bertbench
