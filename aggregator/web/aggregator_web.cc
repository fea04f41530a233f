#include "aggregator/web/aggregator_web.h"

#include <utility>

#include "aggregator/access/access_control.h"
#include "analysis/base/status_macros.h"
#include "web/answers/run_answers.h"

namespace lockstep {
namespace {

class TokenAccess : public WebAccess {
 public:
  explicit TokenAccess(std::unique_ptr<AccessControl> control) : control_(std::move(control)) {}
  [[nodiscard]] absl::Status MayRead(const Digest& token, std::optional<std::string_view> run) override {
    return control_->Allow(token, run ? Action::kRead : Action::kList, run);
  }

 private:
  const std::unique_ptr<AccessControl> control_;
};

class ServerAnswers : public RunAnswers {
 public:
  ServerAnswers(JobStore& store, AggregatorServer& server) : store_(store), server_(server) {}
  [[nodiscard]] absl::StatusOr<std::vector<RunInfo>> Runs() const override { return store_.ListRuns(); }
  [[nodiscard]] absl::StatusOr<std::string> ViewsText(const std::string& run,
                                                      const AnalysisOptions& options) const override {
    return server_.Answer(run, options);
  }

 private:
  JobStore& store_;
  AggregatorServer& server_;
};

class Web : public AggregatorWeb {
 public:
  Web(JobStore& store, AggregatorServer& server, std::unique_ptr<WebAccess> access)
      : answers_(store, server), access_(std::move(access)) {}

  absl::Status Listen(const AggregatorWebOptions& options) {
    const ServerTls& tls = options.tls;
    LOCKSTEP_ASSIGN_OR_RETURN(
        service_,
        WebService::Start(answers_, access_.get(),
                          {.listen = options.listen,
                           .tls = {.certificate = tls.certificate, .key = tls.key, .client_ca = tls.client_ca},
                           .names = options.names}));
    return absl::OkStatus();
  }

  [[nodiscard]] const std::string& url() const override { return service_->url(); }
  [[nodiscard]] HttpServer::Load load() const override { return service_->load(); }

 private:
  ServerAnswers answers_;
  const std::unique_ptr<WebAccess> access_;  // null: everybody may read everything
  std::unique_ptr<WebService> service_;      // last: it uses the others
};

using WebLoadField = int64_t HttpServer::Load::*;

}  // namespace

absl::StatusOr<std::unique_ptr<WebAccess>> OpenWebAccess(const std::string& tokens) {
  LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<AccessControl> control, AccessControl::Open(tokens));
  return std::make_unique<TokenAccess>(std::move(control));
}

absl::StatusOr<std::unique_ptr<AggregatorWeb>> AggregatorWeb::Start(JobStore& store, AggregatorServer& server,
                                                                    const AggregatorWebOptions& options) {
  std::unique_ptr<WebAccess> access;
  if (!options.tokens.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(access, OpenWebAccess(options.tokens));
  }
  auto web = std::make_unique<Web>(store, server, std::move(access));
  LOCKSTEP_RETURN_IF_ERROR(web->Listen(options));
  return web;
}

void AddWebMetrics(MetricsRegistry& registry, const AggregatorWeb& web) {
  const auto read = [&web](WebLoadField field) {
    return [&web, field] { return static_cast<double>(web.load().*field); };
  };
  using Load = HttpServer::Load;
  registry.AddGauge("lockstep_aggregator_web_connections", "Connections of browsers and scripts to the pages.",
                    read(&Load::connections));
  registry.AddGauge("lockstep_aggregator_web_streams", "Of these, pages that listen for changes of a run.",
                    read(&Load::streams));
  const char* const requests = "lockstep_aggregator_web_requests_total";
  const char* const about_requests = "Requests answered by the pages and their API, by the class of the status.";
  registry.AddCounterOf(requests, about_requests, read(&Load::answered_2xx), {{"status", "2xx"}});
  registry.AddCounterOf(requests, about_requests, read(&Load::answered_3xx), {{"status", "3xx"}});
  registry.AddCounterOf(requests, about_requests, read(&Load::answered_4xx), {{"status", "4xx"}});
  registry.AddCounterOf(requests, about_requests, read(&Load::answered_5xx), {{"status", "5xx"}});
  const char* const refused = "lockstep_aggregator_web_refused_total";
  const char* const about_refused =
      "What was cut off or refused: new connections beyond the limit, silent ones that made room, requests that are no "
      "HTTP of ours, and readers that do not read.";
  registry.AddCounterOf(refused, about_refused, read(&Load::refused_connections), {{"reason", "connections"}});
  registry.AddCounterOf(refused, about_refused, read(&Load::evicted_connections), {{"reason", "silent"}});
  registry.AddCounterOf(refused, about_refused, read(&Load::malformed_requests), {{"reason", "malformed"}});
  registry.AddCounterOf(refused, about_refused, read(&Load::slow_readers), {{"reason", "slow_reader"}});
}

}  // namespace lockstep
