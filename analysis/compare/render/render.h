// The comparison for people and programs. Views: comparison (the headline and the metrics), ledger, kernels, families,
// roles (parts of the model), collectives, waits (who is late), ranks, hosts, context, gates. JSON has all of them
// always. Pure, thread safe.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/rows/comparison.h"
#include "analysis/report/report.h"

namespace lockstep::compare {

[[nodiscard]] const std::vector<std::string_view>& ComparisonViews();

[[nodiscard]] std::string RenderJson(const report::ComparisonDocument& document);
[[nodiscard]] std::string RenderText(const report::ComparisonDocument& document, const std::vector<std::string>& views,
                                     const TextOptions& options);
// For a pull request: a headline, two tables, and details that unfold. At most 60,000 bytes: the tables get shorter.
[[nodiscard]] std::string RenderMarkdown(const report::ComparisonDocument& document);
// One view. kInvalidArgument: there is no such view, or it has no rows by nature.
[[nodiscard]] absl::StatusOr<std::string> RenderCsv(const report::ComparisonDocument& document, std::string_view view);

// JSON Schema (draft 2020-12) of the comparison, and a description of every field as Markdown.
[[nodiscard]] std::string ComparisonSchema();
[[nodiscard]] std::string ComparisonReference();

}  // namespace lockstep::compare
