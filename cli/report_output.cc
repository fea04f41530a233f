#include "cli/report_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "analysis/report/json.h"
#include "cli/command.h"
#include "cli/page_output.h"
#include "cli/waiting_line.h"

namespace lockstep {
namespace {

absl::StatusOr<std::string> Render(Json report, const ReportFlags& flags, const AnalysisOptions& asked) {
  if (flags.format == "json") {
    return RenderJson(report);
  }
  if (flags.format == "csv") {
    return RenderCsv(report, asked.views.front(), flags.csv_style);
  }
  if (flags.format == "html") {
    return ReportPage(std::move(report));
  }
  TextOptions options = TextOptionsFrom(flags);
  if (flags.limit) {
    options.max_rows = *flags.limit;
  }
  return RenderText(report, options);
}

bool AnyGateFailed(const Json& report) {
  const auto quality = report.find("quality");
  if (quality == report.end()) {
    return false;
  }
  const Json& gates = quality->at("gates");
  return std::any_of(gates.begin(), gates.end(), [](const Json& gate) { return gate.at("ok") == false; });
}

bool Asked(const AnalysisOptions& options, const std::string& view) {
  return std::find(options.views.begin(), options.views.end(), view) != options.views.end();
}

// The views to compute: those asked for, and quality if --strict needs it.
AnalysisOptions WithStrictViews(AnalysisOptions options, const ReportFlags& flags) {
  if (flags.strict && !Asked(options, "quality")) {
    options.views.push_back("quality");
  }
  return options;
}

int WriteAnswer(const std::string& text, const ReportFlags& flags) {
  const absl::Status written = WriteText(text, flags.output);
  return written.ok() ? kExitDone : Complain(written, kExitNoInput);
}

int WriteReport(Json report, const ReportFlags& flags, const AnalysisOptions& asked) {
  const bool failed = flags.strict && AnyGateFailed(report);
  if (!Asked(asked, "quality")) {
    report.erase("quality");
  }
  const absl::StatusOr<std::string> text = Render(std::move(report), flags, asked);
  if (!text.ok()) {
    return Complain(text.status(), kExitUsage);
  }
  const int code = WriteAnswer(*text, flags);
  if (failed) {
    fmt::print(stderr, "lockstep: a quality gate failed; --view quality names it\n");
  }
  return code == kExitDone && failed ? kExitGate : code;
}

}  // namespace

absl::Status WriteText(const std::string& text, const std::string& output) {
  std::FILE* file = output.empty() ? stdout : std::fopen(output.c_str(), "wb");
  if (file == nullptr) {
    return absl::PermissionDeniedError(fmt::format("{}: cannot write: {}", output, std::strerror(errno)));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  const int error = errno;
  if (!output.empty()) {
    std::fclose(file);
  }
  if (written || (output.empty() && error == EPIPE)) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      fmt::format("{}: cannot write: {}", output.empty() ? "stdout" : output, std::strerror(error)));
}

ShownReport ShowReport(const QueryClient& client, const std::string& run, const ReportFlags& flags,
                       const AnalysisOptions& asked) {
  const auto fail = [](const absl::Status& status) {
    return ShownReport{.exit_code = Complain(status, ExitCodeOf(status)),
                       .can_be_analysed = !absl::IsFailedPrecondition(status)};
  };
  WaitingLine waiting("computing the report");
  // The answer is the document: large ones are not taken apart to be written again.
  if (flags.format == "json" && !flags.strict) {
    const absl::StatusOr<std::string> text = client.ViewsText(run, asked);
    waiting.Clear();
    return text.ok() ? ShownReport{.exit_code = WriteAnswer(*text, flags)} : fail(text.status());
  }
  absl::StatusOr<Json> report = client.Views(run, WithStrictViews(asked, flags));
  waiting.Clear();
  if (!report.ok()) return fail(report.status());
  try {
    return {.exit_code = WriteReport(*std::move(report), flags, asked)};
  } catch (const Json::exception& error) {
    return fail(absl::DataLossError(fmt::format(
        "the report on run '{}' cannot be shown by this release of lockstep ({}): is the aggregator the same "
        "version, and is its store intact?",
        run, error.what())));
  }
}

int Complain(const absl::Status& status, int exit_code) {
  fmt::print(stderr, "lockstep: {}\n", std::string(status.message()));
  return exit_code;
}

int ExitCodeOf(const absl::Status& status) {
  return status.code() == absl::StatusCode::kInvalidArgument ? kExitUsage : kExitNoInput;
}

}  // namespace lockstep
