#include "agent/agent_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>

#include "agent/spool/spool.h"
#include "analysis/base/version.h"
#include "platform/command_line/command_line.h"
#include "platform/file_system.h"
#include "platform/http/metrics_server.h"
#include "platform/log.h"

namespace lockstep {
namespace {

constexpr const char* kExamples = R"(Examples:
  Send the traces of this node to an aggregator on the same machine:
    lockstep-agent --aggregator 127.0.0.1:7700 --run monday traces/
  Watch a folder until SIGTERM, and send each trace once it is finished:
    lockstep-agent --aggregator 127.0.0.1:7700 --run monday --watch /var/traces
  The same, but survive restarts, lost connections and full disks:
    lockstep-agent --aggregator 127.0.0.1:7700 --run monday \
        --watch /var/traces --spool /var/lib/lockstep
  Send to another machine, encrypted, with a token (docs/security.md):
    lockstep-agent --aggregator agg.example:7700 --tls \
        --token-file agent.token --run monday traces/
  Send the last traces of a run, and mark it complete:
    lockstep-agent --aggregator 127.0.0.1:7700 --run monday \
        --finish rank0.json.gz

With --spool, a file counts as read only once its data is on disk: an agent that was killed and starts again with the
same folder neither repeats nor forgets a file. Each agent and each run needs a spool folder of its own.

After SIGTERM the agent reads no new files, sends what it has within --drain-timeout, and keeps the rest in the spool. A
second signal ends it at once; nothing in the spool is lost.

Exit codes: 0 done; 1 wrong usage; 2 no usable trace, or the aggregator cannot be used; 130 or 143 interrupted.)";

void AddInputFlags(CLI::App& app, AgentFlags& flags) {
  constexpr const char* kGroup = "Traces";
  app.add_option("PATH", flags.paths, "trace files, or folders with traces");
  app.add_option("--watch", flags.watch,
                 "send the traces of this folder as they are finished, until SIGTERM; may be given several times")
      ->allow_extra_args(false)
      ->option_text("DIR")
      ->group(kGroup);
  app.add_option("--pattern", flags.pattern, "with --watch: only files with such a name, for example '*.json.gz'")
      ->option_text("PATTERN")
      ->group(kGroup);
  app.add_option("--host", flags.host,
                 "host name of traces that do not name theirs: a name, auto (this machine) or none")
      ->option_text("NAME")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--rank-map", flags.rank_map,
                 "CSV file that says which rank a file, process or device is; header path,pid,device,rank,host")
      ->option_text("FILE")
      ->group(kGroup);
  app.add_option("--step-range", flags.step_range, "name of the NVTX ranges or annotations that mark steps")
      ->option_text("NAME")
      ->group(kGroup);
  app.add_option(
         "--context", flags.context,
         "what the traces do not say, such as model=llama,batch=64: it is kept with the run, and comparisons show "
         "it. A lockstep-context.json in the folder of a trace says the same")
      ->option_text("KEY=VALUE,...")
      ->delimiter(',')
      ->group(kGroup);
  app.add_flag("--redact", flags.redact, "send keyed hashes instead of the names of kernels and ranges")->group(kGroup);
  app.add_option("--redact-key", flags.redact_key, "file with the key for --redact, the same on every node")
      ->option_text("FILE")
      ->group(kGroup);
}

void AddRunFlags(CLI::App& app, AgentFlags& flags) {
  constexpr const char* kGroup = "Run";
  app.add_option("--run", flags.run, "name of the run that the traces belong to")
      ->required()
      ->option_text("NAME")
      ->group(kGroup);
  app.add_option("--expect-ranks", flags.expect_ranks,
                 "number of ranks in the job; the run is complete when all have reported")
      ->check(WholeNumber(1, INT32_MAX))
      ->option_text("N")
      ->group(kGroup);
  app.add_flag("--finish", flags.finish, "mark the run complete at the end; no agent will send more")->group(kGroup);
  app.add_flag("--replace", flags.replace, "first remove what the aggregator has of this run")->group(kGroup);
}

void AddDeliveryFlags(CLI::App& app, AgentFlags& flags) {
  constexpr const char* kGroup = "Delivery";
  app.add_option("--aggregator", flags.aggregator, "address of the aggregator")
      ->required()
      ->option_text("HOST:PORT")
      ->group(kGroup);
  app.add_option("--spool", flags.spool, "folder that keeps data on disk until the aggregator has acknowledged it")
      ->option_text("DIR")
      ->group(kGroup);
  app.add_option("--spool-bytes", flags.spool_bytes, "largest size of the spool; no files are read while it is full")
      ->transform(Bytes())
      ->option_text("SIZE")
      ->default_str(SizeText(static_cast<int64_t>(flags.spool_bytes)))
      ->group(kGroup);
  app.add_option("--connect-timeout", flags.connect_timeout_s, "seconds to keep trying to reach the aggregator")
      ->check(WholeNumber(0))
      ->option_text("SECONDS")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--drain-timeout", flags.drain_timeout_s, "seconds to keep sending buffered data after SIGTERM")
      ->check(WholeNumber(0))
      ->option_text("SECONDS")
      ->capture_default_str()
      ->group(kGroup);
}

void AddResourceFlags(CLI::App& app, AgentFlags& flags) {
  constexpr const char* kGroup = "Resources";
  app.add_option("--jobs", flags.jobs,
                 "largest number of files read at a time (default: the number of cores, at most one for each 8M of "
                 "--memory)")
      ->check(WholeNumber(1))
      ->option_text("N")
      ->group(kGroup);
  app.add_option("--memory", flags.memory_bytes,
                 "memory for sorting, shared by the files being read; the agent needs about twice that and 30M in all")
      ->transform(Bytes())
      ->option_text("SIZE")
      ->default_str(SizeText(static_cast<int64_t>(flags.memory_bytes)))
      ->group(kGroup);
  app.add_option("--nice", flags.nice, "niceness of the process, 0 to 19")
      ->check(WholeNumber(0, 19))
      ->option_text("N")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--tmp", flags.tmp, "folder for temporary files that sort large traces (default: $TMPDIR)")
      ->option_text("DIR")
      ->group(kGroup);
}

// What is wrong with flags that are each well-formed; null = nothing.
std::optional<std::string> Complaint(const AgentFlags& flags) {
  if (const auto complaint = ConnectionComplaint(flags.aggregator, flags.connection)) {
    return complaint;
  }
  if (flags.paths.empty() == flags.watch.empty()) {
    return "name either traces (PATH) or a folder to watch (--watch DIR)";
  }
  if (!flags.pattern.empty() && flags.watch.empty()) {
    return "--pattern needs --watch: it chooses among the files of the watched folders";
  }
  if (flags.redact == flags.redact_key.empty()) {
    return "--redact and --redact-key FILE belong together: use both or none";
  }
  if (flags.replace && !flags.spool.empty()) {
    return "--replace and --spool exclude each other: an agent that starts again would remove what it has delivered; "
           "use "
           "another --run for the new data";
  }
  for (const std::string& folder : flags.watch) {
    if (!flags.spool.empty() && IsInside(flags.spool, folder)) {
      return fmt::format("the spool {} is inside the watched folder {}: its own files would be taken for traces",
                         flags.spool, folder);
    }
  }
  if (static_cast<int64_t>(std::min<uint64_t>(flags.spool_bytes, INT64_MAX)) < kLeastSpoolBytes) {
    return fmt::format("--spool-bytes {} is too little; the least is {}",
                       SizeText(static_cast<int64_t>(flags.spool_bytes)), SizeText(kLeastSpoolBytes));
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
  CLI::App app("Reads the rank traces of this node, condenses them and sends them to a lockstep aggregator.",
               "lockstep-agent");
  AgentFlags flags;
  UsePlainHelp(app, "lockstep-agent " + std::string(Version()));
  AddRunFlags(app, flags);
  AddInputFlags(app, flags);
  AddDeliveryFlags(app, flags);
  AddConnectionFlags(app, flags.connection);
  AddResourceFlags(app, flags);
  AddMonitoring(app, {flags.metrics, flags.log_level, flags.log_format});
  app.footer(kExamples);
  if (const std::optional<int> done = ParseFlagsOrTell(app, argc, argv)) {
    return *done;
  }
  SettleConnectionFlags(flags.connection);
  if (const auto complaint = Complaint(flags)) {
    fmt::print(stderr, "lockstep-agent: {}\n", *complaint);
    return 1;
  }
  return flags;
}

}  // namespace lockstep
