#include "agent/agent_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "agent/agent_flags.h"
#include "agent/agent_metrics.h"
#include "agent/agent_service.h"
#include "agent/condense_and_send.h"
#include "agent/progress_line.h"
#include "agent/rank_map.h"
#include "agent/redact.h"
#include "agent/uplink/grpc/grpc_transport.h"
#include "agent/uplink/measured_transport.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "analysis/base/version.h"
#include "platform/host.h"
#include "platform/log.h"
#include "platform/process.h"
#include "platform/random.h"
#include "platform/signals.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

// How long one attempt waits for a connection.
constexpr int64_t kConnectNs = 500 * kNsPerMs;

std::string HostFrom(const std::string& flag) {
  if (flag == "auto") {
    return HostName();
  }
  return flag == "none" ? std::string() : flag;
}

absl::StatusOr<CondenseAndSendOptions> SendOptionsFrom(const AgentFlags& flags) {
  CondenseAndSendOptions options;
  options.condense.read.step_range = flags.step_range;
  options.condense.tmp_dir = flags.tmp.empty() ? DefaultTempParent() : flags.tmp;
  options.condense.host = HostFrom(flags.host);
  options.jobs = static_cast<size_t>(flags.jobs);
  options.sort_memory_bytes = static_cast<int64_t>(std::min<uint64_t>(flags.memory_bytes, INT64_MAX));
  if (!flags.rank_map.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(options.condense.rank_map, ReadRankMap(flags.rank_map));
  }
  for (const std::string& text : flags.context) {
    LOCKSTEP_RETURN_IF_ERROR(AddContext(text, options.condense.context));
  }
  if (flags.redact) {
    LOCKSTEP_ASSIGN_OR_RETURN(NameRedactor redactor, NameRedactor::FromFile(flags.redact_key));
    options.condense.redactor = std::make_shared<const NameRedactor>(std::move(redactor));
  }
  return options;
}

UplinkClientOptions UplinkOptionsFrom(const AgentFlags& flags) {
  UplinkClientOptions options;
  options.session.hello = {.run = flags.run,
                           .agent = HostName(),
                           .agent_version = std::string(Version()),
                           .expected_ranks = flags.expect_ranks,
                           .replace = flags.replace};
  options.give_up_after_ns.reset();
  if (flags.watch.empty()) {
    options.give_up_after_ns = flags.connect_timeout_s * kNsPerS;
  }
  options.random = SystemRandom();
  return options;
}

AgentServiceOptions ServiceOptionsFrom(const AgentFlags& flags, CondenseAndSendOptions send) {
  return {.paths = flags.paths,
          .watch = flags.watch,
          .pattern = flags.pattern,
          .spool = flags.spool,
          .spool_bytes = static_cast<int64_t>(std::min<uint64_t>(flags.spool_bytes, INT64_MAX)),
          .drain_ns = flags.drain_timeout_s * kNsPerS,
          .finish = flags.finish,
          .send = std::move(send),
          .uplink = UplinkOptionsFrom(flags)};
}

absl::Status RunAgent(const AgentFlags& flags, CondenseAndSendOptions options, const std::stop_token& stop) {
  MetricsRegistry registry;
  UplinkMetrics metrics(registry);
  SpoolDepth depth;
  LOCKSTEP_ASSIGN_OR_RETURN(const auto figures, ServeMetrics(flags.metrics, flags.spool, depth, registry, metrics));
  if (flags.nice != 0) {
    LOCKSTEP_RETURN_IF_ERROR(SetNiceness(flags.nice));
  }
  ProgressLine line;
  options.progress = [&line](const SendProgress& progress) { line.Show(progress); };
  auto transport = Measured(MakeGrpcTransport(ConnectTo(flags.aggregator, flags.connection.security),
                                              flags.connection.token_file, kConnectNs),
                            metrics);
  AgentServiceOptions service = ServiceOptionsFrom(flags, std::move(options));
  service.depth = &depth;
  return RunAgentService(service, std::move(transport), stop);
}

int Complain(const absl::Status& status, int exit_code) {
  fmt::print(stderr, "lockstep-agent: {}\n", std::string(status.message()));
  return exit_code;
}

}  // namespace

int RunAgentCommand(int argc, const char* const* argv) {
  const StopOnSignals signals;  // first: whoever is told to end while it begins ends in order, too
  const auto parsed = ParseAgentFlags(argc, argv);
  if (const int* done = std::get_if<int>(&parsed)) {
    return *done;
  }
  const AgentFlags& flags = std::get<AgentFlags>(parsed);
  SetLogLevel(*LogLevelFromName(flags.log_level));
  SetLogFormat(*LogFormatFromName(flags.log_format));
  const auto options = SendOptionsFrom(flags);
  if (!options.ok()) {
    return Complain(options.status(), 1);
  }
  const absl::Status ended = RunAgent(flags, *options, signals.token());
  if (ended.ok()) {
    return 0;
  }
  return Complain(ended, signals.signal() != 0 && absl::IsCancelled(ended) ? 128 + signals.signal() : 2);
}

}  // namespace lockstep
