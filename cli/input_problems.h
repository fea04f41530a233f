// What a person hears about the inputs of `lockstep analyze` that are no traces or could not be used.
#pragma once

#include <absl/status/status.h>

#include <string>
#include <vector>

#include "cli/embedded_cluster.h"

namespace lockstep {

// The lines for stderr, at most a dozen; files with the same problem share one. A file that is no trace is mentioned if
// its name looks like that of a trace, or if the person named it; the truth that lockstep-simulate writes with its
// traces is not.
[[nodiscard]] std::vector<std::string> ProblemsOf(const std::vector<FileReport>& files,
                                                  const std::vector<std::string>& named);
// Prints them, and what the run did not take.
void TellProblems(const IngestOutcome& outcome, const std::vector<std::string>& named);

// kNotFound: "traces/ holds no trace: ...", or that nothing can be read.
[[nodiscard]] absl::Status NoTraceIn(const std::vector<std::string>& named, const InputFiles& inputs);

}  // namespace lockstep
