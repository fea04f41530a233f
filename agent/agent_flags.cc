#include "agent/agent_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>

#include "agent/spool/spool.h"
#include "analysis/base/version.h"
#include "platform/file_system.h"
#include "platform/http/metrics_server.h"
#include "platform/log.h"

namespace lockstep {
namespace {

constexpr const char* kExamples = R"(Examples:
  Send the traces of this node to an aggregator on the same machine:
    lockstep-agent --aggregator 127.0.0.1:7700 --run monday traces/
  Watch a folder until SIGTERM, sending each trace once it is finished:
    lockstep-agent --aggregator 127.0.0.1:7700 --run monday --watch /var/traces
  The same, surviving restarts, lost connections and full disks:
    lockstep-agent --aggregator 127.0.0.1:7700 --run monday --watch /var/traces --spool /var/lib/lockstep
  Send to another machine, encrypted, with a token that lets this node in (docs/security.md):
    lockstep-agent --aggregator agg.example:7700 --tls --token-file agent.token --run monday traces/
  Say that no more ranks will come, so that the run counts as complete:
    lockstep-agent --aggregator 127.0.0.1:7700 --run monday --finish rank0.json.gz

With --spool, what was taken is on disk before it counts as taken: an agent that was killed and is started again on the
same folder neither repeats a file nor forgets one. One agent and one run a folder.
SIGTERM: no new files, what was taken is sent within --drain-timeout, the rest stays in the spool. A second signal
ends at once; what is in the spool is not lost.

Exit codes: 0 done, 1 wrong usage, 2 no usable trace or the aggregator cannot be used, 130 or 143 interrupted.)";

void AddFlags(CLI::App& app, AgentFlags& flags) {
  app.add_option("--aggregator", flags.aggregator, "HOST:PORT of the aggregator")->required();
  app.add_option("--run", flags.run, "name of the run that the traces belong to")->required();
  app.add_option("PATH", flags.paths, "trace files, or folders to search");
  app.add_option("--watch", flags.watch, "send traces as they are finished in this folder, until SIGTERM; repeatable")
      ->allow_extra_args(false);
  app.add_option("--pattern", flags.pattern, "with --watch: only files whose name matches, such as '*.json.gz'");
  app.add_option("--spool", flags.spool, "folder where batches wait on disk until they are acknowledged");
  app.add_option("--spool-bytes", flags.spool_bytes, "bound of the spool (16M, 4G ...); when full, no files are taken")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--host", flags.host, "this node's name where the traces do not tell: auto, none or a name")
      ->capture_default_str();
  app.add_option("--rank-map", flags.rank_map, "CSV with header path,pid,device,rank,host");
  app.add_option("--step-range", flags.step_range, "name of the ranges that mark steps");
  app.add_option("--expect-ranks", flags.expect_ranks, "ranks that make the run complete")->check(CLI::PositiveNumber);
  app.add_flag("--finish", flags.finish, "no more sources will come from anybody");
  app.add_flag("--replace", flags.replace, "drop what the aggregator has of this run first");
  app.add_option("--jobs", flags.jobs, "files at a time (default: one a core, and one for each 8M of --memory)")
      ->check(CLI::PositiveNumber);
  app.add_option("--memory", flags.memory_bytes,
                 "room for sorting (24M), shared by the files in work; the agent takes about twice that and 30M")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--nice", flags.nice, "niceness of the process, 0 to 19")
      ->check(CLI::Range(0, 19))
      ->capture_default_str();
  app.add_option("--tmp", flags.tmp, "folder with room for sorting (default: $TMPDIR)");
  app.add_option("--connect-timeout", flags.connect_timeout_s, "seconds to try to reach the aggregator")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--drain-timeout", flags.drain_timeout_s, "seconds after SIGTERM for what was taken")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--redact", flags.redact, "send kernel and range names as keyed hashes; needs --redact-key");
  app.add_option("--redact-key", flags.redact_key, "file with the key of --redact: the same on every node");
  AddConnectionFlags(app, flags.connection);
  app.add_option("--metrics", flags.metrics, "HOST:PORT for /metrics (Prometheus), /healthz, /readyz; loopback");
  app.add_option("--log-level", flags.log_level, "debug, info, warning, error or off")->capture_default_str();
  app.add_option("--log-format", flags.log_format, "text, or json: one object a line")->capture_default_str();
}

// What is wrong with flags that are each well-formed; null = nothing.
std::optional<std::string> Complaint(const AgentFlags& flags) {
  if (const auto complaint = ConnectionComplaint(flags.aggregator, flags.connection)) {
    return complaint;
  }
  if (flags.paths.empty() == flags.watch.empty()) {
    return "give either PATHs or --watch DIR";
  }
  if (!flags.pattern.empty() && flags.watch.empty()) {
    return "--pattern chooses among the files of --watch folders";
  }
  if (flags.redact == flags.redact_key.empty()) {
    return "--redact and --redact-key FILE belong together: give both or none";
  }
  if (flags.replace && !flags.spool.empty()) {
    return "--replace and --spool exclude each other: an agent started again would drop what it has delivered; give "
           "the "
           "new data a --run of its own";
  }
  for (const std::string& folder : flags.watch) {
    if (!flags.spool.empty() && IsInside(flags.spool, folder)) {
      return fmt::format("the spool {} lies in the watched folder {}: its own files would be taken for traces",
                         flags.spool, folder);
    }
  }
  if (static_cast<int64_t>(std::min<uint64_t>(flags.spool_bytes, INT64_MAX)) < kLeastSpoolBytes) {
    return fmt::format("--spool-bytes {} is too little: at least {}", flags.spool_bytes, kLeastSpoolBytes);
  }
  if (!flags.metrics.empty()) {
    if (std::string complaint = MetricsAddressComplaint(flags.metrics, flags.connection.insecure); !complaint.empty()) {
      return complaint;
    }
  }
  if (!LogLevelFromName(flags.log_level)) {
    return fmt::format("--log-level '{}' is none of debug, info, warning, error, off", flags.log_level);
  }
  if (!LogFormatFromName(flags.log_format)) {
    return fmt::format("--log-format '{}' is neither text nor json", flags.log_format);
  }
  return std::nullopt;
}

}  // namespace

std::variant<AgentFlags, int> ParseAgentFlags(int argc, const char* const* argv) {
  CLI::App app("Condenses the rank traces of this node and streams them to a lockstep aggregator.", "lockstep-agent");
  AgentFlags flags;
  AddFlags(app, flags);
  app.set_version_flag("--version", "lockstep-agent " + std::string(Version()));
  app.footer(kExamples);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  SettleConnectionFlags(flags.connection);
  if (const auto complaint = Complaint(flags)) {
    fmt::print(stderr, "lockstep-agent: {}\n", *complaint);
    return 1;
  }
  return flags;
}

}  // namespace lockstep
