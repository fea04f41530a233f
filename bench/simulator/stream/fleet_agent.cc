#include "bench/simulator/stream/fleet_agent.h"

#include <fmt/format.h>

#include <stop_token>
#include <utility>

#include "agent/uplink/grpc/grpc_transport.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/version.h"
#include "platform/random.h"

namespace lockstep {

const std::shared_ptr<grpc::Channel>& AgentChannels::Next() {
  if (last_ == nullptr || agents_of_last_ == kAgents) {
    last_ = ConnectTo(address_);
    agents_of_last_ = 0;
  }
  ++agents_of_last_;
  return last_;
}

std::unique_ptr<UplinkClient> ConnectAgent(const std::shared_ptr<grpc::Channel>& channel, const std::string& run,
                                           const Scenario& scenario, const std::string& agent,
                                           UplinkObserver* observer) {
  UplinkClientOptions uplink;
  uplink.session.hello = {
      .run = run, .agent = agent, .agent_version = std::string(Version()), .expected_ranks = scenario.cluster.world()};
  uplink.session.observer = observer;
  uplink.random = SystemRandom();
  return std::make_unique<UplinkClient>(MakeGrpcTransport(channel), std::move(uplink), std::stop_token());
}

std::string AgentOf(const Scenario& scenario, int32_t first_rank) {
  return fmt::format("simulated host {}", scenario.cluster.ranks[static_cast<size_t>(first_rank)].host);
}

absl::Status CloseAgent(UplinkClient& agent, bool finish_run) {
  LOCKSTEP_ASSIGN_OR_RETURN(const UplinkSummary summary, agent.Drain(finish_run));
  const auto& lost = summary.refused.empty() ? summary.put_off : summary.refused;
  if (lost.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("the aggregator refused {} of an agent's sources: {}", lost.size(), lost.front().detail));
}

}  // namespace lockstep
