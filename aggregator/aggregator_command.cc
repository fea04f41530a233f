#include "aggregator/aggregator_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "aggregator/grpc/server.h"
#include "aggregator/store/job_store.h"
#include "analysis/base/time.h"
#include "platform/clock.h"
#include "platform/host.h"
#include "platform/log.h"
#include "platform/signals.h"

namespace lockstep {
namespace {

constexpr const char* kExamples = R"(Examples:
  Take agents of this machine, keep everything in runs.sqlite:
    lockstep-aggregator --listen 127.0.0.1:7700 --store runs.sqlite
  Let the system choose the port; the first line on stdout says which:
    lockstep-aggregator --listen 127.0.0.1:0 --store runs.sqlite
  Ask it:
    lockstep runs --aggregator 127.0.0.1:7700

SIGTERM or SIGINT ends it in order: what was acknowledged is in the store, agents come back on their own.
Exit codes: 0 ended as asked, 1 wrong usage, 2 the store or the address cannot be used.)";

struct Flags {
  std::string listen = "127.0.0.1:7700";
  std::string store;
  std::string log_level = "info";
  bool insecure = false;
  bool dump = false;
};

std::optional<std::string> Complaint(const Flags& flags) {
  const std::optional<Address> address = ParseAddress(flags.listen);
  if (flags.dump) {
    return "--dump is not built yet in this release: use lockstep show RUN --view all --format json --store FILE";
  }
  if (!address) {
    return fmt::format("--listen '{}' is not HOST:PORT", flags.listen);
  }
  if (!IsLoopback(address->host) && !flags.insecure) {
    return fmt::format(
        "{} can be reached by other machines, and connections are neither encrypted nor authenticated in "
        "this release: listen on 127.0.0.1, or accept that with --insecure",
        flags.listen);
  }
  if (!LogLevelFromName(flags.log_level)) {
    return fmt::format("--log-level '{}' is none of debug, info, warning, error, off", flags.log_level);
  }
  return std::nullopt;
}

std::variant<Flags, int> ParseFlags(int argc, const char* const* argv) {
  CLI::App app("Takes condensed traces from lockstep agents, stores them and answers questions about the runs.",
               "lockstep-aggregator");
  Flags flags;
  app.add_option("--listen", flags.listen, "HOST:PORT to listen on; port 0: the system chooses")->capture_default_str();
  app.add_option("--store", flags.store, "SQLite file that keeps the runs; made when it is not there")->required();
  app.add_flag("--insecure", flags.insecure, "allow other machines to connect, in plaintext");
  app.add_flag("--dump", flags.dump, "print the store in canonical form (not built yet)");
  app.add_option("--log-level", flags.log_level, "debug, info, warning, error or off")->capture_default_str();
  app.set_version_flag("--version", "lockstep-aggregator " LOCKSTEP_VERSION);
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

absl::Status Serve(const Flags& flags, const std::stop_token& stop) {
  const auto store = OpenStore("sqlite", {.path = flags.store});
  if (!store.ok()) {
    return store.status();
  }
  const auto server = AggregatorServer::Start(**store, {.listen = flags.listen});
  if (!server.ok()) {
    return server.status();
  }
  fmt::print("listening on {}\n", (*server)->address());
  std::fflush(stdout);
  LogInfo("listening on {}, store {}", (*server)->address(), flags.store);
  WaitUnlessStopped(stop, std::numeric_limits<int32_t>::max() * kNsPerS);
  LogInfo("ending: no new calls, open streams have a moment to finish");
  (*server)->Shutdown();
  return absl::OkStatus();
}

}  // namespace

int RunAggregatorCommand(int argc, const char* const* argv) {
  const auto parsed = ParseFlags(argc, argv);
  if (const int* done = std::get_if<int>(&parsed)) {
    return *done;
  }
  const Flags& flags = std::get<Flags>(parsed);
  SetLogLevel(*LogLevelFromName(flags.log_level));
  const StopOnSignals signals;
  const absl::Status ended = Serve(flags, signals.token());
  if (!ended.ok()) {
    fmt::print(stderr, "lockstep-aggregator: {}\n", std::string(ended.message()));
    return 2;
  }
  return 0;
}

}  // namespace lockstep
