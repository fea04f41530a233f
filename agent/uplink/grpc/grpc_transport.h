// The uplink's transport over gRPC: lockstep.v1 Ingest. The only place of the agent that knows gRPC.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "agent/uplink/transport.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc

namespace lockstep {

// How a channel is secured. PEM files are read again when they change.
struct ChannelSecurity {
  bool tls = false;
  std::string ca;           // who may have signed the server's certificate; "" = the authorities of this machine
  std::string certificate;  // of this client; "" = none
  std::string key;
  std::string server_name;  // what the server's certificate must name; "" = the host of the address
  uint32_t refresh_s = 5;   // how often the files are looked at
};

// A channel to HOST:PORT; connects at first use, keeps itself alive, compresses nothing. It has a connection of its
// own, also beside others of this process to the same address: an aggregator allows 256 streams on one connection, and
// a stream beyond them would wait in silence until another one ends.
[[nodiscard]] std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address,
                                                       const ChannelSecurity& security = {});

// Adds the token of the file to a call, read anew for each call; "" = no token. A file that cannot be used is told in
// the log, and the call goes without.
void AddToken(const std::string& token_file, grpc::ClientContext& context);

// Streams over a channel, remote or in-process. The channel is shared with whoever else talks to that server. Each
// attempt waits so long for a connection first; 0 for a channel that is always connected (in-process).
[[nodiscard]] std::unique_ptr<UplinkTransport> MakeGrpcTransport(std::shared_ptr<grpc::Channel> channel,
                                                                 const std::string& token_file = "",
                                                                 int64_t connect_ns = 0);

}  // namespace lockstep
