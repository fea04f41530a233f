#include "agent/readers/nsys/diagnostics_reader.h"

#include <fmt/format.h>

#include <string>

#include "analysis/base/status_macros.h"

namespace lockstep::nsys {
namespace {

// Losses are sometimes reported as mere information.
bool SpeaksOfLoss(std::string_view text) {
  return text.find("dropped") != std::string_view::npos || text.find("lost") != std::string_view::npos;
}

absl::Status ReadEvents(ReadSession& session) {
  return session.Scan(diagnostic::kTable, [&](const Row& row) {
    const int64_t severity = row.IntOr(diagnostic::kSeverity, 0);
    const std::string_view text = row.Text(diagnostic::kText);
    const bool is_trouble = severity == diagnostic::kWarning || severity == diagnostic::kError;
    if (!text.empty() && (is_trouble || SpeaksOfLoss(text))) {
      session.AddDiagnostic(fmt::format("nsys {}: {}", severity == diagnostic::kError ? "error" : "warning", text));
    }
    return absl::OkStatus();
  });
}

void ExplainEmptyCapture(ReadSession& session) {
  session.AddDiagnostic(
      "the file holds no device activity: check that the program ran on a GPU during the capture and "
      "that nsys traced CUDA (--trace=cuda,nvtx)");
  if (session.catalog().Has(process_streams::kTable)) {
    session.AddDiagnostic(
        "the program's captured output in the file (table ProcessStreams) may say why CUDA tracing failed");
  }
}

}  // namespace

absl::Status ReadDiagnostics(ReadSession& session, const GraphLaunches& graphs) {
  if (session.facts().device_rows == 0) ExplainEmptyCapture(session);
  if (graphs.Unjudged() > 0) {
    session.AddDiagnostic(fmt::format("{} graph launches beyond the first million were not checked for visible nodes",
                                      graphs.Unjudged()));
  }
  return ReadEvents(session);
}

}  // namespace lockstep::nsys
