#include "cli/embedded_cluster.h"

#include <algorithm>
#include <set>
#include <utility>

#include "agent/uplink/grpc/grpc_transport.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/version.h"
#include "cli/held_files.h"
#include "platform/heap.h"
#include "platform/host.h"
#include "platform/log.h"

namespace lockstep {
namespace {

// In the order of the inputs.
std::vector<FileReport> ReportsOf(const HeldFiles& held, const std::vector<SentFile>& sent) {
  std::vector<FileReport> reports;
  auto next = sent.begin();
  for (const std::optional<FileReport>& report : held.reports()) {
    reports.push_back(report ? *report : (next++)->report);
  }
  for (; next != sent.end(); ++next) {
    reports.push_back(next->report);
  }
  return reports;
}

// Of the files sent that were not taken, those that nobody refused.
std::vector<std::string> PathsOfOthers(const std::vector<SentFile>& sent, const std::vector<SentFile>& taken,
                                       const std::vector<RefusedUplinkSource>& refused) {
  std::set<std::string> named;
  for (const SentFile& file : taken) {
    named.insert(file.report.path);
  }
  for (const RefusedUplinkSource& source : refused) {
    named.insert(source.path);
  }
  std::vector<std::string> paths;
  for (const SentFile& file : sent) {
    if (named.insert(file.report.path).second) {
      paths.push_back(file.report.path);
    }
  }
  return paths;
}

}  // namespace

EmbeddedCluster::EmbeddedCluster(std::unique_ptr<JobStore> store, std::unique_ptr<AggregatorServer> server,
                                 const std::string& path)
    : lasts_(!path.empty()),
      store_(std::move(store)),
      server_(std::move(server)),
      query_(std::make_unique<QueryClient>(server_->InProcessChannel(), lasts_ ? path : "of this process")) {}

absl::StatusOr<std::unique_ptr<EmbeddedCluster>> EmbeddedCluster::Open(const EmbeddedClusterOptions& options) {
  LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<JobStore> store, OpenStore("sqlite", {.path = options.store_path}));
  AggregatorServerOptions server_options;
  server_options.analysis_threads = options.threads;
  server_options.grace_ns = 0;  // its only callers are in this process and have their answers
  LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<AggregatorServer> server, AggregatorServer::Start(*store, server_options));
  return std::unique_ptr<EmbeddedCluster>(new EmbeddedCluster(std::move(store), std::move(server), options.store_path));
}

absl::StatusOr<IngestOutcome> EmbeddedCluster::Ingest(const EmbeddedIngest& what, const std::stop_token& stop) {
  const bool is_new = lasts_ && absl::IsNotFound(store_->LoadContexts(what.run).status());
  absl::StatusOr<IngestOutcome> outcome = TryIngest(what, stop);
  const auto nothing_came_of_it = [](const IngestOutcome& done) {
    return std::none_of(done.files.begin(), done.files.end(), IsUsable);
  };
  if (is_new && (!outcome.ok() || nothing_came_of_it(*outcome))) {
    DropRun(what.run);
  } else if (outcome.ok()) {
    outcome->is_new = is_new;
  }
  return outcome;
}

void EmbeddedCluster::DropRun(const std::string& run) {
  server_->Shutdown();  // nothing arrives any more that would begin the run again
  const absl::Status dropped = store_->DropRun(run);
  if (!dropped.ok()) {
    LogWarning("the unfinished run '{}' stays in the store: {}", run, std::string(dropped.message()));
  }
}

absl::StatusOr<IngestOutcome> EmbeddedCluster::TryIngest(const EmbeddedIngest& what, const std::stop_token& stop) {
  HeldFiles held(what.inputs.files, what.send.condense, lasts_);
  if (lasts_ && !what.replace) {
    LOCKSTEP_RETURN_IF_ERROR(held.FindIn(*store_, what.run));
  }
  const InputFiles to_read{.files = held.ToRead(), .problems = what.inputs.problems};
  UplinkClientOptions options;
  options.session.hello = {.run = what.run,
                           .agent = HostName(),
                           .agent_version = std::string(Version()),
                           .expected_ranks = what.expected_ranks,
                           .replace = what.replace};
  options.give_up_after_ns = 0;  // a failure inside one process does not heal
  UplinkClient uplink(MakeGrpcTransport(server_->InProcessChannel()), std::move(options), stop);
  LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<SentFile> sent, CondenseAndSend(to_read, what.send, uplink, stop));
  LOCKSTEP_ASSIGN_OR_RETURN(UplinkSummary summary, uplink.Drain(/*finish_run=*/false));
  IngestOutcome outcome;
  if (lasts_) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<SentFile> taken, TakenWhole(*store_, what.run, sent));
    outcome.differ = PathsOfOthers(sent, taken, summary.refused);
    const absl::Status kept = held.KeepIn(*store_, what.run, taken);
    if (!kept.ok()) {
      LogWarning("the store cannot remember these files, so they will be read again: {}", std::string(kept.message()));
    }
  }
  outcome.files = ReportsOf(held, sent);
  outcome.held = what.inputs.files.size() - to_read.files.size();
  outcome.refused = std::move(summary.refused);
  ReturnFreeMemory();  // the report is made by other threads, in arenas of their own
  KeepFreeMemory();
  return outcome;
}

}  // namespace lockstep
