// UTF-8 as it comes from strangers: check, and repair by replacing each bad byte with U+FFFD. Pure, thread safe.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

[[nodiscard]] bool IsValidUtf8(std::string_view text);
[[nodiscard]] std::string RepairUtf8(std::string_view text);
// The longest prefix of at most `bytes` bytes that does not cut a character.
[[nodiscard]] std::string_view Utf8Prefix(std::string_view text, size_t bytes);

}  // namespace lockstep
