#include "cli/show_command.h"

#include <memory>
#include <string>

#include "cli/report_flags.h"
#include "cli/report_output.h"
#include "cli/run_source.h"
#include "platform/log.h"

namespace lockstep {
namespace {

struct ShowFlags {
  std::string run;
  RunSourceFlags source;
  ReportFlags report;
};

int Show(const ShowFlags& flags) {
  SetLogLevel(*LogLevelFromName(flags.report.log_level));
  const absl::StatusOr<AnalysisOptions> asked = OptionsFrom(flags.report);
  if (!asked.ok()) {
    return Complain(asked.status(), kExitUsage);
  }
  const absl::StatusOr<RunSource> source = RunSource::Open(flags.source);
  if (!source.ok()) {
    return Complain(source.status(), ExitCodeOf(source.status()));
  }
  return ShowReport(source->query(), flags.run, flags.report, *asked).exit_code;
}

}  // namespace

std::function<int()> AddShowCommand(CLI::App& verb) {
  auto flags = std::make_shared<ShowFlags>();
  verb.add_option("RUN", flags->run, "name of the run; `lockstep runs` lists them")->required();
  AddRunSourceFlags(verb, flags->source);
  AddReportFlags(verb, flags->report);
  verb.footer(
      "Examples:\n"
      "  lockstep show monday --store runs.db\n"
      "  lockstep show monday --aggregator 127.0.0.1:7700 --view skew --instances=100\n"
      "  lockstep show monday --store runs.db --view overlap --format csv");
  return [flags] { return Show(*flags); };
}

}  // namespace lockstep
