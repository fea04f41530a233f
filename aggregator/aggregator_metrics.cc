#include "aggregator/aggregator_metrics.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

using LoadField = int64_t Admission::Load::*;

void AddLoad(MetricsRegistry& registry, const AggregatorServer& server) {
  const auto read = [&server](LoadField field) {
    return [&server, field] { return static_cast<double>(server.load().*field); };
  };
  registry.AddGauge("lockstep_aggregator_streams", "Streams of agents that are open.", read(&Admission::Load::streams));
  registry.AddGauge("lockstep_aggregator_held_bytes",
                    "Messages that have arrived and are not answered; bounded by --max-held-bytes.",
                    read(&Admission::Load::held_bytes));
  registry.AddGauge("lockstep_aggregator_working_batches",
                    "Batches being decoded and stored; bounded by --max-working.", read(&Admission::Load::working));
  const char* const name = "lockstep_aggregator_refused_streams_total";
  const char* const help = "Streams refused or ended because of a limit that all of them share, by limit.";
  registry.AddCounterOf(name, help, read(&Admission::Load::refused_streams), {{"limit", "max_streams"}});
  registry.AddCounterOf(name, help, read(&Admission::Load::refused_messages), {{"limit", "max_held_bytes"}});
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> ServeMetrics(const std::string& listen, MetricsRegistry& registry,
                                                            const AggregatorServer& server,
                                                            std::function<std::string()> ready) {
  if (listen.empty()) {
    return nullptr;
  }
  AddProcessMetrics(registry);
  AddLoad(registry, server);
  LOCKSTEP_ASSIGN_OR_RETURN(auto metrics, MetricsServer::Start(listen, registry, std::move(ready)));
  fmt::print("metrics on {}\n", metrics->address());
  std::fflush(stdout);
  return metrics;
}

}  // namespace lockstep
