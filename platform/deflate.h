// DEFLATE (RFC 1951) without a header or a checksum, as browsers take it from a page. Thread safe.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// The same bytes always give the same result.
[[nodiscard]] std::string DeflateRaw(std::string_view bytes);

}  // namespace lockstep
