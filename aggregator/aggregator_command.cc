#include "aggregator/aggregator_command.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "aggregator/aggregator_flags.h"
#include "aggregator/aggregator_metrics.h"
#include "aggregator/grpc/server.h"
#include "aggregator/store/dump/store_dump.h"
#include "aggregator/store/job_store.h"
#include "aggregator/store/measured_store.h"
#include "aggregator/web/aggregator_web.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "platform/clock.h"
#include "platform/log.h"
#include "platform/outage.h"
#include "platform/signals.h"

namespace lockstep {
namespace {

// Waits while the disk is full: agents keep what they have and come again.
absl::StatusOr<std::unique_ptr<JobStore>> AwaitStore(const AggregatorFlags& flags, const std::stop_token& stop) {
  Outage full;
  while (true) {
    auto store = OpenStore("sqlite", {.path = flags.store, .limits = flags.store_limits});
    if (!absl::IsResourceExhausted(store.status()) || stop.stop_requested()) {
      return store;
    }
    if (full.Met(SystemClock().MonotonicNs())) {
      LogWarning("{}; waiting for room", std::string(store.status().message()));
    }
    WaitUnlessStopped(stop, kNsPerS);
  }
}

// Null without --web.
absl::StatusOr<std::unique_ptr<AggregatorWeb>> ServePages(const AggregatorFlags& flags, JobStore& store,
                                                          AggregatorServer& server, MetricsRegistry& registry) {
  if (flags.web.empty()) return nullptr;
  LOCKSTEP_ASSIGN_OR_RETURN(
      std::unique_ptr<AggregatorWeb> web,
      AggregatorWeb::Start(store, server,
                           {.listen = flags.web, .tls = flags.tls, .tokens = flags.tokens, .names = flags.web_names}));
  AddWebMetrics(registry, *web);
  fmt::print("pages on {}\n", web->url());
  std::fflush(stdout);
  if (!HasPages()) LogWarning("this build has no pages, because node or npm was missing: only the API answers");
  return web;
}

absl::Status Serve(const AggregatorFlags& flags, const std::stop_token& stop) {
  const auto store = AwaitStore(flags, stop);
  if (!store.ok()) {
    return stop.stop_requested() ? absl::OkStatus() : store.status();
  }
  MetricsRegistry registry;
  MeasuredStore measured(**store, registry);
  IngestMetrics ingest(registry);
  const auto server = AggregatorServer::Start(measured, {.listen = flags.listen,
                                                         .tls = flags.tls,
                                                         .tokens = flags.tokens,
                                                         .limits = flags.limits,
                                                         .metrics = &ingest,
                                                         .answers_ahead = !flags.on_demand,
                                                         .grace_ns = flags.drain_timeout_s * kNsPerS});
  if (!server.ok()) {
    return server.status();
  }
  fmt::print("listening on {}\n", (*server)->address());
  std::fflush(stdout);
  LogInfo("listening on {} ({}, {}), store {}", (*server)->address(),
          flags.tls.certificate.empty() ? "plaintext" : "TLS", flags.tokens.empty() ? "no tokens" : "tokens",
          flags.store);
  const auto web = ServePages(flags, measured, **server, registry);
  if (!web.ok()) {
    return web.status();
  }
  const auto figures = ServeMetrics(flags.metrics, registry, **server, [&measured, stop] {
    return stop.stop_requested() ? std::string("going down") : measured.Trouble();
  });
  if (!figures.ok()) {
    return figures.status();
  }
  WaitUnlessStopped(stop, std::numeric_limits<int32_t>::max() * kNsPerS);
  LogInfo("ending: no new calls, open streams have {} s to finish", flags.drain_timeout_s);
  (*server)->Shutdown();
  return absl::OkStatus();
}

// To stdout. A reader that has seen enough ends it quietly.
absl::Status Dump(const std::string& store, const std::stop_token& stop) {
  bool closed = false;
  const absl::Status dumped = DumpStore(store, [&](std::string_view text) -> absl::Status {
    if (stop.stop_requested()) {
      return absl::CancelledError("interrupted");
    }
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) {
      return absl::OkStatus();
    }
    closed = errno == EPIPE;
    return absl::ResourceExhaustedError(fmt::format("stdout: cannot write: {}", std::strerror(errno)));
  });
  if (closed) {
    return absl::OkStatus();
  }
  if (dumped.ok() && std::fflush(stdout) != 0 && errno != EPIPE) {
    return absl::ResourceExhaustedError(fmt::format("stdout: cannot write: {}", std::strerror(errno)));
  }
  return dumped;
}

}  // namespace

int RunAggregatorCommand(int argc, const char* const* argv) {
  const StopOnSignals signals;  // first: whoever is told to end while it begins ends in order, too
  const auto parsed = ParseAggregatorFlags(argc, argv);
  if (const int* done = std::get_if<int>(&parsed)) {
    return *done;
  }
  const AggregatorFlags& flags = std::get<AggregatorFlags>(parsed);
  SetLogLevel(*LogLevelFromName(flags.log_level));
  SetLogFormat(*LogFormatFromName(flags.log_format));
  const absl::Status ended = flags.dump ? Dump(flags.store, signals.token()) : Serve(flags, signals.token());
  if (absl::IsCancelled(ended)) {
    return 128 + signals.signal();
  }
  if (!ended.ok()) {
    fmt::print(stderr, "lockstep-aggregator: {}\n", std::string(ended.message()));
    return 2;
  }
  return 0;
}

}  // namespace lockstep
