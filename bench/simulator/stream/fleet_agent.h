// What the agents of simulated hosts share.
#pragma once

#include <absl/status/status.h>

#include <memory>
#include <string>
#include <utility>

#include "agent/uplink/uplink_client.h"
#include "bench/simulator/run/scenario.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace lockstep {

// Connections for agents that live at the same time: an aggregator allows 256 streams on one, so that few agents share
// one, and a process of thousands of agents needs few descriptors. Not thread safe.
class AgentChannels {
 public:
  explicit AgentChannels(std::string address) : address_(std::move(address)) {}  // HOST:PORT, plaintext
  // For one more agent.
  [[nodiscard]] const std::shared_ptr<grpc::Channel>& Next();

 private:
  static constexpr int kAgents = 128;  // of a connection

  const std::string address_;
  std::shared_ptr<grpc::Channel> last_;
  int agents_of_last_ = 0;
};

// `observer` may be null, else outlives the client.
[[nodiscard]] std::unique_ptr<UplinkClient> ConnectAgent(const std::shared_ptr<grpc::Channel>& channel,
                                                         const std::string& run, const Scenario& scenario,
                                                         const std::string& agent, UplinkObserver* observer);
// The agent of the host that these ranks' file lies on.
[[nodiscard]] std::string AgentOf(const Scenario& scenario, int32_t first_rank);
// Waits until all is delivered. kFailedPrecondition if a source was refused or put off.
[[nodiscard]] absl::Status CloseAgent(UplinkClient& agent, bool finish_run);

}  // namespace lockstep
