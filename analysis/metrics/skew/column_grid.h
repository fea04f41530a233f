// A table of ranks × columns that grows with the run and stays bounded: a column is a step, or a stretch of time. Where
// there would be too many columns, two neighbours become one, and again, so that each covers 2^shift keys. Columns that
// nothing was added to do not exist, so that sparse and absurd keys take no memory. Not thread safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace lockstep {

// `Cell` has Merge(const Cell&), which must not depend on the order.
template <typename Cell>
class ColumnGrid {
 public:
  ColumnGrid(size_t rows, size_t most_columns, int shift)
      : rows_(rows), most_columns_(std::max<size_t>(2, most_columns)), shift_(shift) {}
  ColumnGrid(const ColumnGrid& other)
      : rows_(other.rows_), most_columns_(other.most_columns_), shift_(other.shift_), columns_(other.columns_) {}
  ColumnGrid& operator=(const ColumnGrid&) = delete;

  // The cell of a row in the column that the key is in. Valid until the next call.
  [[nodiscard]] Cell& At(int64_t key, size_t row) {
    if (met_ == nullptr || key >> shift_ != met_key_) Meet(key);
    return (*met_)[row];
  }
  // Makes each column cover 2^shift keys, if it covers fewer.
  void CoarsenTo(int shift) {
    while (shift_ < shift) Halve();
  }

  [[nodiscard]] int shift() const { return shift_; }
  // By key >> shift; each has a cell for every row.
  [[nodiscard]] const std::map<int64_t, std::vector<Cell>>& columns() const { return columns_; }

 private:
  void Meet(int64_t key) {
    while (columns_.size() >= most_columns_ && !columns_.contains(key >> shift_)) Halve();
    met_key_ = key >> shift_;
    met_ = &columns_[met_key_];
    if (met_->empty()) met_->resize(rows_);
  }

  void Halve() {
    std::map<int64_t, std::vector<Cell>> halved;
    for (auto& [key, column] : columns_) {
      std::vector<Cell>& into = halved[key >> 1];
      if (into.empty()) {
        into = std::move(column);
      } else {
        for (size_t row = 0; row < rows_; ++row) into[row].Merge(column[row]);
      }
    }
    columns_ = std::move(halved);
    ++shift_;
    met_ = nullptr;
  }

  size_t rows_;
  size_t most_columns_;
  int shift_;
  std::map<int64_t, std::vector<Cell>> columns_;
  int64_t met_key_ = 0;  // of the column asked for last
  std::vector<Cell>* met_ = nullptr;
};

}  // namespace lockstep
