#include "agent/agent_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

#include "platform/host.h"
#include "platform/log.h"

namespace lockstep {
namespace {

constexpr const char* kExamples = R"(Examples:
  Send the traces of this node to an aggregator on the same machine:
    lockstep-agent --aggregator 127.0.0.1:7700 --run monday traces/
  Watch a folder until SIGTERM, sending each trace once it is finished:
    lockstep-agent --aggregator 127.0.0.1:7700 --run monday --watch /var/traces
  Say that no more ranks will come, so that the run counts as complete:
    lockstep-agent --aggregator 127.0.0.1:7700 --run monday --finish rank0.json.gz

Exit codes: 0 done, 1 wrong usage, 2 no usable trace or the aggregator cannot be used, 130 or 143 interrupted.)";

void AddFlags(CLI::App& app, AgentFlags& flags) {
  app.add_option("--aggregator", flags.aggregator, "HOST:PORT of the aggregator")->required();
  app.add_option("--run", flags.run, "name of the run that the traces belong to")->required();
  app.add_option("PATH", flags.paths, "trace files, or folders to search");
  app.add_option("--watch", flags.watch, "send traces as they appear in this folder, until SIGTERM");
  app.add_option("--host", flags.host, "this node's name where the traces do not tell: auto, none or a name")
      ->capture_default_str();
  app.add_option("--rank-map", flags.rank_map, "CSV with header path,pid,device,rank,host");
  app.add_option("--step-range", flags.step_range, "name of the ranges that mark steps");
  app.add_option("--expect-ranks", flags.expect_ranks, "ranks that make the run complete")->check(CLI::PositiveNumber);
  app.add_flag("--finish", flags.finish, "no more sources will come from anybody");
  app.add_flag("--replace", flags.replace, "drop what the aggregator has of this run first");
  app.add_option("--jobs", flags.jobs, "files at a time (default: one a core)")->check(CLI::PositiveNumber);
  app.add_option("--tmp", flags.tmp, "folder with room for sorting (default: $TMPDIR)");
  app.add_option("--connect-timeout", flags.connect_timeout_s, "seconds to try to reach the aggregator")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--insecure", flags.insecure, "allow a plaintext connection to another machine");
  app.add_option("--log-level", flags.log_level, "debug, info, warning, error or off")->capture_default_str();
}

// What is wrong with flags that are each well-formed; null = nothing.
std::optional<std::string> Complaint(const AgentFlags& flags, const std::string& spool) {
  const std::optional<Address> address = ParseAddress(flags.aggregator);
  if (!spool.empty()) {
    return "--spool is not built yet in this release: batches wait in memory, and an agent started again resumes where "
           "the "
           "aggregator stands";
  }
  if (!address || address->port == 0) {
    return fmt::format("--aggregator '{}' is not HOST:PORT", flags.aggregator);
  }
  if (!IsLoopback(address->host) && !flags.insecure) {
    return fmt::format(
        "{} is another machine, and connections are not encrypted in this release: use a tunnel, or accept "
        "plaintext with --insecure",
        flags.aggregator);
  }
  if (flags.paths.empty() == flags.watch.empty()) {
    return "give either PATHs or --watch DIR";
  }
  if (!LogLevelFromName(flags.log_level)) {
    return fmt::format("--log-level '{}' is none of debug, info, warning, error, off", flags.log_level);
  }
  return std::nullopt;
}

}  // namespace

std::variant<AgentFlags, int> ParseAgentFlags(int argc, const char* const* argv) {
  CLI::App app("Condenses the rank traces of this node and streams them to a lockstep aggregator.", "lockstep-agent");
  AgentFlags flags;
  std::string spool;
  AddFlags(app, flags);
  app.add_option("--spool", spool, "folder for unsent batches (not built yet)");
  app.set_version_flag("--version", "lockstep-agent " LOCKSTEP_VERSION);
  app.footer(kExamples);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (const auto complaint = Complaint(flags, spool)) {
    fmt::print(stderr, "lockstep-agent: {}\n", *complaint);
    return 1;
  }
  return flags;
}

}  // namespace lockstep
