#include "cli/schema_command.h"

#include <memory>
#include <string>

#include "analysis/compare/render/render.h"
#include "analysis/report/report.h"
#include "cli/report_output.h"
#include "web/api/openapi.h"

namespace lockstep {

std::function<int()> AddSchemaCommand(CLI::App& verb) {
  struct Flags {
    bool reference = false;
    bool comparison = false;
    bool openapi = false;
  };
  const auto flags = std::make_shared<Flags>();
  verb.add_flag("--reference", flags->reference, "print every field with its type and meaning instead, as Markdown");
  verb.add_flag("--comparison", flags->comparison, "of the document that `lockstep compare` prints");
  verb.add_flag("--openapi", flags->openapi,
                "print the description of the API of `lockstep serve` instead, OpenAPI 3.1");
  verb.footer(
      "Examples:\n"
      "  lockstep schema > report.schema.json\n"
      "      to check the documents of --format json\n"
      "  lockstep schema --reference > reference.md\n"
      "      to read what each field means");
  return [flags] {
    if (flags->openapi) {
      if (flags->reference || flags->comparison) {
        return Complain(absl::InvalidArgumentError("--openapi describes the API alone: leave out the other flags"),
                        kExitUsage);
      }
      const absl::Status done = WriteText(OpenApiText(), "");
      return done.ok() ? kExitDone : Complain(done, kExitNoInput);
    }
    const std::string of_report = flags->reference ? ReportReference() : ReportSchema();
    const std::string of_comparison = flags->reference ? compare::ComparisonReference() : compare::ComparisonSchema();
    const absl::Status written = WriteText(flags->comparison ? of_comparison : of_report, "");
    return written.ok() ? kExitDone : Complain(written, kExitNoInput);
  };
}

}  // namespace lockstep
