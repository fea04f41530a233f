// The flags that say how to reach an aggregator: the same for lockstep-agent and for `lockstep runs` and `show`.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "agent/uplink/grpc/grpc_transport.h"

namespace lockstep {

struct ConnectionFlags {
  ChannelSecurity security;
  std::string token_file;  // "" = no token
  bool insecure = false;
};

void AddConnectionFlags(CLI::App& app, ConnectionFlags& flags);

// Any TLS flag turns TLS on: call once after parsing.
void SettleConnectionFlags(ConnectionFlags& flags);

// Why these flags cannot connect to `address` (HOST:PORT of --aggregator); null = they can. Reads the files they name.
[[nodiscard]] std::optional<std::string> ConnectionComplaint(const std::string& address, const ConnectionFlags& flags);

}  // namespace lockstep
