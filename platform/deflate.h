// DEFLATE (RFC 1951), as browsers take it from a page and from a server. Thread safe.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// The same bytes always give the same result.
[[nodiscard]] std::string DeflateRaw(std::string_view bytes);  // without a header or a checksum
// With those of gzip (RFC 1952), without a time. Three times as fast, and a fifth larger.
[[nodiscard]] std::string Gzip(std::string_view bytes);

}  // namespace lockstep
