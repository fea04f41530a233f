#include "platform/digest.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <charconv>

#include "analysis/base/check.h"

namespace lockstep {

Digest Sha256(std::string_view bytes) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

Digest HmacSha256(std::string_view key, std::string_view bytes) {
  Digest digest{};
  unsigned int size = 0;
  const unsigned char* const made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(bytes.data()),
           bytes.size(), digest.data(), &size);
  LOCKSTEP_CHECK(made != nullptr && size == digest.size());
  return digest;
}

std::optional<Digest> DigestFromHex(std::string_view hex) {
  Digest digest{};
  if (hex.size() != 2 * digest.size()) {
    return std::nullopt;
  }
  for (size_t i = 0; i < digest.size(); ++i) {
    const char* const at = hex.data() + 2 * i;
    const auto [end, error] = std::from_chars(at, at + 2, digest[i], 16);
    if (error != std::errc() || end != at + 2) {
      return std::nullopt;
    }
  }
  return digest;
}

std::string RandomHex(size_t bytes) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::string raw(bytes, '\0');
  LOCKSTEP_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(raw.data()), static_cast<int>(bytes)) == 1);
  std::string text;
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

bool SameDigest(const Digest& a, const Digest& b) { return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace lockstep
