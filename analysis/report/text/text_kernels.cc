// kernels[], families[], tails[].
#include <fmt/format.h>

#include "analysis/report/text/text_sections.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

// The rank that holds most of a tail, and where its longest instance lies, as fields of the row.
void AddWorst(Json& row) {
  const Json* worst = nullptr;
  for (const Json& part : ListOf(row, "by_rank")) {
    const double share = RealOf(FieldOf(part, "share_of_tail_ratio")).value_or(0);
    if (worst == nullptr || share > RealOf(FieldOf(*worst, "share_of_tail_ratio")).value_or(0)) worst = &part;
  }

  const Json* longest = nullptr;
  for (const Json& exemplar : ListOf(row, "exemplars")) {
    const double duration = RealOf(FieldOf(exemplar, "duration_ns")).value_or(0);
    if (longest == nullptr || duration > RealOf(FieldOf(*longest, "duration_ns")).value_or(0)) longest = &exemplar;
  }
  // Copied first: adding a field moves the others, and what these point into with them.
  const Json worst_part = worst != nullptr ? *worst : Json();
  const Json longest_part = longest != nullptr ? *longest : Json();
  row["worst"] = worst_part;
  row["longest"] = longest_part;
}

}  // namespace

void KernelsSection(const Json& view, TextPage& page) {
  page.Heading("kernels", "skew = longest total of a rank over the mean, less one");
  page.Table(view, {{"kernel", "name", CellKind::kKernel},
                    {"family", "family", CellKind::kText, 5},
                    {"share", "share_ratio", CellKind::kPercent},
                    {"total", "total_ns", CellKind::kTime},
                    {"calls", "instances", CellKind::kCount},
                    {"ranks", "ranks", CellKind::kNumber, 6},
                    {"p50", "duration_ns.p50", CellKind::kTime},
                    {"p99", "duration_ns.p99", CellKind::kTime, 1},
                    {"max", "duration_ns.max", CellKind::kTime, 1},
                    {"tail", "tail_score", CellKind::kPercent, 4},
                    {"slowest", "slowest_rank", CellKind::kNumber, 3},
                    {"skew", "rank_imbalance_ratio", CellKind::kPercent, 2}});
}

void FamiliesSection(const Json& view, TextPage& page) {
  page.Heading("families of kernels");
  page.Table(view, {{"family", "family", CellKind::kText},
                    {"share", "share_ratio", CellKind::kPercent},
                    {"total", "total_ns", CellKind::kTime},
                    {"calls", "instances", CellKind::kCount}});
}

void TailsSection(const Json& view, TextPage& page) {
  page.Heading("tails", "lost = part of the rank-time spent in instances over twice the median");
  Json rows = RowsOf(view);
  for (Json& row : rows) AddWorst(row);
  page.Table(rows, {{"kernel", "name", CellKind::kKernel},
                    {"lost", "tail_score", CellKind::kPercent},
                    {"p50", "fleet_ns.p50", CellKind::kTime},
                    {"p99", "fleet_ns.p99", CellKind::kTime},
                    {"max", "fleet_ns.max", CellKind::kTime},
                    {"rank", "worst.rank", CellKind::kNumber, 2},
                    {"of tail", "worst.share_of_tail_ratio", CellKind::kPercent, 2},
                    {"longest at", "longest.start_ns", CellKind::kInstant, 3},
                    {"on rank", "longest.rank", CellKind::kNumber, 3},
                    {"step", "longest.step", CellKind::kNumber, 4}});
}

}  // namespace lockstep
