// The shared pieces of the wire form: delta columns, optional columns, compressed groups, sketches and checked numbers.
// What is read for whole blocks at once: column_reader.h.
//
// Decoding treats every byte as a stranger's: lengths, ranges and sizes are checked before use, errors are
// kInvalidArgument naming the column. Arithmetic is modulo 2^64, so that no input overflows. Pure, thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message_lite.h>
#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/model/trace_record.h"
#include "analysis/stats/sketch.h"
#include "lockstep/v1/batch.pb.h"

namespace lockstep::codec {

using Ints = google::protobuf::RepeatedField<int64_t>;

// SparseColumn::coding: 0, plain values, or a distance up to this. Width of packed low bits.
inline constexpr uint32_t kPlainValues = 1;
inline constexpr uint32_t kMaxCoding = 1 << 16;
inline constexpr uint32_t kMaxLowBits = 24;

// Bounds of decoded numbers: times lie within 2^62 of the epoch and lengths below 2^61, so that start + length fits.
inline constexpr int64_t kMaxTimeNs = int64_t{1} << 62;
inline constexpr int64_t kMaxLengthNs = int64_t{1} << 61;
inline constexpr int64_t kAnyMin = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kAnyMax = std::numeric_limits<int64_t>::max();

// Decoded sizes of compressed groups: instances are plain numbers, the others hold messages that take more room in
// memory.
inline constexpr size_t kMaxInstanceBytes = size_t{64} << 20;
inline constexpr size_t kMaxTableBytes = size_t{8} << 20;
// What the messages of one group of columns may take once they are read.
inline constexpr size_t kMaxParsedBytes = size_t{128} << 20;
// Rows of one kind in a batch; a batch is cut at 4,096 instances and 256 steps.
inline constexpr uint32_t kMaxRows = uint32_t{1} << 17;
inline constexpr uint32_t kMaxGroups = uint32_t{1} << 15;  // communicators of the instances of a batch

constexpr int64_t WrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
constexpr int64_t WrapSub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

struct Limits {
  int64_t min = kAnyMin;
  int64_t max = kAnyMax;
};
inline constexpr Limits kTimeLimits = {-kMaxTimeNs, kMaxTimeNs};
inline constexpr Limits kAmountLimits = {0, kMaxTimeNs};  // of counts and of sums of lengths
inline constexpr Limits kNameLimits = {0, kNoId - 1};
[[nodiscard]] absl::Status CheckRange(std::string_view what, int64_t value, Limits limits);
[[nodiscard]] absl::Status CheckRows(std::string_view what, uint32_t rows);
// Fails unless a column of this many entries may stand for so many rows (equal, or none at all).
[[nodiscard]] absl::Status CheckLength(std::string_view what, int entries, size_t rows);

// One int64 column of a row type, both ways.
template <typename Row, typename Columns>
struct Column {
  std::string_view name;
  int64_t (*get)(const Row&);
  void (*set)(Row&, int64_t);
  Ints* (Columns::*mutable_values)();
  const Ints& (Columns::*values)() const;
  int64_t fallback = 0;  // value of every row when the column is left out
  Limits limits = {};
};
// Entry of a table of columns: wire name of the column, member expression of the row, default, limits.
#define LOCKSTEP_COLUMN(Row, Columns, wire, member, fallback, ...)                                  \
  Column<Row, Columns> {                                                                            \
#wire, [](const Row& row) { return static_cast<int64_t>(row.member); },                           \
        [](Row& row, int64_t value) { row.member = static_cast<decltype(row.member)>(value); },       \
        &Columns::mutable_##wire, &Columns::wire, static_cast<int64_t>(fallback), Limits __VA_ARGS__ \
  }

void PutDeltas(std::span<const int64_t> values, Ints* out);
// Appends; left out when all values equal the fallback.
void PutColumn(std::span<const int64_t> values, int64_t fallback, Ints* out);

// Optional columns: nullopt = the row has no value.
using Sparse = std::vector<std::optional<int64_t>>;
void PutSparse(const Sparse& values, v1::SparseColumn* out);

// A column of which every row has a value, packed (SparseColumn::low_bits, unit) under this field number. False, and
// nothing added, where that has no advantage over plain deltas.
using PackedColumns = google::protobuf::RepeatedPtrField<v1::PackedColumn>;
[[nodiscard]] bool PutPacked(std::span<const int64_t> values, uint32_t field, PackedColumns* out);
template <typename Columns>
[[nodiscard]] uint32_t FieldNumber(std::string_view name) {
  return static_cast<uint32_t>(Columns::descriptor()->FindFieldByName(std::string(name))->number());
}

template <typename Row, typename Columns>
void EncodeColumns(std::span<const Column<Row, Columns>> columns, std::span<const Row* const> rows, Columns* out) {
  std::vector<int64_t> values(rows.size());
  for (const auto& column : columns) {
    for (size_t i = 0; i < rows.size(); ++i) values[i] = column.get(*rows[i]);
    if constexpr (requires { out->mutable_packed(); }) {
      if (PutPacked(values, FieldNumber<Columns>(column.name), out->mutable_packed())) continue;
    }
    PutColumn(values, column.fallback, (out->*column.mutable_values)());
  }
}

template <typename Row, typename Columns>
absl::Status DecodeColumns(std::span<const Column<Row, Columns>> columns, const Columns& in, std::span<Row> rows) {
  for (const auto& column : columns) {
    const Ints& deltas = (in.*column.values)();
    LOCKSTEP_RETURN_IF_ERROR(CheckLength(column.name, deltas.size(), rows.size()));
    int64_t value = deltas.empty() ? column.fallback : 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!deltas.empty()) {
        value = WrapAdd(value, deltas.Get(static_cast<int>(i)));
        if (value < column.limits.min || value > column.limits.max) {
          return CheckRange(column.name, value, column.limits);
        }
      }
      column.set(rows[i], value);
    }
  }
  return absl::OkStatus();
}

template <typename Row>
std::vector<const Row*> PointersTo(const std::vector<Row>& rows) {
  std::vector<const Row*> pointers;
  pointers.reserve(rows.size());
  for (const Row& row : rows) pointers.push_back(&row);
  return pointers;
}

// Compressed groups. Pack leaves `out` untouched when the message is empty; it is deterministic for one zstd version.
void Pack(const google::protobuf::MessageLite& message, v1::CompressedColumns* out);
// The serialised message of this type; empty where there is none.
[[nodiscard]] absl::StatusOr<std::string> Inflate(std::string_view what, const v1::CompressedColumns& in,
                                                  size_t max_bytes, const google::protobuf::Descriptor& type);
[[nodiscard]] absl::Status Unpack(std::string_view what, const v1::CompressedColumns& in, size_t max_bytes,
                                  google::protobuf::Message* message);
// The same as one self-contained string, for stores.
[[nodiscard]] std::string PackToBytes(const google::protobuf::MessageLite& message);
[[nodiscard]] absl::StatusOr<v1::CompressedColumns> ParseCompressed(std::string_view what, std::string_view bytes);
[[nodiscard]] absl::Status UnpackBytes(std::string_view what, std::string_view bytes, size_t max_bytes,
                                       google::protobuf::Message* message);

// Sketches; an empty one is no bytes.
void PutSketch(const Sketch& sketch, std::string* out);
[[nodiscard]] absl::StatusOr<Sketch> GetSketch(std::string_view what, std::string_view bytes);

// Enumerations of the model: 0 .. last.
template <typename Enum>
absl::Status GetEnum(std::string_view what, uint32_t value, Enum last, Enum* out) {
  LOCKSTEP_RETURN_IF_ERROR(CheckRange(what, value, {0, static_cast<int64_t>(last)}));
  *out = static_cast<Enum>(value);
  return absl::OkStatus();
}

}  // namespace lockstep::codec
