#include "aggregator/aggregator_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <string>
#include <variant>

#include "aggregator/aggregator_flags.h"
#include "aggregator/grpc/server.h"
#include "aggregator/store/job_store.h"
#include "analysis/base/time.h"
#include "platform/clock.h"
#include "platform/log.h"
#include "platform/signals.h"

namespace lockstep {
namespace {

absl::Status Serve(const AggregatorFlags& flags, const std::stop_token& stop) {
  const auto store = OpenStore("sqlite", {.path = flags.store});
  if (!store.ok()) {
    return store.status();
  }
  const auto server = AggregatorServer::Start(
      **store,
      {.listen = flags.listen, .tls = flags.tls, .tokens = flags.tokens, .grace_ns = flags.drain_timeout_s * kNsPerS});
  if (!server.ok()) {
    return server.status();
  }
  fmt::print("listening on {}\n", (*server)->address());
  std::fflush(stdout);
  LogInfo("listening on {} ({}, {}), store {}", (*server)->address(),
          flags.tls.certificate.empty() ? "plaintext" : "TLS", flags.tokens.empty() ? "no tokens" : "tokens",
          flags.store);
  WaitUnlessStopped(stop, std::numeric_limits<int32_t>::max() * kNsPerS);
  LogInfo("ending: no new calls, open streams have {} s to finish", flags.drain_timeout_s);
  (*server)->Shutdown();
  return absl::OkStatus();
}

}  // namespace

int RunAggregatorCommand(int argc, const char* const* argv) {
  const auto parsed = ParseAggregatorFlags(argc, argv);
  if (const int* done = std::get_if<int>(&parsed)) {
    return *done;
  }
  const AggregatorFlags& flags = std::get<AggregatorFlags>(parsed);
  SetLogLevel(*LogLevelFromName(flags.log_level));
  const StopOnSignals signals;
  const absl::Status ended = Serve(flags, signals.token());
  if (!ended.ok()) {
    fmt::print(stderr, "lockstep-aggregator: {}\n", std::string(ended.message()));
    return 2;
  }
  return 0;
}

}  // namespace lockstep
