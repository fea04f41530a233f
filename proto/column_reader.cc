#include "proto/column_reader.h"

#include <algorithm>
#include <optional>
#include <string>

namespace lockstep::codec {
namespace {

constexpr uint64_t kMaxUnit = uint64_t{1} << 32;

// The low parts of numbers, packed one after the other with so many bits each.
class LowParts {
 public:
  LowParts(std::string_view packed, uint32_t width) : packed_(packed), width_(width) {}

  uint64_t operator[](size_t i) const {
    const size_t bit = i * width_;
    return (Bits(bit / 8) >> (bit % 8)) & ((uint64_t{1} << width_) - 1);
  }

 private:
  // The 32 bits from this byte on, with zeros beyond the end: more than a part and the bits before it.
  [[nodiscard]] uint64_t Bits(size_t byte) const {
    const auto at = [this](size_t i) { return uint64_t{static_cast<unsigned char>(packed_[i])}; };
    if (byte + 4 <= packed_.size()) {
      return at(byte) | at(byte + 1) << 8 | at(byte + 2) << 16 | at(byte + 3) << 24;
    }
    uint64_t bits = 0;
    for (size_t i = byte; i < packed_.size(); ++i) bits |= at(i) << (8 * (i - byte));
    return bits;
  }

  std::string_view packed_;
  uint32_t width_;
};

absl::Status CheckPrediction(std::string_view what, const SparseValues& in) {
  if (in.coding > kMaxCoding) return CheckRange(fmt::format("{}: coding", what), in.coding, {0, kMaxCoding});
  if (in.low_bits > kMaxLowBits) {
    return CheckRange(fmt::format("{}: low_bits", what), in.low_bits, {0, kMaxLowBits});
  }
  if (in.unit > kMaxUnit) return absl::InvalidArgumentError(fmt::format("{}: unit {} is too large", what, in.unit));
  if (!in.rests.empty() && in.rests.size() != in.values.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} rests for {} values", what, in.rests.size(), in.values.size()));
  }
  const size_t bytes = (in.values.size() * in.low_bits + 7) / 8;
  if (in.lows.size() == bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{}: {} bytes of low bits, expected {}", what, in.lows.size(), bytes));
}

// Makes the high parts of numbers the numbers, minus what was predicted of them.
std::vector<int64_t> TakeDifferences(SparseValues&& in) {
  std::vector<int64_t> differences = std::move(in.values);
  if (const uint32_t width = in.low_bits; width > 0) {
    const LowParts low(in.lows, width);
    for (size_t i = 0; i < differences.size(); ++i) {
      differences[i] = static_cast<int64_t>((static_cast<uint64_t>(differences[i]) << width) | low[i]);
    }
  }
  if (const uint64_t unit = in.unit; unit > 1) {
    for (int64_t& number : differences) number = static_cast<int64_t>(static_cast<uint64_t>(number) * unit);
  }
  for (size_t i = 0; i < in.rests.size(); ++i) differences[i] = WrapAdd(differences[i], in.rests[i]);
  return differences;
}

void AddUp(std::span<int64_t> differences) {
  int64_t value = 0;
  for (int64_t& difference : differences) difference = value = WrapAdd(value, difference);
}

// Puts the values in the place of the differences; SparseColumn::coding tells what was predicted.
void AddPredicted(std::span<int64_t> values, uint32_t coding) {
  if (coding == kPlainValues) return;
  const size_t summed = coding == 0 ? values.size() : std::min<size_t>(values.size(), coding + 1);
  AddUp(values.first(summed));
  for (size_t i = summed; i < values.size(); ++i) {
    const int64_t step = WrapSub(values[i - coding], values[i - coding - 1]);
    values[i] = WrapAdd(values[i], WrapAdd(values[i - 1], step));
  }
}

absl::StatusOr<std::vector<int64_t>> GetPredicted(std::string_view what, SparseValues in, Limits limits) {
  LOCKSTEP_RETURN_IF_ERROR(CheckPrediction(what, in));
  const uint32_t coding = in.coding;
  std::vector<int64_t> values = TakeDifferences(std::move(in));
  AddPredicted(values, coding);
  LOCKSTEP_RETURN_IF_ERROR(CheckRanges(what, values, limits));
  return values;
}

absl::Status PackedTwice(std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: packed twice", what));
}

absl::StatusOr<std::vector<int64_t>> GetOneARow(std::string_view what, SparseValues in, size_t rows, Limits limits) {
  if (in.values.size() != rows || !in.runs.empty()) {
    return absl::InvalidArgumentError(fmt::format("{}: {} packed values for {} rows", what, in.values.size(), rows));
  }
  return GetPredicted(what, std::move(in), limits);
}

// Of so many values.
absl::StatusOr<std::vector<OptionalColumn::Run>> GetRuns(std::string_view what, std::span<const uint32_t> lengths,
                                                         size_t values, size_t rows) {
  std::vector<OptionalColumn::Run> runs;
  size_t row = 0;
  size_t taken = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const size_t run = lengths[i];
    const bool with = i % 2 == 1;
    const bool fits = run <= rows - row && (run > 0 || i == 0);
    if (!fits || (with && run > values - taken)) {
      return absl::InvalidArgumentError(fmt::format("{}: run {} of {} rows does not fit", what, i, run));
    }
    if (with) {
      runs.push_back({row, run, taken});
      taken += run;
    }
    row += run;
  }
  if ((!lengths.empty() && row != rows) || taken != values) {
    return absl::InvalidArgumentError(
        fmt::format("{}: runs of {} rows for {}, {} of {} values used", what, row, rows, taken, values));
  }
  return runs;
}

}  // namespace

absl::Status CheckRanges(std::string_view what, std::span<const int64_t> values, Limits limits) {
  if (limits.min == kAnyMin && limits.max == kAnyMax) return absl::OkStatus();
  // One comparison each, and no branch.
  const auto width = static_cast<uint64_t>(WrapSub(limits.max, limits.min));
  bool within = true;
  for (const int64_t value : values) within &= static_cast<uint64_t>(WrapSub(value, limits.min)) <= width;
  if (within) return absl::OkStatus();
  for (const int64_t value : values) LOCKSTEP_RETURN_IF_ERROR(CheckRange(what, value, limits));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> GetColumn(std::string_view what, std::vector<int64_t> deltas, size_t rows,
                                               int64_t fallback, Limits limits) {
  LOCKSTEP_RETURN_IF_ERROR(CheckLength(what, static_cast<int>(deltas.size()), rows));
  if (deltas.empty()) return std::vector<int64_t>(rows, fallback);
  AddUp(deltas);
  LOCKSTEP_RETURN_IF_ERROR(CheckRanges(what, deltas, limits));
  return deltas;
}

absl::StatusOr<std::vector<int64_t>> GetColumn(std::string_view what, const Ints& in, size_t rows, int64_t fallback,
                                               Limits limits) {
  return GetColumn(what, std::vector<int64_t>(in.begin(), in.end()), rows, fallback, limits);
}

absl::StatusOr<Numbers> GetNumbers(std::string_view what, std::vector<int64_t> deltas, size_t rows, int64_t fallback,
                                   Limits limits) {
  LOCKSTEP_RETURN_IF_ERROR(CheckLength(what, static_cast<int>(deltas.size()), rows));
  if (deltas.empty()) return Numbers(fallback);
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<int64_t> values, GetColumn(what, std::move(deltas), rows, fallback, limits));
  return Numbers(std::move(values));
}

absl::StatusOr<std::optional<std::vector<int64_t>>> GetPacked(std::string_view what, WireColumns& in, int field,
                                                              size_t rows, Limits limits) {
  if (in.PackedCount(field) == 0) return std::optional<std::vector<int64_t>>();
  if (in.PackedCount(field) > 1) return PackedTwice(what);
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<int64_t> values, GetOneARow(what, in.TakePacked(field), rows, limits));
  return std::optional(std::move(values));
}

absl::StatusOr<Numbers> GetNumbers(std::string_view what, WireColumns& in, int field, size_t rows, int64_t fallback,
                                   Limits limits) {
  LOCKSTEP_ASSIGN_OR_RETURN(auto values, GetPacked(what, in, field, rows, limits));
  if (!values) return GetNumbers(what, in.TakeList(field), rows, fallback, limits);
  return values->empty() ? Numbers(fallback) : Numbers(*std::move(values));
}

absl::StatusOr<Numbers> GetNumbers(std::string_view what, const PackedColumns& packed, int field, const Ints& plain,
                                   size_t rows, int64_t fallback, Limits limits) {
  const v1::SparseColumn* found = nullptr;
  for (const v1::PackedColumn& column : packed) {
    if (column.field() != static_cast<uint32_t>(field)) continue;
    if (found != nullptr) return PackedTwice(what);
    found = &column.column();
  }
  if (found == nullptr) {
    return GetNumbers(what, std::vector<int64_t>(plain.begin(), plain.end()), rows, fallback, limits);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<int64_t> values, GetOneARow(what, SparseValuesOf(*found), rows, limits));
  return values.empty() ? Numbers(fallback) : Numbers(std::move(values));
}

absl::StatusOr<OptionalColumn> GetOptional(std::string_view what, SparseValues in, size_t rows, Limits limits) {
  const size_t values = in.values.size();
  if (values > kMaxRows) {
    return CheckRange(fmt::format("{}: values", what), static_cast<int64_t>(values), {0, int64_t{kMaxRows}});
  }
  const std::vector<uint32_t> lengths = std::move(in.runs);
  OptionalColumn out;
  LOCKSTEP_ASSIGN_OR_RETURN(out.values, GetPredicted(what, std::move(in), limits));
  LOCKSTEP_ASSIGN_OR_RETURN(out.runs, GetRuns(what, lengths, values, rows));
  return out;
}

Numbers OptionalColumn::Over(Numbers others, size_t rows) const {
  if (runs.empty()) return others;
  if (values.size() == rows) return Numbers(values);
  std::vector<int64_t> all = std::move(others).Take(rows);
  for (const Run& run : runs) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(run.first_value), run.rows,
                all.begin() + static_cast<std::ptrdiff_t>(run.first_row));
  }
  return Numbers(std::move(all));
}

absl::StatusOr<Sparse> GetSparse(std::string_view what, const v1::SparseColumn& in, size_t rows, Limits limits) {
  LOCKSTEP_ASSIGN_OR_RETURN(OptionalColumn column, GetOptional(what, SparseValuesOf(in), rows, limits));
  Sparse values(rows);
  column.Transform([&values](size_t row, int64_t value) {
    values[row] = value;
    return value;
  });
  return values;
}

}  // namespace lockstep::codec
