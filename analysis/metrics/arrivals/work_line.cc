#include "analysis/metrics/arrivals/work_line.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "analysis/model/record_scatter.h"

namespace lockstep {
namespace {

// [begin, end), and how much of such stretches lies before it.
struct Stretch {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t before_ns = 0;
};
using Stretches = std::vector<Stretch>;

// What the stretches cover together: apart from each other, ascending.
Stretches Merge(Stretches stretches) {
  const auto earlier = [](const Stretch& a, const Stretch& b) { return a.begin_ns < b.begin_ns; };
  if (!std::is_sorted(stretches.begin(), stretches.end(), earlier)) {
    std::sort(stretches.begin(), stretches.end(), earlier);
  }
  Stretches merged;
  merged.reserve(stretches.size());
  for (const Stretch& stretch : stretches) {
    if (stretch.end_ns <= stretch.begin_ns) continue;
    if (!merged.empty() && stretch.begin_ns <= merged.back().end_ns) {
      merged.back().end_ns = std::max(merged.back().end_ns, stretch.end_ns);
    } else {
      merged.push_back(stretch);
    }
  }
  return merged;
}

Stretches ComputeBeside(const std::vector<CommunicationRow>& rows) {
  Stretches compute;
  for (const CommunicationRow& row : rows) {
    int64_t at = row.start_ns;
    for (const auto& [gap_ns, length_ns] : row.cover) {
      if (gap_ns < 0 || length_ns < 0 || gap_ns > row.end_ns - at) break;  // damaged
      const int64_t begin = at + gap_ns;
      at = begin + std::min(length_ns, row.end_ns - begin);
      compute.push_back({begin, at});
    }
  }
  return Merge(std::move(compute));
}

// What of `whole` lies outside of `parts`.
Stretches Without(const Stretches& whole, const Stretches& parts) {
  Stretches rest;
  size_t p = 0;
  for (const Stretch& stretch : whole) {
    int64_t at = stretch.begin_ns;
    for (; p < parts.size() && parts[p].begin_ns < stretch.end_ns; ++p) {
      if (parts[p].begin_ns > at) rest.push_back({at, parts[p].begin_ns});
      at = std::max(at, parts[p].end_ns);
    }
    if (at < stretch.end_ns) rest.push_back({at, stretch.end_ns});
  }
  return rest;
}

void SetBefore(Stretches& stretches) {
  int64_t before = 0;
  for (Stretch& stretch : stretches) {
    stretch.before_ns = before;
    before += stretch.end_ns - stretch.begin_ns;
  }
}

// Of each idle stretch the part up to the last end of communication in it.
Stretches UpToLastEnds(const std::vector<CommunicationRow>& rows, const Stretches& idle) {
  std::vector<int64_t> ends;
  ends.reserve(rows.size());
  for (const CommunicationRow& row : rows) ends.push_back(row.end_ns);
  if (!std::is_sorted(ends.begin(), ends.end())) std::sort(ends.begin(), ends.end());
  Stretches standing;
  auto after = ends.begin();
  for (const Stretch& stretch : idle) {
    while (after != ends.end() && *after <= stretch.end_ns + kRecordScatterNs) ++after;
    if (after == ends.begin() || *std::prev(after) <= stretch.begin_ns) continue;
    standing.push_back({stretch.begin_ns, std::min(*std::prev(after), stretch.end_ns)});
  }
  return standing;
}

// Where the work stands still.
Stretches StandingStill(const std::vector<CommunicationRow>& rows) {
  Stretches standing;
  standing.reserve(rows.size());
  for (const CommunicationRow& row : rows) standing.push_back({row.start_ns, row.end_ns});
  standing = Merge(std::move(standing));
  // Without compute beside them the merged rows end where communication does.
  const Stretches compute = ComputeBeside(rows);
  if (!compute.empty()) standing = UpToLastEnds(rows, Without(standing, compute));
  SetBefore(standing);
  return standing;
}

// Looks for times that are close to each other, as those of neighbouring rows are: a look goes on from the one before
// and takes the logarithm of the distance.
class StretchCursor {
 public:
  explicit StretchCursor(const Stretches& stretches) : stretches_(stretches) {}

  // The last stretch that begins before this time; null if there is none.
  const Stretch* LastBefore(int64_t at_ns) {
    size_t low = after_;   // all before it begin before that time
    size_t high = after_;  // it and all after it do not
    for (size_t step = 1; high < stretches_.size() && BeginsBefore(high, at_ns); step *= 2) {
      low = high + 1;
      high = std::min(stretches_.size(), high + step);
    }
    for (size_t step = 1; low > 0 && !BeginsBefore(low - 1, at_ns); step *= 2) {
      high = low - 1;
      low -= std::min(low, step);
    }
    const auto at = [this](size_t i) { return stretches_.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto begins_before = [](const Stretch& stretch, int64_t ns) { return stretch.begin_ns < ns; };
    after_ = static_cast<size_t>(std::lower_bound(at(low), at(high), at_ns, begins_before) - stretches_.begin());
    return after_ == 0 ? nullptr : &stretches_[after_ - 1];
  }

 private:
  [[nodiscard]] bool BeginsBefore(size_t i, int64_t at_ns) const { return stretches_[i].begin_ns < at_ns; }

  const Stretches& stretches_;
  size_t after_ = 0;  // the first one that does not begin before the last time asked for
};

int64_t StoodUntil(const Stretch* last, int64_t at_ns) {
  return last == nullptr ? 0 : last->before_ns + std::min(at_ns, last->end_ns) - last->begin_ns;
}

}  // namespace

std::vector<WorkAt> WorkLine(const std::vector<CommunicationRow>& rows) {
  const Stretches standing = StandingStill(rows);
  StretchCursor starts(standing);
  StretchCursor ends(standing);
  std::vector<WorkAt> out;
  out.reserve(rows.size());
  for (const CommunicationRow& row : rows) {
    WorkAt work;
    const Stretch* const at_start = starts.LastBefore(row.start_ns);
    const Stretch* const at_end = ends.LastBefore(row.end_ns);
    work.start_ns = row.start_ns - rows.front().start_ns - StoodUntil(at_start, row.start_ns);
    work.end_ns = row.end_ns - rows.front().start_ns - StoodUntil(at_end, row.end_ns);
    work.stands = at_start != nullptr && row.start_ns < at_start->end_ns;
    work.joined = at_end != nullptr && std::abs(row.end_ns - at_end->end_ns) <= kRecordScatterNs;
    out.push_back(work);
  }
  return out;
}

}  // namespace lockstep
