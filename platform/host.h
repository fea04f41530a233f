// Small facts about this process's surroundings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

// This machine's name; "" when it has none.
[[nodiscard]] std::string HostName();

// HOST:PORT, [V6]:PORT. Port 0 is for listening: the system chooses.
struct Address {
  std::string host;
  uint16_t port = 0;
  [[nodiscard]] std::string ToString() const;
};
// Null unless a host and a decimal port stand there.
[[nodiscard]] std::optional<Address> ParseAddress(std::string_view text);
// localhost, 127.0.0.0/8, ::1: what no other machine can reach.
[[nodiscard]] bool IsLoopback(std::string_view host);

}  // namespace lockstep
