// Columns read for a whole block at once: one number a row, and numbers of some rows only.
//
// Reading treats every byte as a stranger's (column_codec.h). Pure, thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/v1/batch.pb.h"
#include "proto/column_codec.h"
#include "proto/wire_columns.h"

namespace lockstep::codec {

// One number a row. A column that was left out takes no room: it holds one number for all rows.
class Numbers {
 public:
  Numbers() : Numbers(0) {}
  explicit Numbers(int64_t all) : numbers_{all} {}
  explicit Numbers(std::vector<int64_t> each) : numbers_(std::move(each)), mask_(~size_t{0}) {}

  // Below the number of rows that it was made for.
  int64_t operator[](size_t row) const { return numbers_[row & mask_]; }
  // All rows have the same, without looking at them.
  [[nodiscard]] bool is_one() const { return mask_ == 0; }
  // One for all, or one each.
  [[nodiscard]] std::span<const int64_t> stored() const { return numbers_; }
  // One each, whatever it held.
  [[nodiscard]] std::vector<int64_t> Take(size_t rows) && {
    return is_one() ? std::vector<int64_t>(rows, numbers_.front()) : std::move(numbers_);
  }

 private:
  std::vector<int64_t> numbers_;
  size_t mask_ = 0;  // 0: one for all
};

// The values of a packed column, one a row; null when there is none of this field. Each field at most once. What is
// read is taken from `in`, here and below.
[[nodiscard]] absl::StatusOr<std::optional<std::vector<int64_t>>> GetPacked(std::string_view what, WireColumns& in,
                                                                            int field, size_t rows, Limits limits);
// Plain deltas, or nothing: the fallback for every row. The same as Numbers, which need no room for the latter.
[[nodiscard]] absl::StatusOr<std::vector<int64_t>> GetColumn(std::string_view what, std::vector<int64_t> deltas,
                                                             size_t rows, int64_t fallback, Limits limits);
[[nodiscard]] absl::StatusOr<std::vector<int64_t>> GetColumn(std::string_view what, const Ints& in, size_t rows,
                                                             int64_t fallback, Limits limits);
[[nodiscard]] absl::StatusOr<Numbers> GetNumbers(std::string_view what, std::vector<int64_t> deltas, size_t rows,
                                                 int64_t fallback, Limits limits);
// The same of a column that may have been packed instead.
[[nodiscard]] absl::StatusOr<Numbers> GetNumbers(std::string_view what, WireColumns& in, int field, size_t rows,
                                                 int64_t fallback, Limits limits);

// The same of a message that the library made.
[[nodiscard]] absl::StatusOr<Numbers> GetNumbers(std::string_view what, const PackedColumns& packed, int field,
                                                 const Ints& plain, size_t rows, int64_t fallback, Limits limits);

// An optional column: the values of all rows that have one, and which rows these are.
struct OptionalColumn {
  struct Run {
    size_t first_row = 0;
    size_t rows = 0;
    size_t first_value = 0;  // index in `values`
  };
  std::vector<Run> runs;  // of rows with a value, ascending
  std::vector<int64_t> values;

  // Each value becomes change(row, value).
  template <typename Change>
  void Transform(Change change) {
    for (const Run& run : runs) {
      for (size_t i = 0; i < run.rows; ++i) {
        int64_t& value = values[run.first_value + i];
        value = change(run.first_row + i, value);
      }
    }
  }
  // One number a row: where a row has no value, that of `others`.
  [[nodiscard]] Numbers Over(Numbers others, size_t rows) const;
};
[[nodiscard]] absl::StatusOr<OptionalColumn> GetOptional(std::string_view what, SparseValues in, size_t rows,
                                                         Limits limits);
// The same with a place for each row.
[[nodiscard]] absl::StatusOr<Sparse> GetSparse(std::string_view what, const v1::SparseColumn& in, size_t rows,
                                               Limits limits);

// OK if all numbers are within the limits, else the error of CheckRange for the first that is not.
[[nodiscard]] absl::Status CheckRanges(std::string_view what, std::span<const int64_t> values, Limits limits);

}  // namespace lockstep::codec
