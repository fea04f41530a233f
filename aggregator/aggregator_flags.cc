#include "aggregator/aggregator_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

#include "analysis/base/version.h"
#include "platform/host.h"
#include "platform/http/metrics_server.h"
#include "platform/log.h"

namespace lockstep {
namespace {

constexpr const char* kExamples = R"(Examples:
  Take agents of this machine, keep everything in runs.sqlite:
    lockstep-aggregator --listen 127.0.0.1:7700 --store runs.sqlite
  Let the system choose the port; the first line on stdout says which:
    lockstep-aggregator --listen 127.0.0.1:0 --store runs.sqlite
  Let other machines connect, encrypted, each with a token of its own:
    lockstep-aggregator --listen 0.0.0.0:7700 --store runs.sqlite --tls-cert a.crt --tls-key a.key --tokens tokens
  Ask it:
    lockstep runs --aggregator 127.0.0.1:7700
  Compare two stores, in use or not:
    cmp <(lockstep-aggregator --dump --store a.sqlite) <(lockstep-aggregator --dump --store b.sqlite)

Beyond a limit a stream is ended with RESOURCE_EXHAUSTED and a hint when to try again; agents wait and go on, and what
they hold is not lost (docs/operations.md).
Certificates and tokens are read again when their files change (docs/security.md).
SIGTERM or SIGINT ends it in order: what was acknowledged is in the store, agents come back on their own.
Exit codes: 0 ended as asked, 1 wrong usage, 2 the store or the address cannot be used, 130 and 143 a dump was ended by
a signal.)";

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
        "{} can be reached by other machines, and anybody there could do everything: tell who may do what with "
        "--tokens, require certificates with --tls-client-ca, or accept that with --insecure",
        flags.listen);
  }
  return std::nullopt;
}

std::optional<std::string> Complaint(const AggregatorFlags& flags) {
  const std::optional<Address> address = ParseAddress(flags.listen);
  if (!address) {
    return fmt::format("--listen '{}' is not HOST:PORT", flags.listen);
  }
  if (flags.tls.certificate.empty() != flags.tls.key.empty()) {
    return "--tls-cert and --tls-key belong together: give both or none";
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
  return IsLoopback(address->host) || flags.insecure ? std::nullopt : ExposureComplaint(flags);
}

void AddFlags(CLI::App& app, AggregatorFlags& flags) {
  app.add_option("--listen", flags.listen, "HOST:PORT to listen on; port 0: the system chooses")->capture_default_str();
  app.add_option("--store", flags.store, "SQLite file that keeps the runs; made when it is not there")->required();
  app.add_option("--tls-cert", flags.tls.certificate, "PEM file of this aggregator's certificate: turns TLS on");
  app.add_option("--tls-key", flags.tls.key, "PEM file of its private key");
  app.add_option("--tls-client-ca", flags.tls.client_ca, "PEM file: clients must have a certificate of this authority");
  app.add_option("--tokens", flags.tokens, "file of lines ROLE TOKEN [RUN-PREFIX]: who may do what");
  app.add_option("--drain-timeout", flags.drain_timeout_s, "seconds that open streams have to finish when it ends")
      ->check(CLI::Range(0, 86'400))
      ->capture_default_str();
  app.add_option("--metrics", flags.metrics, "HOST:PORT for /metrics (Prometheus), /healthz, /readyz; loopback");
  app.add_flag("--insecure", flags.insecure, "allow other machines to connect, in plaintext or without tokens");
  app.add_flag("--dump", flags.dump, "print what the store holds in canonical form, and end: equal data, equal bytes");
  app.add_option("--log-level", flags.log_level, "debug, info, warning, error or off")->capture_default_str();
  app.add_option("--log-format", flags.log_format, "text, or json: one object a line")->capture_default_str();
}

// A flag for a number of at least 1.
void AddLimit(CLI::App& app, const char* flag, int64_t& value, const char* what) {
  app.add_option(flag, value, what)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str()
      ->group("Limits");
}

void AddByteLimits(CLI::App& app, IngestLimits& limits) {
  app.add_option("--max-message-bytes", limits.max_message_bytes, "largest message that is read (4M to 1G)")
      ->transform(CLI::AsSizeValue(false) & CLI::Range(uint32_t{4} << 20, uint32_t{1} << 30))
      ->capture_default_str()
      ->group("Limits");
  app.add_option("--max-held-bytes", limits.max_held_bytes, "of messages of all streams that wait for the store")
      ->transform(CLI::AsSizeValue(false) & CLI::Range(int64_t{1} << 20, int64_t{1} << 40))
      ->capture_default_str()
      ->group("Limits");
}

void AddLimits(CLI::App& app, AggregatorFlags& flags) {
  AddLimit(app, "--max-streams", flags.limits.max_streams, "agents connected at once");
  AddLimit(app, "--max-messages-per-s", flags.limits.max_messages_per_s, "of one agent; more wait on its side");
  AddLimit(app, "--max-working", flags.limits.max_working, "batches being decoded and stored at once");
  AddByteLimits(app, flags.limits);
  AddLimit(app, "--max-runs", flags.store_limits.max_runs, "kept in the store");
  AddLimit(app, "--max-ranks", flags.store_limits.max_sources, "sources of a run, each capture of a rank counted");
  AddLimit(app, "--max-names", flags.store_limits.max_names, "names of kernels and ranges of a run");
  AddLimit(app, "--max-files", flags.store_limits.max_files, "notes about input files of a run");
}

}  // namespace

std::variant<AggregatorFlags, int> ParseAggregatorFlags(int argc, const char* const* argv) {
  CLI::App app("Takes condensed traces from lockstep agents, stores them and answers questions about the runs.",
               "lockstep-aggregator");
  AggregatorFlags flags;
  AddFlags(app, flags);
  AddLimits(app, flags);
  app.set_version_flag("--version", "lockstep-aggregator " + std::string(Version()));
  app.footer(kExamples);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (const auto complaint = Complaint(flags)) {
    fmt::print(stderr, "lockstep-aggregator: {}\n", *complaint);
    return 1;
  }
  return flags;
}

}  // namespace lockstep
