#include "agent/agent_metrics.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

struct FolderSize {
  int64_t files = 0;
  int64_t bytes = 0;
};

// What does not exist (any more) counts nothing.
FolderSize SizeOfFolder(const std::string& folder) {
  FolderSize size;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    const uintmax_t bytes = entry->file_size(gone);
    if (gone) continue;
    ++size.files;
    size.bytes += static_cast<int64_t>(bytes);
  }
  return size;
}

void AddSpool(MetricsRegistry& registry, const std::string& spool, const SpoolDepth& depth) {
  registry.AddGauge("lockstep_agent_spool_batches", "Batches in the spool that are not acknowledged.", [&depth] {
    const SpoolState state = depth.State();
    return static_cast<double>(state.unsent - state.notes);
  });
  registry.AddGauge("lockstep_agent_spool_put_off_batches",
                    "Batches in the spool that the aggregator puts off because of a limit.",
                    [&depth] { return static_cast<double>(depth.State().parked); });
  registry.AddGauge("lockstep_agent_spool_bytes", "Size of the files in the spool folder.",
                    [spool] { return static_cast<double>(SizeOfFolder(spool).bytes); });
  registry.AddGauge("lockstep_agent_spool_files", "Files in the spool folder: segments of batches, the ledger.",
                    [spool] { return static_cast<double>(SizeOfFolder(spool).files); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> ServeMetrics(const std::string& listen, const std::string& spool,
                                                            const SpoolDepth& depth, MetricsRegistry& registry,
                                                            const UplinkMetrics& uplink) {
  if (listen.empty()) {
    return nullptr;
  }
  AddProcessMetrics(registry);
  if (!spool.empty()) {
    AddSpool(registry, spool, depth);
  }
  LOCKSTEP_ASSIGN_OR_RETURN(auto metrics, MetricsServer::Start(listen, registry, [&uplink] {
                              return std::string(uplink.connected() ? "" : "no connection to the aggregator");
                            }));
  fmt::print("metrics on {}\n", metrics->address());
  std::fflush(stdout);
  return metrics;
}

}  // namespace lockstep
