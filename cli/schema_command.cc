#include "cli/schema_command.h"

#include <memory>

#include "analysis/report/report.h"
#include "cli/report_output.h"

namespace lockstep {

std::function<int()> AddSchemaCommand(CLI::App& verb) {
  const auto reference = std::make_shared<bool>(false);
  verb.add_flag("--reference", *reference, "print every field with its type and meaning instead, as Markdown");
  verb.footer(
      "Examples:\n"
      "  lockstep schema > report.schema.json\n"
      "      to check the documents of --format json\n"
      "  lockstep schema --reference > reference.md\n"
      "      to read what each field means");
  return [reference] {
    const absl::Status written = WriteText(*reference ? ReportReference() : ReportSchema(), "");
    return written.ok() ? kExitDone : Complain(written, kExitNoInput);
  };
}

}  // namespace lockstep
