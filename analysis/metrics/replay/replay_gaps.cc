#include "analysis/metrics/replay/replay_gaps.h"

#include <algorithm>
#include <map>

#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr int64_t kStreamOrderNs = 8'000;  // a start this soon after an end on the same stream follows from it
constexpr int64_t kOverlapNs = 4'000;      // what follows an end on another stream may show a start before it

void Subtract(OwnGap& from, const OwnGap& piece, int64_t length_ns) {
  const int64_t whole = piece.length_ns();
  if (whole <= 0 || length_ns <= 0) return;
  const auto share = [&](int64_t part) {
    if (whole == length_ns) return part;
    return static_cast<int64_t>(static_cast<double>(part) * static_cast<double>(length_ns) /
                                static_cast<double>(whole));
  };
  from.compute_ns -= share(piece.compute_ns);
  from.copy_ns -= share(piece.copy_ns);
  from.host_ns -= share(piece.host_ns);
  from.other_ns -= share(piece.other_ns);
}

// Makes the parts sum to the stretch from `from_ns` to the row's start: none below zero, the largest takes the
// difference. The host cannot have held up the device after it had launched the row itself.
void FitTo(OwnGap& gap, const ArrivalNode& row, int64_t from_ns) {
  const int64_t length_ns = row.start_ns - from_ns;
  if (row.launch_end_ns != kNoTime) {
    const int64_t most = std::max<int64_t>(0, row.launch_end_ns - from_ns);
    const int64_t surplus = gap.host_ns - std::clamp<int64_t>(gap.host_ns, 0, most);
    gap.host_ns -= surplus;
    gap.other_ns += surplus;
  }
  int64_t* const parts[] = {&gap.compute_ns, &gap.copy_ns, &gap.host_ns, &gap.other_ns};
  int64_t* largest = &gap.other_ns;
  for (int64_t* part : parts) {
    *part = std::clamp<int64_t>(*part, 0, std::max<int64_t>(0, length_ns));
    if (*part > *largest) largest = part;
  }
  *largest += length_ns - gap.length_ns();
  if (*largest >= 0) return;
  gap.compute_ns = gap.copy_ns = gap.host_ns = 0;
  gap.other_ns = length_ns;
}

class GapFinder {
 public:
  GapFinder(const std::vector<ArrivalNode>& rows, const std::vector<bool>& async) : rows_(rows), async_(async) {
    gaps_.resize(rows.size());
  }

  std::vector<OwnGap> Run() {
    for (size_t k = 0; k < rows_.size(); ++k) {
      const ArrivalNode& row = rows_[k];
      AdvanceEnded(row.start_ns + kOverlapNs);
      const bool told = row.segment.begin_ns != kNoTime && row.previous >= 0;
      if (!told) {
        Untold(k);
      } else if (!row.segment.tiles.empty()) {
        AfterTiles(k);
      } else {
        AfterPrevious(k);
      }
      if (told) Doubt(k);
      Push(k);
    }
    return std::move(gaps_);
  }

 private:
  // Rows in order of their ends, as far as they have ended.
  void Push(size_t k) { running_.emplace(rows_[k].end_ns, static_cast<int64_t>(k)); }
  void AdvanceEnded(int64_t now_ns) {
    while (!running_.empty() && running_.begin()->first <= now_ns) {
      const int64_t row = running_.begin()->second;
      (async_[static_cast<size_t>(row)] ? last_async_ : last_blocking_) = row;
      running_.erase(running_.begin());
    }
  }

  [[nodiscard]] int64_t EndOf(int64_t row) const {
    return row < 0 ? INT64_MIN : rows_[static_cast<size_t>(row)].end_ns;
  }

  void Untold(size_t k) {
    OwnGap& gap = gaps_[k];
    gap.told = false;
    gap.predecessor = EndOf(last_async_) > EndOf(last_blocking_) ? last_async_ : last_blocking_;
    if (gap.predecessor < 0) return;
    const int64_t from = rows_[static_cast<size_t>(gap.predecessor)].end_ns;
    const int64_t length = rows_[k].start_ns - from;
    const int64_t most = std::max<int64_t>(0, length);
    if (rows_[k].launch_end_ns != kNoTime) gap.host_ns = std::clamp<int64_t>(rows_[k].launch_end_ns - from, 0, most);
    (length - gap.host_ns > kLeastWorkNs ? gap.compute_ns : gap.other_ns) = length - gap.host_ns;
  }

  // A long dependency on nothing that is known hides what determined the start.
  void Doubt(size_t k) {
    OwnGap& gap = gaps_[k];
    if (gap.predecessor < 0 || rows_[k].segment.dependency_ns <= kLeastWorkNs || gap.other_ns <= kLeastWorkNs) return;
    const int64_t last = std::max(EndOf(last_async_), EndOf(last_blocking_));
    if (last > EndOf(gap.predecessor)) {
      gap = OwnGap{};
      return Untold(k);
    }
    gap.compute_ns += gap.other_ns;
    gap.other_ns = 0;
  }

  void AfterTiles(size_t k) {
    const Segment& segment = rows_[k].segment;
    OwnGap& gap = gaps_[k];
    Take(segment, gap);
    int64_t from = 0;
    for (const OtherCommTile& tile : segment.tiles) {
      if (tile.instance < 0 || tile.instance >= static_cast<int64_t>(k)) continue;
      Subtract(gap, gaps_[static_cast<size_t>(tile.instance)], tile.offset_ns - from);
      from = tile.offset_ns + tile.length_ns;
      gap.predecessor = tile.instance;
    }
    if (gap.predecessor < 0) return Untold(k);
    FitTo(gap, rows_[k], rows_[static_cast<size_t>(gap.predecessor)].end_ns);
  }

  // The walk was cut at the end of the previous instance. That of a communicator that runs beside the compute need not
  // be what determined the start.
  void AfterPrevious(size_t k) {
    const ArrivalNode& row = rows_[k];
    OwnGap& gap = gaps_[k];
    Take(row.segment, gap);
    const int64_t begin = rows_[static_cast<size_t>(row.previous)].end_ns;
    const bool follows = row.start_ns - begin <= kStreamOrderNs;
    const bool beside =
        async_[k] && !follows && last_blocking_ >= 0 && rows_[static_cast<size_t>(last_blocking_)].end_ns <= begin;
    gap.predecessor = beside ? last_blocking_ : row.previous;
    const int64_t from = rows_[static_cast<size_t>(gap.predecessor)].end_ns;
    if (beside) gap.compute_ns += begin - from;
    FitTo(gap, row, from);
  }

  static void Take(const Segment& segment, OwnGap& gap) {
    gap.compute_ns = segment.compute_ns;
    gap.copy_ns = segment.copy_ns;
    gap.host_ns = segment.host_ns;
    gap.other_ns = segment.launch_ns + segment.dependency_ns + segment.rest_ns;
  }

  const std::vector<ArrivalNode>& rows_;
  const std::vector<bool>& async_;
  std::vector<OwnGap> gaps_;
  std::multimap<int64_t, int64_t> running_;
  int64_t last_blocking_ = -1;
  int64_t last_async_ = -1;
};

}  // namespace

std::vector<bool> AsyncRows(const std::vector<ArrivalNode>& rows, const MatchResult& match) {
  constexpr double kOftenBeside = 0.2;
  struct Count {
    int64_t rows = 0;
    int64_t beside = 0;
  };
  const auto communicator_of = [&](const ArrivalNode& row) {
    return row.instance < 0 ? -1 : int64_t{match.instances[static_cast<size_t>(row.instance)].communicator};
  };
  std::map<int64_t, Count> counts;
  for (size_t k = 0; k < rows.size(); ++k) {
    Count& count = counts[communicator_of(rows[k])];
    ++count.rows;
    for (size_t next = k + 1; next < rows.size() && rows[next].start_ns + kOverlapNs < rows[k].end_ns; ++next) {
      if (rows[next].start_ns <= rows[k].start_ns + kLeastWorkNs) continue;  // began together
      if (communicator_of(rows[next]) != communicator_of(rows[k])) ++count.beside;
      break;
    }
  }
  std::vector<bool> out(rows.size());
  for (size_t k = 0; k < rows.size(); ++k) {
    const Count& count = counts[communicator_of(rows[k])];
    out[k] = static_cast<double>(count.beside) > kOftenBeside * static_cast<double>(count.rows);
  }
  return out;
}

std::vector<OwnGap> OwnGaps(const std::vector<ArrivalNode>& rows, const std::vector<bool>& async) {
  return GapFinder(rows, async).Run();
}

}  // namespace lockstep
