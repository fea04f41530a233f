#include "proto/column_codec.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "analysis/base/check.h"

namespace lockstep::codec {
namespace {

constexpr int kZstdLevel = 3;

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// Making a context costs more than compressing a small group: keep one a thread.
ZSTD_CCtx* Compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  LOCKSTEP_CHECK(context != nullptr);
  return context.get();
}

absl::StatusOr<std::string> Inflate(std::string_view what, const v1::CompressedColumns& in, size_t max_bytes) {
  if (in.decoded_bytes() > max_bytes) {
    return absl::InvalidArgumentError(
        fmt::format("{}: declares {} decoded bytes, the limit is {}", what, in.decoded_bytes(), max_bytes));
  }
  const std::string& packed = in.zstd();
  if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != in.decoded_bytes()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: no zstd frame of the declared {} decoded bytes", what, in.decoded_bytes()));
  }
  std::string bytes(in.decoded_bytes(), '\0');
  const size_t size = ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) != 0 || size != bytes.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: damaged zstd frame ({})", what, ZSTD_isError(size) != 0 ? ZSTD_getErrorName(size) : "short"));
  }
  return bytes;
}

constexpr uint32_t kPlainValues = 1;
constexpr uint32_t kMaxCoding = 16;
// Collectives of a layer or two repeat: what is tried when encoding.
constexpr uint32_t kCodings[] = {0, kPlainValues, 2, 4};

// What SparseColumn::coding predicts of values[i] from the values before it.
int64_t Predicted(std::span<const int64_t> values, size_t i, uint32_t coding) {
  if (coding == kPlainValues || i == 0) return 0;
  if (coding == 0 || i <= coding) return values[i - 1];
  return WrapAdd(values[i - 1], WrapSub(values[i - coding], values[i - coding - 1]));
}

// Bits of all differences to the prediction: close to what is left after compression.
int64_t CostOf(std::span<const int64_t> values, uint32_t coding) {
  int64_t bits = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t difference = WrapSub(values[i], Predicted(values, i, coding));
    bits += std::bit_width(static_cast<uint64_t>(difference < 0 ? ~difference : difference));
  }
  return bits;
}

void PutPredicted(std::span<const int64_t> values, v1::SparseColumn* out) {
  uint32_t best = 0;
  int64_t best_cost = INT64_MAX;
  for (const uint32_t coding : kCodings) {
    const int64_t cost = CostOf(values, coding);
    if (cost < best_cost) {
      best = coding;
      best_cost = cost;
    }
  }
  out->set_coding(best);
  for (size_t i = 0; i < values.size(); ++i) out->add_values(WrapSub(values[i], Predicted(values, i, best)));
}

absl::StatusOr<std::vector<int64_t>> GetPredicted(std::string_view what, const v1::SparseColumn& in, Limits limits) {
  LOCKSTEP_RETURN_IF_ERROR(CheckRange(fmt::format("{}: coding", what), in.coding(), {0, kMaxCoding}));
  std::vector<int64_t> values;
  values.reserve(static_cast<size_t>(in.values_size()));
  for (int i = 0; i < in.values_size(); ++i) {
    const int64_t value = WrapAdd(Predicted(values, static_cast<size_t>(i), in.coding()), in.values(i));
    LOCKSTEP_RETURN_IF_ERROR(CheckRange(what, value, limits));
    values.push_back(value);
  }
  return values;
}

}  // namespace

absl::Status CheckRange(std::string_view what, int64_t value, Limits limits) {
  if (value >= limits.min && value <= limits.max) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{}: value {} outside {}..{}", what, value, limits.min, limits.max));
}

absl::Status CheckRows(std::string_view what, uint32_t rows) {
  return CheckRange(fmt::format("{}: number of rows", what), rows, {0, kMaxRows});
}

absl::Status CheckLength(std::string_view what, int entries, size_t rows) {
  if (entries == 0 || static_cast<size_t>(entries) == rows) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{}: {} entries for {} rows", what, entries, rows));
}

void PutDeltas(std::span<const int64_t> values, Ints* out) {
  out->Reserve(out->size() + static_cast<int>(values.size()));
  int64_t previous = 0;
  for (const int64_t value : values) {
    out->AddAlreadyReserved(WrapSub(value, previous));
    previous = value;
  }
}

void PutColumn(std::span<const int64_t> values, int64_t fallback, Ints* out) {
  const auto plain = [fallback](int64_t value) { return value == fallback; };
  if (!std::all_of(values.begin(), values.end(), plain)) PutDeltas(values, out);
}

absl::StatusOr<std::vector<int64_t>> GetColumn(std::string_view what, const Ints& in, size_t rows, int64_t fallback,
                                               Limits limits) {
  LOCKSTEP_RETURN_IF_ERROR(CheckLength(what, in.size(), rows));
  std::vector<int64_t> values(rows, fallback);
  int64_t value = 0;
  for (int i = 0; i < in.size(); ++i) {
    value = WrapAdd(value, in.Get(i));
    if (value < limits.min || value > limits.max) return CheckRange(what, value, limits);
    values[static_cast<size_t>(i)] = value;
  }
  return values;
}

void PutSparse(const Sparse& values, v1::SparseColumn* out) {
  std::vector<int64_t> present;
  bool with = false;
  uint32_t run = 0;
  for (const auto& value : values) {
    if (value.has_value() != with) {
      out->add_runs(run);
      with = !with;
      run = 0;
    }
    ++run;
    if (value.has_value()) present.push_back(*value);
  }
  if (run > 0) out->add_runs(run);
  PutPredicted(present, out);
}

absl::StatusOr<Sparse> GetSparse(std::string_view what, const v1::SparseColumn& in, size_t rows, Limits limits) {
  LOCKSTEP_RETURN_IF_ERROR(CheckRange(fmt::format("{}: values", what), in.values_size(), {0, int64_t{kMaxRows}}));
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<int64_t> present, GetPredicted(what, in, limits));
  Sparse values;
  values.reserve(rows);
  int taken = 0;
  for (int i = 0; i < in.runs_size(); ++i) {
    const uint32_t run = in.runs(i);
    const bool with = i % 2 == 1;
    const bool fits = run <= rows - values.size() && (run > 0 || i == 0);
    if (!fits || (with && run > static_cast<uint32_t>(in.values_size() - taken))) {
      return absl::InvalidArgumentError(fmt::format("{}: run {} of {} rows does not fit", what, i, run));
    }
    if (!with) values.resize(values.size() + run);
    for (uint32_t k = 0; with && k < run; ++k) {
      values.emplace_back(present[static_cast<size_t>(taken++)]);
    }
  }
  if ((in.runs_size() > 0 && values.size() != rows) || taken != in.values_size()) {
    return absl::InvalidArgumentError(fmt::format("{}: runs of {} rows for {}, {} of {} values used", what,
                                                  values.size(), rows, taken, in.values_size()));
  }
  values.resize(rows);
  return values;
}

void Pack(const google::protobuf::MessageLite& message, v1::CompressedColumns* out) {
  const std::string bytes = message.SerializeAsString();
  if (bytes.empty()) return;
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size =
      ZSTD_compressCCtx(Compressor(), packed.data(), packed.size(), bytes.data(), bytes.size(), kZstdLevel);
  LOCKSTEP_CHECK(ZSTD_isError(size) == 0);
  packed.resize(size);
  out->set_decoded_bytes(static_cast<uint32_t>(bytes.size()));
  out->set_zstd(packed);
}

absl::Status Unpack(std::string_view what, const v1::CompressedColumns& in, size_t max_bytes,
                    google::protobuf::MessageLite* message) {
  if (in.decoded_bytes() == 0 && in.zstd().empty()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string bytes, Inflate(what, in, max_bytes));
  if (message->ParseFromString(bytes)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: {} decoded bytes are no {}", what, bytes.size(), message->GetTypeName()));
}

std::string PackToBytes(const google::protobuf::MessageLite& message) {
  v1::CompressedColumns packed;
  Pack(message, &packed);
  return packed.SerializeAsString();
}

absl::Status UnpackBytes(std::string_view what, std::string_view bytes, size_t max_bytes,
                         google::protobuf::MessageLite* message) {
  v1::CompressedColumns packed;
  if (!packed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(fmt::format("{}: {} bytes are no compressed columns", what, bytes.size()));
  }
  return Unpack(what, packed, max_bytes, message);
}

void PutSketch(const Sketch& sketch, std::string* out) {
  if (sketch != Sketch()) sketch.EncodeTo(*out);
}

absl::StatusOr<Sketch> GetSketch(std::string_view what, std::string_view bytes) {
  if (bytes.empty()) return Sketch();
  absl::StatusOr<Sketch> sketch = Sketch::Decode(bytes);
  if (!sketch.ok()) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", what, std::string(sketch.status().message())));
  }
  return sketch;
}

}  // namespace lockstep::codec
