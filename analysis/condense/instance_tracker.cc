#include "analysis/condense/instance_tracker.h"

#include <algorithm>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/model/instance_row.h"

namespace lockstep {

void InstanceTracker::Open(InstanceRow row) {
  if (row.duration_ns > 0) running_.push_back(next_ordinal());
  OpenInstance open;
  open.covered_to_ns = row.start_ns;
  open.row = std::move(row);
  open_.push_back(std::move(open));
}

void InstanceTracker::Segment(int64_t from_ns, int64_t to_ns, bool compute) {
  if (!compute || running_.empty()) return;
  for (const int64_t ordinal : running_) {
    OpenInstance& open = open_[static_cast<size_t>(ordinal - first_ordinal_)];
    const int64_t to = std::min(to_ns, open.row.end_ns());
    if (to <= from_ns) continue;
    auto& cover = open.row.cover;
    if (!cover.empty() && open.covered_to_ns == from_ns) {
      cover.back().second += to - from_ns;
    } else {
      cover.emplace_back(from_ns - open.covered_to_ns, to - from_ns);
    }
    open.covered_to_ns = to;
  }
}

absl::Status InstanceTracker::Advance(int64_t now_ns) {
  std::erase_if(running_, [&](int64_t ordinal) {
    return open_[static_cast<size_t>(ordinal - first_ordinal_)].row.end_ns() <= now_ns;
  });
  while (!open_.empty() && open_.front().row.end_ns() <= now_ns) {
    LOCKSTEP_RETURN_IF_ERROR(emit_(std::move(open_.front().row)));
    open_.pop_front();
    ++first_ordinal_;
  }
  return absl::OkStatus();
}

absl::Status InstanceTracker::Finish() { return Advance(INT64_MAX); }

}  // namespace lockstep
