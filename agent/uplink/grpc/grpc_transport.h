// The uplink's transport over gRPC: lockstep.v1 Ingest. The only place of the agent that knows gRPC.
#pragma once

#include <memory>
#include <string>

#include "agent/uplink/transport.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace lockstep {

// A plaintext channel to HOST:PORT; connects at first use, keeps itself alive, compresses nothing.
[[nodiscard]] std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address);

// Streams over a channel, remote or in-process. The channel is shared with whoever else talks to that server.
[[nodiscard]] std::unique_ptr<UplinkTransport> MakeGrpcTransport(std::shared_ptr<grpc::Channel> channel);

}  // namespace lockstep
