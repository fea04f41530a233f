// profile{}: the steps of the job; the rest is for comparisons. pictures{}: who caused how much; the rest is for pages.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

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

void PicturesSection(const report::Pictures& pictures, TextPage& page) {
  struct Row {
    int32_t rank = 0;
    std::optional<std::string> host;
    report::Count blame_ns;
  };
  std::vector<Row> rows;
  for (size_t i = 0; i < std::min(pictures.ranks.size(), pictures.blame_ns.size()); ++i) {
    rows.push_back(
        {pictures.ranks[i], i < pictures.hosts.size() ? pictures.hosts[i] : std::nullopt, pictures.blame_ns[i]});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.blame_ns.value > b.blame_ns.value; });
  page.Heading("pictures", "waiting that each rank caused, traced back to its origin");
  page.Table(rows, {{"rank", &Row::rank, CellKind::kNumber},
                    {"host", &Row::host, CellKind::kText},
                    {"caused", &Row::blame_ns, CellKind::kTime}});
  page.Line("--format html draws this view.", 2, 0, Emphasis::kFaint);
}

}  // namespace lockstep
