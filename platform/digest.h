// SHA-256, plain and keyed, and the making and the comparison of secrets. Thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

using Digest = std::array<uint8_t, 32>;

[[nodiscard]] Digest Sha256(std::string_view bytes);
// HMAC of RFC 2104: says nothing about the bytes to who has not the key.
[[nodiscard]] Digest HmacSha256(std::string_view key, std::string_view bytes);
// 64 hexadecimal digits of either case; null for anything else.
[[nodiscard]] std::optional<Digest> DigestFromHex(std::string_view hex);
// A secret nobody can guess: twice as many hexadecimal digits.
[[nodiscard]] std::string RandomHex(size_t bytes);
// Takes the same time whatever the digests have in common.
[[nodiscard]] bool SameDigest(const Digest& a, const Digest& b);

}  // namespace lockstep
