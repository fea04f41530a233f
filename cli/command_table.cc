#include "cli/command_table.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "analysis/base/version.h"
#include "cli/analyze_command.h"
#include "cli/runs_command.h"
#include "cli/schema_command.h"
#include "cli/show_command.h"

namespace lockstep {
namespace {

constexpr std::array kCommands = {
    Command{"analyze", "analyse trace files, all in one process", AddAnalyzeCommand},
    Command{"show", "show a run that is stored or held by an aggregator", AddShowCommand},
    Command{"runs", "list and finish runs", AddRunsCommand},
    Command{"schema", "print the JSON Schema of the report", AddSchemaCommand},
};

constexpr const char* kFooter = R"(Examples:
  lockstep analyze traces/                         who makes the other ranks wait, and how much
  lockstep analyze traces/ --view skew --format json
  lockstep analyze traces/ --store runs.db         keep the result
  lockstep show monday --store runs.db --view collectives,overlap
  lockstep show monday --aggregator 127.0.0.1:7700

`lockstep VERB --help` tells more. Exit codes: 0 done, 1 wrong usage, 2 no usable input or unreachable service,
3 a quality gate failed under --strict, 130 or 143 interrupted.)";

}  // namespace

std::span<const Command> Commands() { return kCommands; }

int RunLockstep(int argc, const char* const* argv) {
  CLI::App app("Cross-rank profiling of multi-GPU jobs: who waits for whom, and why.", "lockstep");
  app.set_version_flag("--version", "lockstep " + std::string(Version()));
  app.require_subcommand(1);
  app.footer(kFooter);
  std::vector<std::pair<CLI::App*, std::function<int()>>> verbs;
  for (const Command& command : Commands()) {
    CLI::App* verb = app.add_subcommand(command.name, command.summary);
    verb->set_version_flag("--version", "lockstep " + std::string(Version()));
    verbs.emplace_back(verb, command.add(*verb));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  for (const auto& [verb, run] : verbs) {
    if (verb->parsed()) {
      return run();
    }
  }
  return kExitUsage;
}

}  // namespace lockstep
