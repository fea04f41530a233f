#include "proto/column_codec.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "analysis/base/check.h"
#include "proto/parsed_size.h"

namespace lockstep::codec {
namespace {

constexpr int kZstdLevel = 3;
constexpr int kMinMatch = 7;  // shorter ones in noise cost more than they save

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// Making a context costs more than a small group does: keep one a thread.
ZSTD_CCtx* Compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  LOCKSTEP_CHECK(context != nullptr);
  return context.get();
}

struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

ZSTD_DCtx* Decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context(ZSTD_createDCtx());
  LOCKSTEP_CHECK(context != nullptr);
  return context.get();
}

// 256 * log2(n), rounded down, n > 0; in integers, because the choice decides about bytes that are hashed.
int64_t Log2Times256(uint64_t n) {
  const int exponent = static_cast<int>(std::bit_width(n)) - 1;
  uint64_t mantissa = exponent > 31 ? n >> (exponent - 31) : n << (31 - exponent);  // in [1, 2) times 2^31
  int64_t log = int64_t{exponent} * 256;
  for (int64_t step = 128; step > 0; step /= 2) {
    mantissa = (mantissa * mantissa) >> 31;
    if (mantissa < uint64_t{1} << 32) continue;
    mantissa >>= 1;
    log += step;
  }
  return log;
}

// n times the logarithm above; 0 of 0.
int64_t Weight(uint64_t n) {
  constexpr size_t kShort = 1024;
  static const std::array<int64_t, kShort> short_ones = [] {
    std::array<int64_t, kShort> weights{};
    for (size_t k = 1; k < kShort; ++k) weights[k] = static_cast<int64_t>(k) * Log2Times256(k);
    return weights;
  }();
  return n < kShort ? short_ones[n] : static_cast<int64_t>(n) * Log2Times256(n);
}

// How often each byte occurs, and what such bytes cost when they are coded by their frequencies.
class ByteCounts {
 public:
  void Add(const ByteCounts& other) {
    for (size_t byte = 0; byte < counts_.size(); ++byte) {
      if (other.counts_[byte] == 0) continue;
      counts_[byte] += other.counts_[byte];
      const int64_t weight = Weight(counts_[byte]);
      weight_ += weight - std::exchange(weights_[byte], weight);
    }
    total_ += other.total_;
  }
  explicit ByteCounts(std::string_view bytes = {}) : total_(bytes.size()) {
    for (const char byte : bytes) ++counts_[static_cast<unsigned char>(byte)];
    for (size_t byte = 0; byte < counts_.size(); ++byte) weight_ += weights_[byte] = Weight(counts_[byte]);
  }
  // 256 times the bits: each byte has the logarithm of all over its own count.
  [[nodiscard]] int64_t Cost() const { return Weight(total_) - weight_; }

 private:
  std::array<uint64_t, 256> counts_{};
  std::array<int64_t, 256> weights_{};
  uint64_t total_ = 0;
  int64_t weight_ = 0;  // sum of the weights
};

// Cuts the bytes where their statistics change, as they do from column to column: zstd has one table of frequencies a
// block. Returns the ends of the parts.
std::vector<size_t> AlikeParts(std::string_view bytes) {
  constexpr size_t kChunk = 512;
  constexpr int64_t kBlockCost = int64_t{256} * 8 * 60;  // a block's header and table
  std::vector<size_t> ends;
  ByteCounts part;
  for (size_t begin = 0; begin < bytes.size(); begin += kChunk) {
    const std::string_view chunk = bytes.substr(begin, kChunk);
    const ByteCounts alone(chunk);
    ByteCounts together = part;
    together.Add(alone);
    if (begin > 0 && part.Cost() + alone.Cost() + kBlockCost < together.Cost()) {
      ends.push_back(begin);
      part = alone;
    } else {
      part = together;
    }
  }
  ends.push_back(bytes.size());
  return ends;
}

// One frame with a block, or more, for each part.
std::string Compress(std::string_view bytes, const std::vector<size_t>& ends) {
  ZSTD_CCtx* const context = Compressor();
  ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kZstdLevel);
  ZSTD_CCtx_setParameter(context, ZSTD_c_minMatch, kMinMatch);
  ZSTD_CCtx_setPledgedSrcSize(context, bytes.size());
  std::string packed(ZSTD_compressBound(bytes.size()) + 64 * ends.size(), '\0');
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  size_t begin = 0;
  for (const size_t end : ends) {
    ZSTD_inBuffer in{bytes.data(), end, std::exchange(begin, end)};
    const bool last = end == ends.back();
    const size_t left = ZSTD_compressStream2(context, &out, &in, last ? ZSTD_e_end : ZSTD_e_flush);
    LOCKSTEP_CHECK(ZSTD_isError(left) == 0 && left == 0 && in.pos == end);
  }
  packed.resize(out.pos);
  return packed;
}

absl::StatusOr<std::string> Decompress(std::string_view what, const v1::CompressedColumns& in, size_t max_bytes) {
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
  const size_t size = ZSTD_decompressDCtx(Decompressor(), bytes.data(), bytes.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) != 0 || size != bytes.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: damaged zstd frame ({})", what, ZSTD_isError(size) != 0 ? ZSTD_getErrorName(size) : "short"));
  }
  return bytes;
}

// Collectives of a layer or two repeat: what is tried when encoding.
constexpr uint32_t kCodings[] = {0, kPlainValues, 2, 4};

// What SparseColumn::coding predicts of values[i] from the values before it.
int64_t Predicted(std::span<const int64_t> values, size_t i, uint32_t coding) {
  if (coding == kPlainValues || i == 0) return 0;
  if (coding == 0 || i <= coding) return values[i - 1];
  return WrapAdd(values[i - 1], WrapSub(values[i - coding], values[i - coding - 1]));
}

std::vector<int64_t> DifferencesOf(std::span<const int64_t> values, uint32_t coding) {
  std::vector<int64_t> differences;
  differences.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) differences.push_back(WrapSub(values[i], Predicted(values, i, coding)));
  return differences;
}

// Whether at least nine of ten that are not 0 are multiples of the unit.
template <int64_t kUnit>
bool CountInUnits(std::span<const int64_t> differences, std::ptrdiff_t zeros) {
  const auto whole = std::count_if(differences.begin(), differences.end(), [](int64_t d) { return d % kUnit == 0; });
  return whole > zeros && 10 * (whole - zeros) >= 9 * (std::ssize(differences) - zeros);
}

// Makes each number one in units, rounded towards minus infinity, so that the rest is never negative.
template <int64_t kUnit>
void DivideByUnit(std::vector<int64_t>& numbers, std::vector<int64_t>& rests) {
  rests.reserve(numbers.size());
  for (int64_t& number : numbers) {
    const int64_t whole = number / kUnit - (number % kUnit < 0 ? 1 : 0);
    rests.push_back(number - whole * kUnit);
    number = whole;
  }
}

// 256 times the bits that packing the low bits of each number leaves: whole bytes of long varints, the entropy of short
// ones. It is asked for one number of low bits after the other, each one more than the one before. Numbers whose rest
// above the low bits is small are counted by that rest, so that only the large ones are looked at each time.
class PackedCosts {
 public:
  PackedCosts(std::span<const int64_t> numbers, uint32_t low_bits) : numbers_(numbers.size()), low_bits_(low_bits) {
    for (const int64_t number : numbers) {
      const uint64_t zigzag = ZigzagOf(number >> low_bits);
      if (zigzag < counts_.size()) {
        ++counts_[zigzag];
      } else {
        large_.push_back(number);
      }
    }
  }

  [[nodiscard]] int64_t Cost() const {
    std::array<uint64_t, kShort> shorts{};
    std::copy_n(counts_.begin(), std::min(kShort, size_), shorts.begin());
    auto cost = static_cast<int64_t>(numbers_) * low_bits_ * 256;
    for (size_t zigzag = kShort; zigzag < size_; ++zigzag) {
      cost += LongCost(zigzag) * static_cast<int64_t>(counts_[zigzag]);
    }
    for (const int64_t number : large_) {
      const uint64_t zigzag = ZigzagOf(number >> low_bits_);
      if (zigzag < kShort) {
        ++shorts[zigzag];
      } else {
        cost += LongCost(zigzag);
      }
    }
    cost += Weight(std::accumulate(shorts.begin(), shorts.end(), uint64_t{0}));
    for (const uint64_t count : shorts) cost -= Weight(count);
    return cost;
  }

  // Of a number and its half rounded down, the lowest bit of the zigzag is the same: the sign.
  void PackOneMore() {
    ++low_bits_;
    size_ /= 2;
    for (size_t half = 0; half < size_; half += 2) {
      for (const size_t sign : {0, 1}) counts_[half + sign] = counts_[2 * half + sign] + counts_[2 * half + 2 + sign];
    }
  }

 private:
  static constexpr size_t kShort = 128;  // varints of one byte

  static uint64_t ZigzagOf(int64_t high) {
    return (static_cast<uint64_t>(high) << 1) ^ static_cast<uint64_t>(high >> 63);
  }
  static int64_t LongCost(uint64_t zigzag) {
    return int64_t{8} * 256 * static_cast<int64_t>((std::bit_width(zigzag) + 6) / 7);
  }

  size_t numbers_;
  uint32_t low_bits_;
  std::array<uint64_t, 512> counts_{};  // by zigzag; those beyond `size_` hold nothing
  size_t size_ = 512;
  std::vector<int64_t> large_;
};

// One way of sending values; numbers are the differences to the prediction in units, rounded down.
struct PackedForm {
  uint32_t coding = 0;
  int64_t unit = 1;
  uint32_t low_bits = 0;
  int64_t cost = INT64_MAX;
  std::vector<int64_t> rests;  // empty: all 0
  std::vector<int64_t> numbers;
};

// Bits of the number that nine of ten do not exceed in size.
uint32_t UsualWidth(const std::vector<int64_t>& numbers) {
  std::vector<uint64_t> sizes;
  sizes.reserve(numbers.size());
  for (const int64_t number : numbers) sizes.push_back(static_cast<uint64_t>(number < 0 ? ~number : number));
  if (sizes.empty()) return 0;
  const auto at = sizes.begin() + std::ssize(sizes) * 9 / 10;
  std::nth_element(sizes.begin(), at, sizes.end());
  return static_cast<uint32_t>(std::bit_width(*at));
}

// The rest above the low bits does best with one byte each, seven bits of it and a sign in the first.
void ChooseLowBits(PackedForm* form) {
  const uint32_t width = UsualWidth(form->numbers);
  const uint32_t first = width > 8 ? std::min(width - 8, kMaxLowBits) : 0;
  PackedCosts costs(form->numbers, first);
  for (uint32_t low_bits = first; low_bits <= std::min(first + 5, kMaxLowBits); ++low_bits) {
    const int64_t cost = costs.Cost();
    costs.PackOneMore();
    if (cost >= form->cost) continue;
    form->cost = cost;
    form->low_bits = low_bits;
  }
}

// Devices tick every 32 ns or every us.
void ChooseUnit(PackedForm* form) {
  constexpr int64_t kMicrosecond = 1'000;
  constexpr int64_t kTick = 32;
  const auto zeros = std::count(form->numbers.begin(), form->numbers.end(), int64_t{0});
  if (CountInUnits<kMicrosecond>(form->numbers, zeros)) {
    form->unit = kMicrosecond;
    DivideByUnit<kMicrosecond>(form->numbers, form->rests);
  } else if (CountInUnits<kTick>(form->numbers, zeros)) {
    form->unit = kTick;
    DivideByUnit<kTick>(form->numbers, form->rests);
  }
  const auto is_zero = [](int64_t rest) { return rest == 0; };
  if (std::all_of(form->rests.begin(), form->rests.end(), is_zero)) form->rests.clear();
}

PackedForm FormOf(std::span<const int64_t> values, uint32_t coding) {
  PackedForm form{.coding = coding};
  form.numbers = DifferencesOf(values, coding);
  ChooseUnit(&form);
  ChooseLowBits(&form);
  return form;
}

// The distance at which unusually large changes recur most often: the collectives of a step. 0: they do not.
uint32_t PeriodOf(std::span<const int64_t> values) {
  constexpr size_t kLeast = 8;
  if (values.size() < kLeast) return 0;
  std::vector<int64_t> changes = DifferencesOf(values, 0);
  changes.front() = 0;
  std::vector<int64_t> sorted = changes;
  const auto upper = sorted.begin() + std::ssize(sorted) * 19 / 20;
  std::nth_element(sorted.begin(), upper, sorted.end());
  std::map<size_t, int64_t> distances;
  size_t previous = 0;
  for (size_t i = 1; i < changes.size(); ++i) {
    if (changes[i] / 2 <= *upper) continue;
    if (previous > 0) ++distances[i - previous];
    previous = i;
  }
  const auto most = std::max_element(distances.begin(), distances.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == distances.end() || most->first > kMaxCoding ? 0 : static_cast<uint32_t>(most->first);
}

PackedForm CheapestForm(std::span<const int64_t> values) {
  PackedForm best;
  std::vector<uint32_t> codings(std::begin(kCodings), std::end(kCodings));
  if (const uint32_t period = PeriodOf(values); period > 1) codings.push_back(period);
  for (const uint32_t coding : codings) {
    PackedForm form = FormOf(values, coding);
    if (form.cost < best.cost) best = std::move(form);
  }
  return best;
}

std::string PackBits(std::span<const int64_t> numbers, uint32_t low_bits) {
  std::string packed((numbers.size() * low_bits + 7) / 8, '\0');
  size_t bit = 0;
  for (const int64_t number : numbers) {
    for (uint32_t k = 0; k < low_bits; ++k, ++bit) {
      if ((static_cast<uint64_t>(number) >> k & 1) != 0) packed[bit / 8] |= static_cast<char>(1 << (bit % 8));
    }
  }
  return packed;
}

void PutForm(const PackedForm& form, v1::SparseColumn* out) {
  out->set_coding(form.coding);
  out->set_unit(form.unit == 1 ? 0 : static_cast<uint64_t>(form.unit));
  out->set_low_bits(form.low_bits);
  out->set_lows(PackBits(form.numbers, form.low_bits));
  for (const int64_t rest : form.rests) out->add_rests(static_cast<uint32_t>(rest));
  for (const int64_t number : form.numbers) out->add_values(number >> form.low_bits);
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

bool PutPacked(std::span<const int64_t> values, uint32_t field, PackedColumns* out) {
  if (values.empty()) return false;
  if (std::equal(values.begin() + 1, values.end(), values.begin())) return false;
  const PackedForm form = CheapestForm(values);
  if (form.unit == 1 && form.low_bits == 0 && form.coding == 0) return false;
  v1::PackedColumn* const column = out->Add();
  column->set_field(field);
  PutForm(form, column->mutable_column());
  return true;
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
  PutForm(CheapestForm(present), out);
}

void Pack(const google::protobuf::MessageLite& message, v1::CompressedColumns* out) {
  const std::string bytes = message.SerializeAsString();
  if (bytes.empty()) return;
  out->set_decoded_bytes(static_cast<uint32_t>(bytes.size()));
  out->set_zstd(Compress(bytes, AlikeParts(bytes)));
}

absl::StatusOr<std::string> Inflate(std::string_view what, const v1::CompressedColumns& in, size_t max_bytes,
                                    const google::protobuf::Descriptor& type) {
  if (in.decoded_bytes() == 0 && in.zstd().empty()) return std::string();
  LOCKSTEP_ASSIGN_OR_RETURN(std::string bytes, Decompress(what, in, max_bytes));
  if (ParsesWithin(bytes, type, kMaxParsedBytes)) return bytes;
  return absl::InvalidArgumentError(fmt::format("{}: {} decoded bytes hold too many parts for {} bytes of memory", what,
                                                bytes.size(), kMaxParsedBytes));
}

absl::Status Unpack(std::string_view what, const v1::CompressedColumns& in, size_t max_bytes,
                    google::protobuf::Message* message) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string bytes, Inflate(what, in, max_bytes, *message->GetDescriptor()));
  if (message->ParseFromString(bytes)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: {} decoded bytes are no {}", what, bytes.size(), message->GetTypeName()));
}

std::string PackToBytes(const google::protobuf::MessageLite& message) {
  v1::CompressedColumns packed;
  Pack(message, &packed);
  return packed.SerializeAsString();
}

absl::StatusOr<v1::CompressedColumns> ParseCompressed(std::string_view what, std::string_view bytes) {
  v1::CompressedColumns packed;
  if (!packed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(fmt::format("{}: {} bytes are no compressed columns", what, bytes.size()));
  }
  return packed;
}

absl::Status UnpackBytes(std::string_view what, std::string_view bytes, size_t max_bytes,
                         google::protobuf::Message* message) {
  LOCKSTEP_ASSIGN_OR_RETURN(const v1::CompressedColumns packed, ParseCompressed(what, bytes));
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
