// The report: one JSON document per answer, "lockstep.report/1", exactly as the interface page describes it. It is
// built once from the metrics' result structs; text and CSV are rendered from the document, so that what is read and
// what is scripted can never differ, whether it was computed in this process or by a remote aggregator.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "analysis/base/executor.h"
#include "analysis/metrics/run/analysis_options.h"
#include "analysis/metrics/run/chapter_limits.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// Declared here; json.h has the whole type.
using Json = nlohmann::ordered_json;

// Every view, in the order of the document.
[[nodiscard]] const std::vector<std::string>& KnownViews();
// Those that `all` stands for: all but those which are for programs and not for people.
inline constexpr std::string_view kProfileView = "profile";    // what comparisons read
inline constexpr std::string_view kPicturesView = "pictures";  // what pages draw
[[nodiscard]] constexpr bool IsInAll(std::string_view view) { return view != kProfileView && view != kPicturesView; }
[[nodiscard]] const std::vector<std::string>& AllViews();
[[nodiscard]] bool IsView(std::string_view name);

// Computes the views asked for. A run of more instances than the limits allow at once is taken through in chapters
// (run_chapters.h). Errors: kInvalidArgument (unknown view, bad regular expression), kFailedPrecondition
// with the groups found when the sources are several runs (exit 2).
[[nodiscard]] absl::StatusOr<Json> BuildReport(const RunData& run, InstanceSource& instances,
                                               const AnalysisOptions& options, Executor& executor,
                                               const ChapterLimits& limits = {});

// Computes each of the views asked for as a report of its own, the same as BuildReport gives for it alone, as
// RenderJson writes it. They are built side by side, and what they share once; the sink gets them from the calling
// thread in the order of KnownViews. Errors: those of BuildReport.
using ViewSink = std::function<void(const std::string& view, std::string text)>;
[[nodiscard]] absl::Status BuildReports(const RunData& run, InstanceSource& instances, const AnalysisOptions& options,
                                        Executor& executor, const ViewSink& sink, const ChapterLimits& limits = {});

// Reals in 9 significant digits, shortest form; 2-space indentation; a final newline.
[[nodiscard]] std::string RenderJson(const Json& report);

struct TextOptions {
  bool color = false;
  int width = 100;
  int64_t max_rows = 20;  // rows a table
};
// The document's text for people; what another process wrote otherwise than this one would is left out.
[[nodiscard]] std::string RenderText(const Json& report, const TextOptions& options);

// One view. kInvalidArgument when the report holds none or several list views.
[[nodiscard]] absl::StatusOr<std::string> RenderCsv(const Json& report, std::string_view view, std::string_view style);

// JSON Schema (draft 2020-12) of the report.
[[nodiscard]] std::string ReportSchema();

// Every field with its type and meaning, as Markdown.
[[nodiscard]] std::string ReportReference();

}  // namespace lockstep
