#include "aggregator/aggregator_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

#include "analysis/base/version.h"
#include "platform/command_line/command_line.h"
#include "platform/host.h"
#include "platform/http/metrics_server.h"
#include "platform/log.h"
#include "web/api/web_service.h"

namespace lockstep {
namespace {

constexpr const char* kExamples = R"(Examples:
  Serve agents on this machine, and keep everything in runs.sqlite:
    lockstep-aggregator --listen 127.0.0.1:7700 --store runs.sqlite
  Let the system choose the port; the first line on stdout names it:
    lockstep-aggregator --listen 127.0.0.1:0 --store runs.sqlite
  Let other machines connect, encrypted and with tokens:
    lockstep-aggregator --listen 0.0.0.0:7700 --store runs.sqlite \
        --tls-cert a.crt --tls-key a.key --tokens tokens
  Show its runs in a browser as well, at http://127.0.0.1:7780/:
    lockstep-aggregator --listen 127.0.0.1:7700 --store runs.sqlite \
        --web 127.0.0.1:7780
  List its runs:
    lockstep runs --aggregator 127.0.0.1:7700
  Compare two stores, even while they are in use:
    cmp <(lockstep-aggregator --dump --store a.sqlite) \
        <(lockstep-aggregator --dump --store b.sqlite)

A stream that exceeds a limit ends with RESOURCE_EXHAUSTED and a hint when to try again; agents wait and go on, and
lose nothing (docs/operations.md). Certificates and tokens are read again when their files change (docs/security.md).

After SIGTERM or SIGINT the aggregator takes no new calls and ends once open streams have finished. What it has
acknowledged is in the store; agents connect again on their own.

Exit codes: 0 ended as asked; 1 wrong usage; 2 the store or the address cannot be used; 130 or 143 a dump was
interrupted.)";

// What is wrong with listening where other machines can connect.
std::optional<std::string> ExposureComplaint(const AggregatorFlags& flags) {
  if (flags.tls.certificate.empty()) {
    return fmt::format(
        "{} can be reached by other machines: encrypt with --tls-cert and --tls-key (see docs/security.md), listen on "
        "127.0.0.1, or accept plaintext with --insecure",
        flags.listen);
  }
  if (flags.tls.client_ca.empty() && flags.tokens.empty()) {
    return fmt::format(
        "{} can be reached by other machines, and everyone there may do everything: say who may do what with "
        "--tokens, require certificates with --tls-client-ca, or accept this with --insecure",
        flags.listen);
  }
  return std::nullopt;
}

std::optional<std::string> WebComplaint(const AggregatorFlags& flags) {
  return WebExposureComplaint({.listen = flags.web,
                               .tls = !flags.tls.certificate.empty(),
                               .knows_clients = !flags.tokens.empty() || !flags.tls.client_ca.empty(),
                               .insecure = flags.insecure,
                               .listen_flag = "--web",
                               .tls_flags = "--tls-cert and --tls-key",
                               .tokens_flag = "--tokens or --tls-client-ca",
                               .insecure_flag = "--insecure"});
}

std::optional<std::string> Complaint(const AggregatorFlags& flags) {
  const std::optional<Address> address = ParseAddress(flags.listen);
  if (!address) {
    return fmt::format("--listen '{}' is not HOST:PORT", flags.listen);
  }
  if (flags.tls.certificate.empty() != flags.tls.key.empty()) {
    return "--tls-cert and --tls-key belong together: use both or none";
  }
  if (!flags.tls.client_ca.empty() && flags.tls.certificate.empty()) {
    return "--tls-client-ca needs --tls-cert and --tls-key";
  }
  if (!LogLevelFromName(flags.log_level)) {
    return fmt::format("--log-level '{}' is none of debug, info, warning, error, off", flags.log_level);
  }
  if (!LogFormatFromName(flags.log_format)) {
    return fmt::format("--log-format '{}' is neither text nor json", flags.log_format);
  }
  if (!flags.metrics.empty()) {
    if (std::string complaint = MetricsAddressComplaint(flags.metrics, flags.insecure); !complaint.empty()) {
      return complaint;
    }
  }
  if (!flags.web.empty()) {
    if (auto complaint = WebComplaint(flags)) return complaint;
  } else if (!flags.web_names.empty()) {
    return "--web-name is for the pages of --web HOST:PORT";
  }
  return IsLoopback(address->host) || flags.insecure ? std::nullopt : ExposureComplaint(flags);
}

void AddServiceFlags(CLI::App& app, AggregatorFlags& flags) {
  constexpr const char* kGroup = "Service";
  app.add_option("--listen", flags.listen, "address to listen on; with port 0 the system chooses the port")
      ->option_text("HOST:PORT")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--store", flags.store, "SQLite file that keeps the runs; it is created if it does not exist")
      ->required()
      ->option_text("FILE")
      ->group(kGroup);
  app.add_option("--web", flags.web,
                 "address for the live pages and their read-only API, for browsers; with the same certificate and the "
                 "same tokens")
      ->option_text("HOST:PORT")
      ->group(kGroup);
  app.add_option("--web-name", flags.web_names,
                 "host name that browsers may use for the pages, with the address itself and localhost")
      ->option_text("NAME,...")
      ->delimiter(',')
      ->group(kGroup);
  app.add_flag("--on-demand", flags.on_demand,
               "analyse a run when somebody asks about it; otherwise each run is analysed once it is complete, so that "
               "its first question, page and comparison need not wait")
      ->group(kGroup);
  app.add_option("--drain-timeout", flags.drain_timeout_s, "seconds to wait for open streams at shutdown")
      ->check(WholeNumber(0, 86'400))
      ->option_text("SECONDS")
      ->capture_default_str()
      ->group(kGroup);
  app.add_flag("--dump", flags.dump, "print the store in canonical form and exit; equal data gives identical bytes")
      ->group(kGroup);
}

void AddAccessFlags(CLI::App& app, AggregatorFlags& flags) {
  constexpr const char* kGroup = "Access";
  const auto file = [&](const char* flag, std::string& path, const char* what) {
    app.add_option(flag, path, what)->option_text("FILE")->group(kGroup);
  };
  file("--tls-cert", flags.tls.certificate, "PEM file with the certificate of this aggregator; turns TLS on");
  file("--tls-key", flags.tls.key, "PEM file with its private key");
  file("--tls-client-ca", flags.tls.client_ca,
       "PEM file with a certificate authority; every client needs a certificate that it has signed");
  file("--tokens", flags.tokens, "file of lines ROLE TOKEN [RUN-PREFIX]: who may do what");
  app.add_flag("--insecure", flags.insecure, "let other machines connect unencrypted or without tokens")->group(kGroup);
}

// A flag for a number of at least 1.
void AddLimit(CLI::App& app, const char* flag, int64_t& value, const char* what) {
  app.add_option(flag, value, what)
      ->check(WholeNumber(1, int64_t{1} << 40))
      ->option_text("N")
      ->capture_default_str()
      ->group("Limits");
}

void AddByteLimits(CLI::App& app, IngestLimits& limits) {
  app.add_option("--max-message-bytes", limits.max_message_bytes, "size of the largest message that is read, 4M to 1G")
      ->transform(Bytes(int64_t{4} << 20, int64_t{1} << 30))
      ->option_text("SIZE")
      ->default_str(SizeText(limits.max_message_bytes))
      ->group("Limits");
  app.add_option("--max-held-bytes", limits.max_held_bytes,
                 "memory for messages that are received and not yet stored, over all agents")
      ->transform(Bytes(int64_t{1} << 20, int64_t{1} << 40))
      ->option_text("SIZE")
      ->default_str(SizeText(limits.max_held_bytes))
      ->group("Limits");
}

void AddLimits(CLI::App& app, AggregatorFlags& flags) {
  AddLimit(app, "--max-streams", flags.limits.max_streams, "agents connected at a time");
  AddLimit(app, "--max-messages-per-s", flags.limits.max_messages_per_s,
           "messages a second from one agent; further ones wait at the agent");
  AddLimit(app, "--max-working", flags.limits.max_working, "batches decoded and stored at a time");
  AddByteLimits(app, flags.limits);
  AddLimit(app, "--max-runs", flags.store_limits.max_runs, "runs in the store");
  AddLimit(app, "--max-ranks", flags.store_limits.max_sources,
           "ranks of a run; several captures of a rank count one by one");
  AddLimit(app, "--max-names", flags.store_limits.max_names, "different names of kernels and ranges in a run");
  AddLimit(app, "--max-files", flags.store_limits.max_files, "records about input files of a run");
}

}  // namespace

std::variant<AggregatorFlags, int> ParseAggregatorFlags(int argc, const char* const* argv) {
  CLI::App app("Receives condensed traces from lockstep agents, stores them and answers questions about the runs.",
               "lockstep-aggregator");
  AggregatorFlags flags;
  UsePlainHelp(app, "lockstep-aggregator " + std::string(Version()));
  AddServiceFlags(app, flags);
  AddAccessFlags(app, flags);
  AddMonitoring(app, {flags.metrics, flags.log_level, flags.log_format});
  AddLimits(app, flags);
  app.footer(kExamples);
  if (const std::optional<int> done = ParseFlagsOrTell(app, argc, argv)) {
    return *done;
  }
  if (const auto complaint = Complaint(flags)) {
    fmt::print(stderr, "lockstep-aggregator: {}\n", *complaint);
    return 1;
  }
  return flags;
}

}  // namespace lockstep
