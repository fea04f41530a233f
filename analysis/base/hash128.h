// A 128-bit content hash (XXH3-128): identity of sources, names and batches. Not cryptographic.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;
  friend constexpr auto operator<=>(const Hash128&, const Hash128&) = default;
  // 32 lower-case hexadecimal digits, high half first.
  [[nodiscard]] std::string Hex() const;
  // 16 bytes, big endian; FromBytes accepts exactly those, anything else gives the zero hash.
  [[nodiscard]] std::string Bytes() const;
  static Hash128 FromBytes(std::string_view bytes);
};

[[nodiscard]] Hash128 HashOf(std::string_view bytes);

struct Hash128Hasher {
  size_t operator()(const Hash128& h) const { return static_cast<size_t>(h.low ^ (h.high * 0x9e3779b97f4a7c15ULL)); }
};

// Incremental form for identities made of several parts. Each part is length-prefixed, so that ("ab","c") and
// ("a","bc") differ.
class HashBuilder {
 public:
  HashBuilder& Add(std::string_view part);
  HashBuilder& Add(int64_t value);
  [[nodiscard]] Hash128 Finish() const;

 private:
  std::string buffer_;
};

}  // namespace lockstep
