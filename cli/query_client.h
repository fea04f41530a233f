// Questions to an aggregator over a channel: another process's, or the embedded one's.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "aggregator/query/prune.h"
#include "analysis/metrics/run/analysis_options.h"
#include "analysis/model/run_data.h"
#include "analysis/report/report.h"
#include "web/answers/run_answers.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace lockstep {

// Errors: those of the aggregator (kNotFound: no such run; kFailedPrecondition: the sources are several runs; ...), and
// kUnavailable when it cannot be reached. Thread safe.
class QueryClient final : public RunAnswers {
 public:
  // `name` is for messages: HOST:PORT or the path of a store. The token of the file goes with each call; "" = none.
  QueryClient(std::shared_ptr<grpc::Channel> channel, std::string name, std::string token_file = "");
  ~QueryClient() override;
  QueryClient(QueryClient&&) noexcept;
  QueryClient& operator=(QueryClient&&) noexcept;

  // By name.
  [[nodiscard]] absl::StatusOr<std::vector<RunInfo>> Runs() const override;
  // The report document of the views asked for, as the aggregator wrote it. RenderJson of Views gives the same bytes.
  [[nodiscard]] absl::StatusOr<std::string> ViewsText(const std::string& run,
                                                      const AnalysisOptions& options) const override;
  [[nodiscard]] absl::StatusOr<Json> Views(const std::string& run, const AnalysisOptions& options) const;
  [[nodiscard]] absl::Status FinishRun(const std::string& run) const;
  [[nodiscard]] absl::Status DropRun(const std::string& run) const;
  // From now on later runs are compared with this one under that name.
  [[nodiscard]] absl::Status SetBaseline(const std::string& name, const std::string& run) const;
  [[nodiscard]] absl::Status RemoveBaseline(const std::string& name) const;
  // What became of each run, or would become with dry_run; those that went before come first.
  [[nodiscard]] absl::StatusOr<std::vector<PruneVerdict>> Prune(const PruneRequest& request) const;

 private:
  struct Connection;  // keeps gRPC out of this header
  std::unique_ptr<Connection> connection_;
};

}  // namespace lockstep
