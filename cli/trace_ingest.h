// Reading trace files into a cluster inside this process: what `lockstep analyze` and `lockstep compare` do first.
#pragma once

#include <absl/status/statusor.h>

#include <stop_token>
#include <string>
#include <vector>

#include "cli/embedded_cluster.h"

namespace lockstep {

// The folder that all files are in; for one file its name without endings.
[[nodiscard]] std::string RunNameOf(const std::vector<std::string>& files);

// Shows the progress on the last line of the terminal. Errors: those of EmbeddedCluster::Ingest.
[[nodiscard]] absl::StatusOr<IngestOutcome> IngestWithProgress(EmbeddedCluster& cluster, EmbeddedIngest ingest,
                                                               const std::stop_token& stop);

}  // namespace lockstep
