// What the agents of simulated hosts share.
#pragma once

#include <absl/status/status.h>

#include <memory>
#include <string>

#include "agent/uplink/uplink_client.h"
#include "bench/simulator/run/scenario.h"

namespace lockstep {

// Whom the agents of a streamed run talk to.
struct FleetTarget {
  std::string address;  // HOST:PORT, plaintext
  std::string run;
};

// `observer` may be null, else outlives the client.
[[nodiscard]] std::unique_ptr<UplinkClient> ConnectAgent(const FleetTarget& target, const Scenario& scenario,
                                                         const std::string& agent, UplinkObserver* observer);
// The agent of the host that these ranks' file lies on.
[[nodiscard]] std::string AgentOf(const Scenario& scenario, int32_t first_rank);
// Waits until all is delivered. kFailedPrecondition if a source was refused or put off.
[[nodiscard]] absl::Status CloseAgent(UplinkClient& agent, bool finish_run);

}  // namespace lockstep
