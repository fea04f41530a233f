// What a crowd of agents does.
#pragma once

#include <grpcpp/security/credentials.h>

#include <cstdint>
#include <memory>
#include <string>

namespace lockstep {

struct CrowdOptions {
  std::string aggregator;  // HOST:PORT
  std::string run = "load";
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  int64_t idle = 0;    // agents that say hello and then nothing
  int64_t active = 0;  // agents that send a batch every interval
  int64_t interval_ms = 10'000;
  int64_t instances = 512;  // a batch
  int64_t seconds = 30;     // of sending
  int64_t at_once = 64;     // agents that connect at a time
};

}  // namespace lockstep
