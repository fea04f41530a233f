// overlap[]: how the ranks' time divides into computing, communicating and idling.
#include "analysis/report/rows/overlap.h"
#include "analysis/report/text/text_sections.h"

namespace lockstep {

void OverlapSection(const std::vector<report::OverlapRow>& rows, TextPage& page) {
  using Row = report::OverlapRow;
  page.Heading("overlap", "over the whole span of each rank; exposed = communication while no compute kernel runs");
  page.Table(rows, {{"rank", &Row::rank, CellKind::kNumber},
                    {"span", &Row::span_ns, CellKind::kTime},
                    {"busy", &Row::busy_ratio, CellKind::kPercent, 3},
                    {"compute", &Row::compute_ns, CellKind::kTime},
                    {"comm", &Row::comm_ns, CellKind::kTime},
                    {"overlap", &Row::overlap_ratio, CellKind::kPercent},
                    {"exposed", &Row::exposed_comm_ns, CellKind::kTime},
                    {"wait", &Row::exposed_wait_ns, CellKind::kTime, 1},
                    {"transfer", &Row::exposed_transfer_ns, CellKind::kTime, 1},
                    {"either", &Row::exposed_unresolved_ns, CellKind::kTime, 2},
                    {"copies", &Row::copy_only_ns, CellKind::kTime, 4},
                    {"graphs", &Row::opaque_only_ns, CellKind::kTime, 5},
                    {"idle", &Row::idle_ns, CellKind::kTime}});
  if (rows.empty()) return;
  page.Line("exposed = wait for a later rank + transfer + either of the two, where they are not separable");
}

}  // namespace lockstep
