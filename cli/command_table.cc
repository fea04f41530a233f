#include "cli/command_table.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/base/version.h"
#include "cli/analyze_command.h"
#include "cli/baseline_command.h"
#include "cli/compare_command.h"
#include "cli/export_command.h"
#include "cli/history_command.h"
#include "cli/runs_command.h"
#include "cli/schema_command.h"
#include "cli/serve_command.h"
#include "cli/show_command.h"
#include "platform/command_line/command_line.h"

namespace lockstep {
namespace {

constexpr std::array kCommands = {
    Command{"analyze", "read trace files and report which rank makes the others wait, how much and why",
            AddAnalyzeCommand},
    Command{"show", "report on a run that a store or an aggregator holds", AddShowCommand},
    Command{"compare", "compare two runs, or two sides of several: slower or faster, how sure, and why",
            AddCompareCommand},
    Command{"baseline", "keep a run as the baseline that later runs are compared with", AddBaselineCommand},
    Command{"history", "follow the runs of one context over time: what changed a metric, and when", AddHistoryCommand},
    Command{"serve", "show runs in a browser: live pages, and a read-only API behind them", AddServeCommand},
    Command{"export", "write what is known of a run as files for others", AddExportCommand},
    Command{"runs", "list the runs of a store or an aggregator, mark one complete, or remove old ones", AddRunsCommand},
    Command{"schema", "print the JSON Schema of the report, or a description of all its fields", AddSchemaCommand},
};

constexpr const char* kFooter = R"(Examples:
  lockstep analyze traces/                           who makes the others wait
  lockstep analyze traces/ --view skew --format json
  lockstep analyze traces/ --store runs.db           keep the result
  lockstep show monday --store runs.db --view overlap
  lockstep show monday --aggregator 127.0.0.1:7700
  lockstep compare monday/ tuesday/                  slower or faster, and why
  lockstep serve --store runs.db                     the same in a browser

`lockstep help VERB`, or `lockstep VERB --help`, describes a verb and its options.

Exit codes: 0 done; 1 wrong usage; 2 no usable input, or the service cannot be reached; 3 a quality gate failed and
--strict is given; 4 a gate of a comparison failed; 130 or 143 interrupted.)";

}  // namespace

std::span<const Command> Commands() { return kCommands; }

int RunLockstep(int argc, const char* const* argv) {
  const std::string version = "lockstep " + std::string(Version());
  CLI::App app("Finds out which rank of a multi-GPU job makes the others wait, from the traces of its ranks.",
               "lockstep");
  UsePlainHelp(app, version);
  app.require_subcommand(1);
  app.footer(kFooter);
  std::vector<std::pair<CLI::App*, std::function<int()>>> verbs;
  for (const Command& command : Commands()) {
    CLI::App* verb = app.add_subcommand(command.name, command.summary);
    UsePlainHelp(*verb, version);
    verbs.emplace_back(verb, command.add(*verb));
  }
  if (const std::optional<int> done = ParseFlagsOrTell(app, argc, argv)) {
    return *done;
  }
  for (const auto& [verb, run] : verbs) {
    if (verb->parsed()) {
      return run();
    }
  }
  return kExitUsage;
}

}  // namespace lockstep
