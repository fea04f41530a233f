// Where strings and scalars of JSON end: the innermost loops of the Kineto reader. Pure.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace lockstep::kineto {

// A block of bytes, and a mask with `kScanBitsPerByte` bits for each of them, the first byte's lowest; the lowest bit
// that is set belongs to the first quote or backslash.
#ifdef __SSE2__
inline constexpr std::ptrdiff_t kScanBlock = 16;
inline constexpr int kScanBitsPerByte = 1;
inline uint32_t StringSpecials(const char* block) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block));
  const __m128i found =
      _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
  return static_cast<uint32_t>(_mm_movemask_epi8(found));
}
#else
static_assert(std::endian::native == std::endian::little);
inline constexpr std::ptrdiff_t kScanBlock = 8;
inline constexpr int kScanBitsPerByte = 8;
// Sets the high bit of (at least) the first byte of `word` that equals `c`; 0 if none does.
inline uint64_t MatchByte(uint64_t word, char c) {
  constexpr uint64_t kOnes = 0x0101010101010101ULL;
  const uint64_t x = word ^ (kOnes * static_cast<unsigned char>(c));
  return (x - kOnes) & ~x & (kOnes << 7);
}
inline uint64_t StringSpecials(const char* block) {
  uint64_t word = 0;
  std::memcpy(&word, block, sizeof word);
  return MatchByte(word, '"') | MatchByte(word, '\\');
}
#endif

// First quote or backslash in [p, end); end if there is none.
inline const char* FindStringSpecial(const char* p, const char* end) {
  for (; end - p >= kScanBlock; p += kScanBlock) {
    if (const auto found = StringSpecials(p); found != 0) return p + std::countr_zero(found) / kScanBitsPerByte;
  }
  while (p != end && *p != '"' && *p != '\\') ++p;
  return p;
}

// Bytes of numbers, true, false, null, NaN, inf, -Infinity, 1.#INF and the like.
inline constexpr std::array<bool, 256> kScalarBytes = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-._#")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

inline bool IsScalarByte(char c) { return kScalarBytes[static_cast<unsigned char>(c)]; }

}  // namespace lockstep::kineto
