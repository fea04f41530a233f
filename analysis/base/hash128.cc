#include "analysis/base/hash128.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace lockstep {

std::string Hash128::Hex() const { return fmt::format("{:016x}{:016x}", high, low); }

std::string Hash128::Bytes() const {
  std::string out(16, '\0');
  for (int i = 0; i < 8; ++i) {
    out[static_cast<size_t>(i)] = static_cast<char>((high >> (56 - 8 * i)) & 0xff);
    out[static_cast<size_t>(8 + i)] = static_cast<char>((low >> (56 - 8 * i)) & 0xff);
  }
  return out;
}

Hash128 Hash128::FromBytes(std::string_view bytes) {
  Hash128 h;
  if (bytes.size() != 16) return h;
  for (size_t i = 0; i < 8; ++i) {
    h.high = (h.high << 8) | static_cast<unsigned char>(bytes[i]);
    h.low = (h.low << 8) | static_cast<unsigned char>(bytes[8 + i]);
  }
  return h;
}

Hash128 HashOf(std::string_view bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.high64, h.low64};
}

HashBuilder& HashBuilder::Add(std::string_view part) {
  Add(static_cast<int64_t>(part.size()));
  buffer_.append(part);
  return *this;
}

HashBuilder& HashBuilder::Add(int64_t value) {
  for (int i = 0; i < 8; ++i) buffer_.push_back(static_cast<char>((static_cast<uint64_t>(value) >> (8 * i)) & 0xff));
  return *this;
}

Hash128 HashBuilder::Finish() const { return HashOf(buffer_); }

}  // namespace lockstep
