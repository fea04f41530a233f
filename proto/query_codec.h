// Between lockstep.v1 Query messages and the values of the analysis. Decoding checks every field.
#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "analysis/metrics/run/analysis_options.h"
#include "analysis/model/prune.h"
#include "analysis/model/run_data.h"
#include "lockstep/v1/query.pb.h"

namespace lockstep {

void ToProto(const std::string& run, const AnalysisOptions& options, v1::ViewsRequest* out);
absl::StatusOr<AnalysisOptions> FromProto(const v1::ViewsRequest& request);

void ToProto(const RunInfo& run, v1::Run* out);
absl::StatusOr<RunInfo> FromProto(const v1::Run& run);

void ToProto(const PruneRequest& request, v1::Prune* out);
PruneRequest FromProto(const v1::Prune& request);
void ToProto(const PruneVerdict& verdict, v1::PruneVerdict* out);
PruneVerdict FromProto(const v1::PruneVerdict& verdict);

}  // namespace lockstep
