// profile{}: the steps of the job; the rest is for comparisons.
#include "analysis/report/text/text_sections.h"

namespace lockstep {

void ProfileSection(const report::Profile& profile, TextPage& page) {
  using Row = report::ProfileStep;
  page.Heading("profile", "the steps of the job, summed over its ranks");
  page.Table(profile.steps,
             {{"step", &Row::step, CellKind::kNumber},
              {"step time", &Row::longest_ns, CellKind::kTime},
              {"slowest rank", &Row::longest_rank, CellKind::kNumber},
              {"all ranks", &Row::span_total_ns, CellKind::kTime},
              {"computing", [](const Row& row) { return Cell(row.compute_ns); }, CellKind::kTime},
              {"waiting", [](const Row& row) { return Cell(row.exposed_wait_ns); }, CellKind::kTime},
              {"transfer", [](const Row& row) { return Cell(row.exposed_transfer_ns); }, CellKind::kTime}});
  page.Line("`lockstep compare` reads the profile of each run; --format json has all of it.", 2, 0, Emphasis::kFaint);
}

}  // namespace lockstep
