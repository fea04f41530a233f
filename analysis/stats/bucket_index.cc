#include "analysis/stats/bucket_index.h"

#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "analysis/base/check.h"

namespace lockstep {
namespace {

constexpr int kBucketsPerOctave = 64;
constexpr int kMantissaBits = 52;
constexpr uint64_t kHiddenBit = uint64_t{1} << kMantissaBits;

// floor(2^(j/64) * 2^52), from exact integer 64th roots. None but the first is a mantissa by itself (the roots are
// irrational), so comparing mantissas with the floor decides as the real boundary would.
constexpr std::array<uint64_t, kBucketsPerOctave> kBoundaries = {
    0x10000000000000, 0x102c9a3e778060, 0x1059b0d3158574, 0x10874518759bc8, 0x10b5586cf9890f, 0x10e3ec32d3d1a2,
    0x111301d0125b50, 0x11429aaea92ddf, 0x1172b83c7d517a, 0x11a35beb6fcb75, 0x11d4873168b9aa, 0x12063b88628cd6,
    0x12387a6e756238, 0x126b4565e27cdd, 0x129e9df51fdee1, 0x12d285a6e4030b, 0x1306fe0a31b715, 0x133c08b26416ff,
    0x1371a7373aa9ca, 0x13a7db34e59ff6, 0x13dea64c123422, 0x14160a21f72e29, 0x144e086061892d, 0x1486a2b5c13cd0,
    0x14bfdad5362a27, 0x14f9b2769d2ca6, 0x15342b569d4f81, 0x156f4736b527da, 0x15ab07dd485429, 0x15e76f15ad2148,
    0x16247eb03a5584, 0x16623882552224, 0x16a09e667f3bcc, 0x16dfb23c651a2e, 0x171f75e8ec5f73, 0x175feb564267c8,
    0x17a11473eb0186, 0x17e2f336cf4e62, 0x182589994cce12, 0x1868d99b4492ec, 0x18ace5422aa0db, 0x18f1ae99157736,
    0x193737b0cdc5e4, 0x197d829fde4e4f, 0x19c49182a3f090, 0x1a0c667b5de564, 0x1a5503b23e255c, 0x1a9e6b5579fdbf,
    0x1ae89f995ad3ad, 0x1b33a2b84f15fa, 0x1b7f76f2fb5e46, 0x1bcc1e904bc1d2, 0x1c199bdd85529c, 0x1c67f12e57d14b,
    0x1cb720dcef9069, 0x1d072d4a07897b, 0x1d5818dcfba487, 0x1da9e603db3285, 0x1dfc97337b9b5e, 0x1e502ee78b3ff6,
    0x1ea4afa2a490d9, 0x1efa1bee615a27, 0x1f50765b6e4540, 0x1fa7c1819e90d8};

// The boundaries below a mantissa are those below all mantissas with the same leading bits, and perhaps the next one:
// boundaries lie 1/92 apart at least, so a cell of 1/128 has at most one.
constexpr int kCellBits = 7;

struct Cell {
  uint64_t boundary = 0;  // the first one that is not below the cell
  int below = 0;
};

constexpr std::array<Cell, 1U << kCellBits> MakeCells() {
  std::array<Cell, 1U << kCellBits> cells{};
  for (uint64_t i = 0; i < cells.size(); ++i) {
    const uint64_t smallest = kHiddenBit + (i << (kMantissaBits - kCellBits));
    size_t below = 0;
    while (below < kBoundaries.size() && kBoundaries[below] < smallest) ++below;
    cells[i] = {below < kBoundaries.size() ? kBoundaries[below] : 2 * kHiddenBit, static_cast<int>(below)};
  }
  return cells;
}

constexpr auto kCells = MakeCells();

// Bounds are tabulated once per index; +1 so that the bucket below the smallest has a place (upper bound 0).
struct BoundsTable {
  int16_t first = 0;
  std::vector<int64_t> uppers;
};

// Largest value whose index is at most `index`.
int64_t LargestValueUpTo(int16_t index, int64_t known_below) {
  int64_t low = known_below;
  int64_t high = std::numeric_limits<int64_t>::max();
  while (low < high) {
    const int64_t middle = low + (high - low) / 2 + 1;
    if (BucketIndex(middle) <= index) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

BoundsTable MakeBoundsTable() {
  BoundsTable table;
  table.first = kLowestBucket - 1;
  table.uppers.push_back(0);
  for (int i = table.first + 1; i <= kHighestBucket; ++i) {
    table.uppers.push_back(LargestValueUpTo(static_cast<int16_t>(i), table.uppers.back()));
  }
  return table;
}

}  // namespace

int16_t BucketIndex(int64_t value) {
  LOCKSTEP_CHECK(value >= 0);
  if (value == 0) return kZeroBucket;
  const auto bits = std::bit_cast<uint64_t>(static_cast<double>(value) * 1e-9);
  const int exponent = static_cast<int>(bits >> kMantissaBits) - 1023;
  const uint64_t fraction = bits & (kHiddenBit - 1);
  // The number of boundaries below the mantissa, less one: a value on a boundary belongs to the bucket below. Without a
  // branch, as values come in no order.
  const Cell& cell = kCells[fraction >> (kMantissaBits - kCellBits)];
  const int below = cell.below + static_cast<int>(cell.boundary < (fraction | kHiddenBit));
  return static_cast<int16_t>(exponent * kBucketsPerOctave + below - 1);
}

BucketBounds BoundsOf(int16_t index) {
  static const BoundsTable table = MakeBoundsTable();
  if (index <= table.first) return {0, 0};
  const auto position = static_cast<size_t>(index - table.first);
  if (position >= table.uppers.size()) return {table.uppers.back(), table.uppers.back()};
  return {table.uppers[position - 1], table.uppers[position]};
}

}  // namespace lockstep
