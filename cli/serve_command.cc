#include "cli/serve_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/web/aggregator_web.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "cli/any_run.h"
#include "cli/report_output.h"
#include "platform/command_line/command_line.h"
#include "platform/log.h"
#include "platform/outage.h"
#include "platform/pem.h"
#include "platform/signals.h"
#include "web/api/web_service.h"

namespace lockstep {
namespace {

struct ServeFlags {
  std::vector<std::string> paths;
  AnyRunOptions input;
  std::string listen = "127.0.0.1:7780";
  HttpTls tls;
  std::string tokens;
  std::vector<std::string> names;
  bool insecure = false;
  std::string log_level = "warning";
};

// Where the runs are: traces that were read into this process, or another place.
struct ServedRuns {
  std::unique_ptr<EmbeddedCluster> cluster;
  std::unique_ptr<RunSource> source;
  [[nodiscard]] const QueryClient& query() const { return cluster ? cluster->query() : source->query(); }
};

// Each PATH is a run, called as `analyze` calls it; of two with the same name the second by its path.
absl::StatusOr<ServedRuns> ReadPaths(const ServeFlags& flags, const std::stop_token& stop) {
  ServedRuns runs;
  LOCKSTEP_ASSIGN_OR_RETURN(runs.cluster, EmbeddedCluster::Open({.threads = static_cast<size_t>(flags.input.jobs)}));
  std::set<std::string> names;
  for (const std::string& path : flags.paths) {
    LOCKSTEP_ASSIGN_OR_RETURN(EmbeddedIngest ingest, IngestOf(path, flags.input));
    if (names.contains(ingest.run)) ingest.run = path;
    if (!names.insert(ingest.run).second) {
      return absl::InvalidArgumentError(fmt::format("{} is given twice", path));
    }
    LOCKSTEP_RETURN_IF_ERROR(ReadInto(*runs.cluster, ingest, path, stop));
  }
  return runs;
}

absl::StatusOr<ServedRuns> OpenRunsOf(const ServeFlags& flags, const std::stop_token& stop) {
  const bool elsewhere = !flags.input.source.store.empty() || !flags.input.source.aggregator.empty();
  if (elsewhere == !flags.paths.empty()) {
    return absl::InvalidArgumentError(
        "say what to show: PATHs of traces, --store FILE or --aggregator HOST:PORT, one of the three");
  }
  if (!elsewhere) return ReadPaths(flags, stop);
  ServedRuns runs;
  LOCKSTEP_ASSIGN_OR_RETURN(RunSource source, RunSource::Open(flags.input.source));
  runs.source = std::make_unique<RunSource>(std::move(source));
  LOCKSTEP_RETURN_IF_ERROR(runs.query().Runs().status());  // rather now than on the first page
  return runs;
}

std::optional<std::string> FlagComplaint(const ServeFlags& flags) {
  if (flags.tls.certificate.empty() != flags.tls.key.empty()) {
    return "--web-cert and --web-key belong together: use both or none";
  }
  if (!flags.tls.client_ca.empty() && flags.tls.certificate.empty()) {
    return "--web-client-ca needs --web-cert and --web-key";
  }
  return WebExposureComplaint({.listen = flags.listen,
                               .tls = !flags.tls.certificate.empty(),
                               .knows_clients = !flags.tokens.empty() || !flags.tls.client_ca.empty(),
                               .insecure = flags.insecure,
                               .listen_flag = "--listen",
                               .tls_flags = "--web-cert and --web-key",
                               .tokens_flag = "--tokens or --web-client-ca",
                               .insecure_flag = "--insecure-web"});
}

absl::Status ServeUntilStopped(const ServeFlags& flags, const ServedRuns& runs, const std::stop_token& stop) {
  std::unique_ptr<WebAccess> access;
  if (!flags.tokens.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(access, OpenWebAccess(flags.tokens));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(
      const std::unique_ptr<WebService> service,
      WebService::Start(runs.query(), access.get(), {.listen = flags.listen, .tls = flags.tls, .names = flags.names}));
  fmt::print("pages on {}\n", service->url());
  std::fflush(stdout);
  if (!HasPages()) {
    fmt::print(
        stderr,
        "lockstep: this lockstep was built without pages, because node or npm was missing: only the API answers, "
        "see {}api/v1/openapi.json\n",
        service->url());
  }
  WaitUnlessStopped(stop, std::numeric_limits<int32_t>::max() * kNsPerS);
  return absl::OkStatus();
}

int Serve(const ServeFlags& flags) {
  SetLogLevel(*LogLevelFromName(flags.log_level));
  if (const auto complaint = FlagComplaint(flags)) {
    return Complain(absl::InvalidArgumentError(*complaint), kExitUsage);
  }
  const StopOnSignals signals;
  const absl::StatusOr<ServedRuns> runs = OpenRunsOf(flags, signals.token());
  if (!runs.ok()) {
    const bool interrupted = signals.signal() != 0 && absl::IsCancelled(runs.status());
    return Complain(runs.status(), interrupted ? 128 + signals.signal() : ExitCodeOf(runs.status()));
  }
  const absl::Status ended = ServeUntilStopped(flags, *runs, signals.token());
  return ended.ok() ? kExitDone : Complain(ended, kExitNoInput);
}

void AddPortFlags(CLI::App& verb, ServeFlags& flags) {
  constexpr const char* kGroup = "Where to serve";
  const auto file = [&](const char* flag, std::string& path, const char* what) {
    verb.add_option(flag, path, what)->option_text("FILE")->group(kGroup);
  };
  verb.add_option("--listen", flags.listen, "address to listen on; with port 0 the system chooses the port")
      ->option_text("HOST:PORT")
      ->default_str("127.0.0.1:7780")
      ->group(kGroup);
  verb.add_option("--web-name", flags.names, "host name that browsers may use, with the address itself and localhost")
      ->option_text("NAME,...")
      ->delimiter(',')
      ->group(kGroup);
  file("--web-cert", flags.tls.certificate, "PEM file with the certificate of the pages; turns TLS on");
  file("--web-key", flags.tls.key, "PEM file with its private key");
  file("--web-client-ca", flags.tls.client_ca,
       "PEM file with a certificate authority; every browser needs a certificate that it has signed");
  file("--tokens", flags.tokens,
       "file of lines ROLE TOKEN [RUN-PREFIX]: who may read what, as for lockstep-aggregator");
  verb.add_flag("--insecure-web", flags.insecure, "let other machines read unencrypted or without tokens")
      ->group(kGroup);
}

}  // namespace

std::function<int()> AddServeCommand(CLI::App& verb) {
  auto flags = std::make_shared<ServeFlags>();
  verb.add_option("PATH", flags->paths, "trace files or folders of them, each a run, which are read first");
  AddRunSourceFlags(verb, flags->input.source);
  AddPortFlags(verb, *flags);
  constexpr const char* kReading = "How to read PATHs";
  verb.add_option("--step-range", flags->input.step_range, "name of the NVTX ranges or annotations that mark steps")
      ->option_text("NAME")
      ->group(kReading);
  verb.add_option("--jobs", flags->input.jobs, "number of files read at a time (default: the number of cores)")
      ->check(WholeNumber(1))
      ->option_text("N")
      ->group(kReading);
  verb.add_option("--log-level", flags->log_level, "what to log on stderr: debug, info, warning, error or off")
      ->check(OneOf({"debug", "info", "warning", "error", "off"}))
      ->option_text("LEVEL")
      ->default_str("warning")
      ->group("Output");
  verb.footer(
      "Prints the address and serves until it is interrupted. Nothing can be changed through it.\n\n"
      "Examples:\n"
      "  lockstep serve traces/\n"
      "  lockstep serve monday/ tuesday/\n"
      "      both runs, and a page that compares them\n"
      "  lockstep serve --store runs.db\n"
      "  lockstep serve --aggregator agg.example:7700 --tls --token-file reader.token\n"
      "      on your own machine, what an aggregator knows, also while it grows\n"
      "  lockstep serve --store runs.db --listen 0.0.0.0:7780 --web-cert web.crt \\\n"
      "      --web-key web.key --tokens tokens\n"
      "      for others; see docs/security.md\n\n"
      "The pages show one run (/runs/NAME), all runs (/), two runs (/compare?base=A&new=B) and a metric over runs "
      "(/history). The API is described by `lockstep schema --openapi`.");
  return [flags] { return Serve(*flags); };
}

}  // namespace lockstep
