#include "analysis/metrics/match/join/gap_join.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kMinReachNs = 30'000;
constexpr double kLeftOut = 0.5;  // cost of a row, or of an instance, without the other
constexpr double kNever = 1e9;
constexpr size_t kMaxRows = 512;      // of a rank: more than a step has
constexpr int64_t kTimesFarther = 3;  // another instance must be than the row's own

struct Column {
  std::vector<TimedRow> rows;
  int64_t end_ns = 0;  // middle of the ends
};

int64_t ReachOf(int64_t shortest_ns) { return std::max(kMinReachNs, shortest_ns / 2); }

class GapJoiner {
 public:
  GapJoiner(const JoinInput& input, const std::vector<std::vector<TimedRow>>& rows,
            const std::set<GapSignature>& repeated)
      : input_(input), rows_(rows), repeated_(repeated) {}

  std::vector<GapColumn> Run() {
    std::vector<size_t> order(rows_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rows_[a].size() > rows_[b].size(); });
    for (const size_t i : order) Merge(rows_[i]);
    std::vector<GapColumn> out;
    for (size_t c = 0; c < columns_.size(); ++c) Emit(c, out);
    return out;
  }

 private:
  [[nodiscard]] const CollectiveRow& Row(const TimedRow& row) const { return RowAt(input_, row.ref); }
  [[nodiscard]] bool Alike(const TimedRow& a, const TimedRow& b) const { return SameSignature(Row(a), Row(b), false); }

  [[nodiscard]] bool Single(const TimedRow& row) const { return !IsRepeated(Row(row), repeated_); }

  [[nodiscard]] double CostOf(const Column& column, const TimedRow& row, bool single) const {
    if (!Alike(column.rows.front(), row)) return kNever;
    if (single) return 0;
    int64_t shortest = row.end_ns - row.start_ns;
    for (const TimedRow& r : column.rows) shortest = std::min(shortest, r.end_ns - r.start_ns);
    const auto reach = static_cast<double>(ReachOf(shortest));
    const double cost = static_cast<double>(std::abs(row.end_ns - column.end_ns)) / reach;
    return cost <= 1 ? cost : kNever;
  }

  static void Take(const TimedRow& row, Column& column) {
    column.rows.push_back(row);
    std::vector<int64_t> ends;
    for (const TimedRow& r : column.rows) ends.push_back(r.end_ns);
    column.end_ns = UpperMedian(std::move(ends));
  }

  // Cheapest way to put one rank's rows onto the columns in order; rows without one get columns of their own.
  void Merge(const std::vector<TimedRow>& rows) {
    const size_t width = rows.size() + 1;
    std::vector<double> cost((columns_.size() + 1) * width, 0);  // of the first c columns and the first r rows
    std::vector<double> pair(columns_.size() * rows.size(), 0);
    for (size_t r = 0; r < rows.size(); ++r) {
      const bool single = Single(rows[r]);
      for (size_t c = 0; c < columns_.size(); ++c) pair[c * rows.size() + r] = CostOf(columns_[c], rows[r], single);
    }
    for (size_t c = 0; c <= columns_.size(); ++c) {
      for (size_t r = 0; r <= rows.size(); ++r) {
        double best = c == 0 && r == 0 ? 0 : kNever;
        if (c > 0) best = std::min(best, cost[(c - 1) * width + r] + kLeftOut);
        if (r > 0) best = std::min(best, cost[c * width + r - 1] + kLeftOut);
        if (c > 0 && r > 0) best = std::min(best, cost[(c - 1) * width + r - 1] + pair[(c - 1) * rows.size() + r - 1]);
        cost[c * width + r] = best;
      }
    }
    Trace(rows, cost, pair);
  }

  void Trace(const std::vector<TimedRow>& rows, const std::vector<double>& cost, const std::vector<double>& pair) {
    const size_t width = rows.size() + 1;
    std::vector<Column> merged;  // last first
    size_t c = columns_.size();
    size_t r = rows.size();
    while (c > 0 || r > 0) {
      const double here = cost[c * width + r];
      const bool paired = c > 0 && r > 0 && here == cost[(c - 1) * width + r - 1] + pair[(c - 1) * rows.size() + r - 1];
      if (paired || r == 0 || (c > 0 && here == cost[(c - 1) * width + r] + kLeftOut)) {
        merged.push_back(std::move(columns_[--c]));
        if (paired) Take(rows[--r], merged.back());
      } else {
        merged.emplace_back();
        Take(rows[--r], merged.back());
      }
    }
    columns_.assign(std::make_move_iterator(merged.rbegin()), std::make_move_iterator(merged.rend()));
  }

  // Whether another column would do nearly as well for a row of this one.
  [[nodiscard]] bool Doubtful(size_t column, const TimedRow& row) const {
    if (columns_[column].rows.size() < 2 || Single(row)) return false;
    const int64_t own = std::abs(row.end_ns - columns_[column].end_ns);
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (c == column || !Alike(columns_[c].rows.front(), row)) continue;
      if (std::abs(row.end_ns - columns_[c].end_ns) < kTimesFarther * own) return true;
    }
    return false;
  }

  void Emit(size_t column, std::vector<GapColumn>& out) const {
    GapColumn kept;
    for (const TimedRow& row : columns_[column].rows) {
      if (Doubtful(column, row)) {
        out.push_back({{row.ref}, false});
      } else {
        kept.members.push_back(row.ref);
      }
    }
    if (!kept.members.empty()) out.push_back(std::move(kept));
  }

  const JoinInput& input_;
  const std::vector<std::vector<TimedRow>>& rows_;
  const std::set<GapSignature>& repeated_;
  std::vector<Column> columns_;
};

}  // namespace

GapSignature GapSignatureOf(const CollectiveRow& row) { return {row.op, row.dtype, row.bytes}; }

std::vector<GapColumn> JoinGapRows(const JoinInput& input, const std::vector<std::vector<TimedRow>>& rows,
                                   const std::set<GapSignature>& repeated) {
  size_t longest = 0;
  size_t all = 0;
  for (const std::vector<TimedRow>& of_rank : rows) {
    longest = std::max(longest, of_rank.size());
    all += of_rank.size();
  }
  if (longest <= kMaxRows) return GapJoiner(input, rows, repeated).Run();
  std::vector<GapColumn> out;
  out.reserve(all);
  for (const std::vector<TimedRow>& of_rank : rows) {
    for (const TimedRow& row : of_rank) out.push_back({{row.ref}, false});
  }
  return out;
}

bool IsRepeated(const CollectiveRow& row, const std::set<GapSignature>& repeated) {
  return row.bytes == kUnknownBytes || repeated.count(GapSignatureOf(row)) > 0;
}

bool EndTogether(const std::vector<TimedRow>& rows) {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  int64_t shortest = INT64_MAX;
  for (const TimedRow& row : rows) {
    first = std::min(first, row.end_ns);
    last = std::max(last, row.end_ns);
    shortest = std::min(shortest, row.end_ns - row.start_ns);
  }
  return rows.empty() || last - first <= ReachOf(shortest);
}

void AddRepeated(const JoinInput& input, const std::vector<RowRef>& rows, std::set<GapSignature>& repeated) {
  std::set<GapSignature> met;
  for (const RowRef& ref : rows) {
    const GapSignature signature = GapSignatureOf(RowAt(input, ref));
    if (!met.insert(signature).second) repeated.insert(signature);
  }
}

}  // namespace lockstep
