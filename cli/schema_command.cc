#include "cli/schema_command.h"

#include "analysis/report/report.h"
#include "cli/report_output.h"

namespace lockstep {

std::function<int()> AddSchemaCommand(CLI::App& /*verb*/) {
  return [] {
    const absl::Status written = WriteText(ReportSchema(), "");
    return written.ok() ? kExitDone : Complain(written, kExitNoInput);
  };
}

}  // namespace lockstep
