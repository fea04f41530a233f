// Binary form of a sketch.
//
//   byte 1 (version), byte 0 exact | 1 histogram, varint number of entries, then
//   exact:     entries (value, times), values as differences
//   histogram: varints min, max, sum high, sum low, squares high, squares low, then entries (index + 32768, times)
//
// Numbers that follow from the entries are not stored. Every sketch has one encoding; Decode refuses all others.
#include <absl/status/status.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analysis/base/saturating.h"
#include "analysis/base/status_macros.h"
#include "analysis/stats/sketch.h"

namespace lockstep {
namespace {

constexpr char kVersion = 1;
constexpr char kExactForm = 0;
constexpr char kHistogramForm = 1;
constexpr uint64_t kIndexOffset = 32768;
constexpr uint64_t kMaxIndices = 65536;
constexpr auto kMaxValue = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

void PutVarint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>((value & 0x7f) | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void PutWide(std::string& out, uint128 value) {
  PutVarint(out, static_cast<uint64_t>(value >> 64));
  PutVarint(out, static_cast<uint64_t>(value));
}

// Entries with ascending keys, the key as difference from the one before.
class EntryWriter {
 public:
  explicit EntryWriter(std::string& out) : out_(&out) {}
  void Put(uint64_t key, int64_t times) {
    PutVarint(*out_, key - previous_);
    PutVarint(*out_, static_cast<uint64_t>(times));
    previous_ = key;
  }

 private:
  std::string* out_;
  uint64_t previous_ = 0;
};

class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] absl::Status Error(std::string_view what) const {
    return absl::InvalidArgumentError(fmt::format("sketch, byte {}: {}", position_, what));
  }
  [[nodiscard]] size_t left() const { return bytes_.size() - position_; }
  absl::StatusOr<char> Byte();
  // A shortest-form varint of at most `limit`.
  absl::StatusOr<uint64_t> Varint(uint64_t limit);
  absl::StatusOr<uint128> Wide();
  // Calls fn(key, times) for `n` entries with strictly ascending keys of at most max_key.
  template <typename Fn>
  absl::Status Entries(uint64_t n, uint64_t max_key, Fn fn);

 private:
  std::string_view bytes_;
  size_t position_ = 0;
};

absl::StatusOr<char> Input::Byte() {
  if (left() == 0) return Error("ends early");
  return bytes_[position_++];
}

absl::StatusOr<uint64_t> Input::Varint(uint64_t limit) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    LOCKSTEP_ASSIGN_OR_RETURN(const char raw, Byte());
    const auto byte = static_cast<uint64_t>(static_cast<unsigned char>(raw));
    if (shift == 63 && byte > 1) return Error("number of more than 64 bits");
    value |= (byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    if (byte == 0 && shift > 0) return Error("number not in its shortest form");
    if (value > limit) return Error(fmt::format("number {} above its limit {}", value, limit));
    return value;
  }
  return Error("number of more than 64 bits");
}

absl::StatusOr<uint128> Input::Wide() {
  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t high, Varint(std::numeric_limits<uint64_t>::max()));
  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t low, Varint(std::numeric_limits<uint64_t>::max()));
  return (uint128{high} << 64) | low;
}

template <typename Fn>
absl::Status Input::Entries(uint64_t n, uint64_t max_key, Fn fn) {
  uint64_t key = 0;
  uint64_t room = Sketch::kMaxDecodedCount;
  for (uint64_t i = 0; i < n; ++i) {
    LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t step, Varint(max_key - key));
    LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t times, Varint(room));
    if ((step == 0 && i > 0) || times == 0) return Error("entries not ascending, or an empty one");
    key += step;
    room -= times;
    fn(key, static_cast<int64_t>(times));
  }
  if (left() > 0) return Error(fmt::format("{} bytes after the end", left()));
  return absl::OkStatus();
}

uint128 SquaresOf(int64_t value, int64_t times) {
  const auto magnitude = static_cast<uint128>(value);
  const uint128 square = magnitude * magnitude;
  return square != 0 && static_cast<uint128>(times) > kMaxUint128 / square ? kMaxUint128
                                                                           : square * static_cast<uint128>(times);
}

// What the buckets alone say about the moments.
struct MomentBounds {
  uint128 sum_low = 0, sum_high = 0;
  uint128 squares_low = 0, squares_high = 0;

  void Add(BucketBounds bounds, int64_t times) {
    const int64_t first = bounds.upper > bounds.lower ? bounds.lower + 1 : bounds.upper;
    sum_low += static_cast<uint128>(first) * static_cast<uint128>(times);
    sum_high += static_cast<uint128>(bounds.upper) * static_cast<uint128>(times);
    squares_low = AddStopping(squares_low, SquaresOf(first, times));
    squares_high = AddStopping(squares_high, SquaresOf(bounds.upper, times));
  }
};

// sum^2 <= n squares, which the standard deviation relies on; false also where it would not fit.
bool SquaresCoverSum(uint128 sum, uint128 squares, int64_t count) {
  if (count == 0 || squares == kMaxUint128) return true;
  const uint128 quotient = sum / static_cast<uint128>(count);
  const uint128 rest = sum % static_cast<uint128>(count);
  return quotient == 0 || sum + rest <= squares / quotient;
}

}  // namespace

class SketchDecoder {
 public:
  static absl::StatusOr<Sketch> Exact(Input& input);
  static absl::StatusOr<Sketch> Histogram(Input& input);

 private:
  static absl::Status ReadBuckets(Input& input, uint64_t n, Sketch& sketch, MomentBounds& bounds);
  static absl::Status CheckExtremes(const Input& input, const Sketch& sketch);
};

absl::StatusOr<Sketch> SketchDecoder::Exact(Input& input) {
  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t n, input.Varint(Sketch::kMaxDistinct));
  Sketch sketch;
  constexpr size_t kLeastBytes = 2;  // of an entry
  sketch.values_.Reserve(std::min<size_t>(n, input.left() / kLeastBytes));
  const auto add = [&](uint64_t value, int64_t times) { sketch.Add(static_cast<int64_t>(value), times); };
  LOCKSTEP_RETURN_IF_ERROR(input.Entries(n, kMaxValue, add));
  return sketch;
}

absl::StatusOr<Sketch> SketchDecoder::Histogram(Input& input) {
  Sketch sketch;
  sketch.exact_ = false;
  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t n, input.Varint(kMaxIndices));
  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t min, input.Varint(kMaxValue));
  LOCKSTEP_ASSIGN_OR_RETURN(const uint64_t max, input.Varint(kMaxValue));
  LOCKSTEP_ASSIGN_OR_RETURN(sketch.sum_, input.Wide());
  LOCKSTEP_ASSIGN_OR_RETURN(sketch.squares_, input.Wide());
  sketch.min_ = static_cast<int64_t>(min);
  sketch.max_ = static_cast<int64_t>(max);
  MomentBounds bounds;
  LOCKSTEP_RETURN_IF_ERROR(ReadBuckets(input, n, sketch, bounds));
  LOCKSTEP_RETURN_IF_ERROR(CheckExtremes(input, sketch));
  const bool sum_fits = bounds.sum_low <= sketch.sum_ && sketch.sum_ <= bounds.sum_high;
  const bool squares_fit = bounds.squares_low <= sketch.squares_ && sketch.squares_ <= bounds.squares_high;
  if (!sum_fits || !squares_fit || !SquaresCoverSum(sketch.sum_, sketch.squares_, sketch.count_)) {
    return input.Error("sum or sum of squares that the buckets cannot have");
  }
  return sketch;
}

absl::Status SketchDecoder::ReadBuckets(Input& input, uint64_t n, Sketch& sketch, MomentBounds& bounds) {
  bool reachable = true;
  const auto add = [&](uint64_t key, int64_t times) {
    const auto index = static_cast<int16_t>(static_cast<int64_t>(key) - static_cast<int64_t>(kIndexOffset));
    const BucketBounds bucket = BoundsOf(index);
    reachable = reachable && (index == kZeroBucket || bucket.lower < bucket.upper);
    if (!reachable) return;
    sketch.buckets_.Add(index, times);
    sketch.count_ += times;
    bounds.Add(bucket, times);
  };
  LOCKSTEP_RETURN_IF_ERROR(input.Entries(n, kMaxIndices - 1, add));
  return reachable ? absl::OkStatus() : input.Error("bucket that no integer falls into");
}

absl::Status SketchDecoder::CheckExtremes(const Input& input, const Sketch& sketch) {
  if (sketch.buckets_.empty()) {
    const bool zero = sketch.min_ == 0 && sketch.max_ == 0;
    return zero ? absl::OkStatus() : input.Error("extremes without values");
  }
  const bool in_place = BucketIndex(sketch.min_) == sketch.buckets_.front() &&
                        BucketIndex(sketch.max_) == sketch.buckets_.back() && sketch.min_ <= sketch.max_ &&
                        (sketch.count_ > 1 || sketch.min_ == sketch.max_);
  return in_place ? absl::OkStatus() : input.Error("minimum or maximum outside the first or last bucket");
}

void Sketch::EncodeTo(std::string& out) const {
  out.push_back(kVersion);
  out.push_back(exact_ ? kExactForm : kHistogramForm);
  PutVarint(out, entries());
  if (!exact_) {
    PutVarint(out, static_cast<uint64_t>(min_));
    PutVarint(out, static_cast<uint64_t>(max_));
    PutWide(out, sum_);
    PutWide(out, squares_);
  }
  EntryWriter writer(out);
  values_.ForEach([&](int64_t value, int64_t times) { writer.Put(static_cast<uint64_t>(value), times); });
  buckets_.ForEach([&](int16_t index, int64_t times) {
    writer.Put(static_cast<uint64_t>(index + static_cast<int64_t>(kIndexOffset)), times);
  });
}

absl::StatusOr<Sketch> Sketch::Decode(std::string_view bytes) {
  Input input(bytes);
  LOCKSTEP_ASSIGN_OR_RETURN(const char version, input.Byte());
  if (version != kVersion)
    return input.Error(fmt::format("version {}, this program reads 1", static_cast<int>(version)));
  LOCKSTEP_ASSIGN_OR_RETURN(const char form, input.Byte());
  if (form == kExactForm) return SketchDecoder::Exact(input);
  if (form == kHistogramForm) return SketchDecoder::Histogram(input);
  return input.Error(fmt::format("form {}, known are 0 and 1", static_cast<int>(form)));
}

}  // namespace lockstep
