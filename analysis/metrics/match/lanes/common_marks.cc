#include "analysis/metrics/match/lanes/common_marks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/metrics/match/lanes/lane_walker.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

// Rows on either side that a mark's pause must outlast. Far marks tell more, but short lanes need many.
constexpr size_t kMinNear = 3;
constexpr size_t kMaxNear = 8;
constexpr size_t kRowsPerNear = 100;
constexpr size_t kFollowing = 4;  // marks after it, of which any two tell it: one of them may be lost
constexpr size_t kTwoOfFollowing = kFollowing * (kFollowing - 1) / 2;
constexpr size_t kMarksPerLane = 512;  // looked up, of long lanes a sample
constexpr size_t kMaxPerCell = 16;     // marks that one is compared with, of those in one cell
constexpr int64_t kToleranceCapPart = 8;
constexpr int64_t kMinToleranceNs = 4'000;
constexpr int64_t kMaxToleranceNs = 50'000;
constexpr int64_t kOffsetBinNs = 250'000;
constexpr int64_t kApartBins = 4;  // drifting clocks smear an offset over some
// Marks that lanes have in common by chance mean ever other offsets; those of common collectives mean one.
constexpr size_t kClearMarks = 6;
constexpr size_t kClearOffsetRatio = 3;  // to those of the next best offset
constexpr size_t kLikeliest = 4;         // others of a domain that are tried, ...
constexpr size_t kLikelyRatio = 2;       // ... if one offset stands out at least

// Two marks are alike if all their distances differ by at most half a cell.
struct Mark {
  uint64_t cls = 0;
  int64_t t_ns = 0;
  std::array<int64_t, 2> distance_ns{};  // to two marks after it
  std::array<int64_t, 3> pause_ns{};     // before it, and before them
  size_t domain = 0;
};

// Where marks are looked up: their class, and their distances in units of twice the tolerance.
using Cell = uint64_t;

Cell CellOf(uint64_t cls, int64_t first, int64_t second) {
  uint64_t x = cls * 0x9e3779b97f4a7c15ULL;
  for (const int64_t part : {first, second}) {
    x ^= static_cast<uint64_t>(part);
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebULL;
    x ^= x >> 29;
  }
  return x;
}

// The marks of every cell side by side, in the order in which they were added. Cells are numbers without a pattern.
class CellIndex {
 public:
  struct Entry {
    Cell cell = 0;
    Mark mark;
  };

  void Add(Cell cell, const Mark& mark) { added_.emplace_back(cell, &mark); }

  // After the last one is added.
  void Finish() {
    const auto bits = static_cast<int>(std::bit_width(added_.size()));
    shift_ = std::numeric_limits<Cell>::digits - std::max(1, bits);
    first_.assign((size_t{1} << std::max(1, bits)) + 1, 0);
    for (const auto& [cell, mark] : added_) ++first_[BucketOf(cell) + 1];
    for (size_t b = 1; b < first_.size(); ++b) first_[b] += first_[b - 1];
    std::vector<size_t> next(first_.begin(), first_.end() - 1);
    entries_.resize(added_.size());
    for (const auto& [cell, mark] : added_) entries_[next[BucketOf(cell)]++] = {cell, *mark};
    added_ = {};
    const auto before = [](const Entry& x, const Entry& y) { return x.cell < y.cell; };
    for (size_t b = 0; b + 1 < first_.size(); ++b) {
      const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(first_[b]);
      const auto last = entries_.begin() + static_cast<std::ptrdiff_t>(first_[b + 1]);
      if (!std::is_sorted(first, last, before)) std::stable_sort(first, last, before);
    }
  }

  [[nodiscard]] std::span<const Entry> Of(Cell cell) const {
    const size_t bucket = BucketOf(cell);
    const auto all = std::span(entries_).subspan(first_[bucket], first_[bucket + 1] - first_[bucket]);
    const auto first = std::partition_point(all.begin(), all.end(), [&](const Entry& e) { return e.cell < cell; });
    const auto last = std::partition_point(first, all.end(), [&](const Entry& e) { return e.cell == cell; });
    return all.subspan(static_cast<size_t>(first - all.begin()), static_cast<size_t>(last - first));
  }

 private:
  [[nodiscard]] size_t BucketOf(Cell cell) const { return cell >> shift_; }

  std::vector<std::pair<Cell, const Mark*>> added_;
  int shift_ = 0;
  std::vector<size_t> first_ = {0, 0};  // of every bucket of cells, and the end
  std::vector<Entry> entries_;          // by cell
};

// Rows that end after a longer pause than any row near them.
std::vector<uint32_t> PeaksOf(const std::vector<LaneEvent>& events, size_t near) {
  std::vector<uint32_t> out;
  const auto pause = [&](size_t i) { return events[i].end_ns - events[i - 1].end_ns; };
  for (size_t i = 1; i < events.size(); ++i) {
    const int64_t own = pause(i);
    bool longest = true;
    for (size_t j = i > near ? i - near : 1; longest && j < i; ++j) longest = pause(j) < own;
    for (size_t j = i + 1; longest && j < std::min(i + near + 1, events.size()); ++j) longest = pause(j) <= own;
    if (longest) out.push_back(static_cast<uint32_t>(i));
  }
  return out;
}

// What the marks of one class have in common.
struct ClassRule {
  int64_t cell_ns = 0;
  size_t near = kMaxNear;
  uint64_t one_in = 1;  // cells that are looked at
};

class MarkSearch {
 public:
  MarkSearch(const std::vector<RankLane>& lanes, const std::vector<size_t>& domain_of, Executor& executor)
      : lanes_(lanes), executor_(executor), peaks_(lanes.size()) {
    for (size_t l = 0; l < lanes.size(); ++l) {
      by_domain_.resize(std::max(by_domain_.size(), domain_of[l] + 1));
      by_domain_[domain_of[l]].push_back(l);
    }
  }

  std::vector<CommonMarks> Run() {
    MakeRules();
    executor_.ParallelFor(lanes_.size(),
                          [&](size_t l) { peaks_[l] = PeaksOf(lanes_[l].events, rules_.at(lanes_[l].cls).near); });
    SampleCells();
    marks_.resize(by_domain_.size());
    executor_.ParallelFor(by_domain_.size(), [&](size_t d) { marks_[d] = MarksOf(d); });
    MakeIndex();
    std::vector<Votes> votes(by_domain_.size());
    executor_.ParallelFor(by_domain_.size(), [&](size_t d) { votes[d] = VotesOf(d); });
    return BestOffsets(Together(votes));
  }

 private:
  // Domains a < b and the offset that a pair of alike marks would mean, in units of kOffsetBinNs.
  struct Vote {
    size_t a = 0;
    size_t b = 0;
    int64_t bin = 0;
    friend auto operator<=>(const Vote&, const Vote&) = default;
  };
  using Votes = std::vector<std::pair<Vote, size_t>>;  // ascending, and how many there are

  void MakeRules() {
    std::vector<int64_t> cap(lanes_.size());
    executor_.ParallelFor(lanes_.size(), [&](size_t l) { cap[l] = CapOf(lanes_[l].events); });
    std::map<uint64_t, std::vector<int64_t>> caps;
    std::map<uint64_t, std::vector<size_t>> rows;
    for (size_t l = 0; l < lanes_.size(); ++l) {
      caps[lanes_[l].cls].push_back(cap[l]);
      rows[lanes_[l].cls].push_back(lanes_[l].events.size());
    }
    for (auto& [cls, of_class] : caps) {
      ClassRule& rule = rules_[cls];
      const int64_t tolerance = UpperMedian(std::move(of_class)) / kToleranceCapPart;
      rule.cell_ns = 2 * std::clamp(tolerance, kMinToleranceNs, kMaxToleranceNs);
      rule.near = std::clamp(UpperMedian(std::move(rows[cls])) / kRowsPerNear, kMinNear, kMaxNear);
    }
  }

  void SampleCells() {
    std::map<uint64_t, std::pair<size_t, size_t>> marks;  // of a class, and how many are enough
    for (size_t l = 0; l < lanes_.size(); ++l) {
      marks[lanes_[l].cls].first += kTwoOfFollowing * peaks_[l].size();
      marks[lanes_[l].cls].second += kMarksPerLane;
    }
    for (const auto& [cls, count] : marks) rules_[cls].one_in = std::max<uint64_t>(1, count.first / count.second);
  }

  // The cells that hold all marks alike to this one.
  static std::array<Cell, 4> CellsAround(const Mark& m, int64_t cell_ns) {
    const auto low = [&](int64_t ns) { return (ns - cell_ns / 2) / cell_ns; };
    const int64_t x = low(m.distance_ns[0]);
    const int64_t y = low(m.distance_ns[1]);
    return {CellOf(m.cls, x, y), CellOf(m.cls, x, y + 1), CellOf(m.cls, x + 1, y), CellOf(m.cls, x + 1, y + 1)};
  }
  static Cell CellOfMark(const Mark& m, int64_t cell_ns) {
    return CellOf(m.cls, m.distance_ns[0] / cell_ns, m.distance_ns[1] / cell_ns);
  }
  static bool IsSampled(Cell cell, const ClassRule& rule) { return (cell >> 32) % rule.one_in == 0; }

  static bool AreAlike(const Mark& x, const Mark& y, int64_t tolerance_ns) {
    const auto close = [&](int64_t a, int64_t b) { return std::abs(a - b) <= tolerance_ns; };
    return close(x.distance_ns[0], y.distance_ns[0]) && close(x.distance_ns[1], y.distance_ns[1]) &&
           close(x.pause_ns[0], y.pause_ns[0]) && close(x.pause_ns[1], y.pause_ns[1]) &&
           close(x.pause_ns[2], y.pause_ns[2]);
  }

  static int64_t BinOf(int64_t offset_ns) { return offset_ns / kOffsetBinNs - (offset_ns % kOffsetBinNs < 0 ? 1 : 0); }

  void AddMarks(size_t lane, size_t domain, std::vector<Mark>& out) const {
    const std::vector<LaneEvent>& events = lanes_[lane].events;
    const std::vector<uint32_t>& peaks = peaks_[lane];
    const ClassRule& rule = rules_.at(lanes_[lane].cls);
    const auto end = [&](size_t p) { return events[peaks[p]].end_ns; };
    const auto pause = [&](size_t p) { return end(p) - events[peaks[p] - 1].end_ns; };
    for (size_t p = 0; p < peaks.size(); ++p) {
      for (size_t q = p + 1; q < std::min(peaks.size(), p + kFollowing); ++q) {
        for (size_t r = q + 1; r < std::min(peaks.size(), p + kFollowing + 1); ++r) {
          const Mark mark{
              lanes_[lane].cls, end(p), {end(q) - end(p), end(r) - end(q)}, {pause(p), pause(q), pause(r)}, domain};
          const auto cells = CellsAround(mark, rule.cell_ns);
          const bool sampled = std::any_of(cells.begin(), cells.end(), [&](Cell c) { return IsSampled(c, rule); });
          if (sampled) out.push_back(mark);
        }
      }
    }
  }

  // Ranks of one domain that end together show the same marks: each counts once.
  [[nodiscard]] std::vector<Mark> MarksOf(size_t domain) const {
    std::vector<Mark> all;
    for (const size_t l : by_domain_[domain]) AddMarks(l, domain, all);
    std::sort(all.begin(), all.end(), [](const Mark& x, const Mark& y) {
      return std::tie(x.cls, x.t_ns, x.distance_ns) < std::tie(y.cls, y.t_ns, y.distance_ns);
    });
    std::vector<Mark> out;
    for (const Mark& m : all) {
      const int64_t tolerance = rules_.at(m.cls).cell_ns / 2;
      bool known = false;
      for (auto at = out.rbegin(); at != out.rend() && at->cls == m.cls && m.t_ns - at->t_ns <= tolerance; ++at) {
        known = known || AreAlike(*at, m, tolerance);
      }
      if (!known) out.push_back(m);
    }
    return out;
  }

  void MakeIndex() {
    for (const std::vector<Mark>& of_domain : marks_) {
      for (const Mark& m : of_domain) {
        const ClassRule& rule = rules_.at(m.cls);
        const Cell cell = CellOfMark(m, rule.cell_ns);
        if (IsSampled(cell, rule)) index_.Add(cell, m);
      }
    }
    index_.Finish();
  }

  void AddVotes(const Mark& m, Cell cell, int64_t tolerance, std::vector<Vote>& out) const {
    const std::span<const CellIndex::Entry> others = index_.Of(cell);
    const size_t n = others.size();
    // Of crowded cells every mark sees others.
    const size_t start = n > kMaxPerCell ? static_cast<uint64_t>(m.t_ns) * 0x9e3779b97f4a7c15ULL % n : 0;
    for (size_t k = 0; k < std::min(n, kMaxPerCell); ++k) {
      const size_t at = start + k;
      const Mark& other = others[at < n ? at : at - n].mark;
      if (other.domain == m.domain || other.cls != m.cls || !AreAlike(m, other, tolerance)) continue;
      const bool in_order = m.domain < other.domain;
      const int64_t offset = in_order ? m.t_ns - other.t_ns : other.t_ns - m.t_ns;
      const auto [a, b] = std::minmax(m.domain, other.domain);
      out.push_back({a, b, BinOf(offset)});
    }
  }

  [[nodiscard]] Votes VotesOf(size_t domain) const {
    std::vector<Vote> all;
    for (const Mark& m : marks_[domain]) {
      const ClassRule& rule = rules_.at(m.cls);
      for (const Cell cell : CellsAround(m, rule.cell_ns)) {
        if (IsSampled(cell, rule)) AddVotes(m, cell, rule.cell_ns / 2, all);
      }
    }
    std::sort(all.begin(), all.end());
    Votes out;
    for (const Vote& vote : all) {
      if (out.empty() || out.back().first != vote) out.emplace_back(vote, 0);
      ++out.back().second;
    }
    return out;
  }

  static Votes Together(const std::vector<Votes>& parts) {
    Votes all;
    for (const Votes& part : parts) all.insert(all.end(), part.begin(), part.end());
    std::sort(all.begin(), all.end());
    Votes out;
    for (const auto& [vote, count] : all) {
      if (out.empty() || out.back().first != vote) out.emplace_back(vote, 0);
      out.back().second += count;
    }
    return out;
  }

  // Marks of one offset may lie on either side of an edge between two bins.
  static std::vector<CommonMarks> BestOffsets(const Votes& votes) {
    std::vector<CommonMarks> out;
    for (size_t first = 0; first < votes.size();) {
      const Vote& vote = votes[first].first;
      size_t last = first;
      while (last < votes.size() && votes[last].first.a == vote.a && votes[last].first.b == vote.b) ++last;
      out.push_back(BestOf(votes, first, last));
      first = last;
    }
    return out;
  }

  // Of one pair of domains.
  static CommonMarks BestOf(const Votes& votes, size_t first, size_t last) {
    const auto bin = [&](size_t i) { return votes[i].first.bin; };
    const auto count = [&](size_t i) {
      return votes[i].second + (i + 1 < last && bin(i + 1) == bin(i) + 1 ? votes[i + 1].second : 0);
    };
    size_t best = first;
    for (size_t i = first; i < last; ++i) best = count(i) > count(best) ? i : best;
    CommonMarks out{votes[first].first.a, votes[first].first.b, bin(best) * kOffsetBinNs, count(best), 0};
    for (size_t i = first; i < last; ++i) {
      if (std::abs(bin(i) - bin(best)) > kApartBins) out.second = std::max(out.second, count(i));
    }
    return out;
  }

  const std::vector<RankLane>& lanes_;
  Executor& executor_;
  std::vector<std::vector<size_t>> by_domain_;
  std::vector<std::vector<uint32_t>> peaks_;  // per lane: rows
  std::map<uint64_t, ClassRule> rules_;       // by class
  std::vector<std::vector<Mark>> marks_;      // per domain
  CellIndex index_;
};

}  // namespace

Prospects::Prospects(const std::vector<CommonMarks>& found) {
  std::map<size_t, std::vector<const CommonMarks*>> of_domain;
  for (const CommonMarks& m : found) {
    of_domain[m.a].push_back(&m);
    of_domain[m.b].push_back(&m);
  }
  for (auto& [domain, marks] : of_domain) {
    std::stable_sort(marks.begin(), marks.end(),
                     [](const CommonMarks* x, const CommonMarks* y) { return x->count > y->count; });
    for (size_t n = 0; n < marks.size(); ++n) {
      const CommonMarks& m = *marks[n];
      const bool clear = m.count >= kClearMarks && m.count >= kClearOffsetRatio * m.second;
      const bool likeliest = n < kLikeliest && m.count >= kLikelyRatio * m.second;
      if (clear || likeliest) offset_ns_[{m.a, m.b}] = m.offset_ns;
    }
  }
}

std::optional<int64_t> Prospects::OffsetOf(size_t a, size_t b) const {
  const auto at = offset_ns_.find(std::minmax(a, b));
  if (at == offset_ns_.end()) return std::nullopt;
  return a < b ? at->second : -at->second;
}

std::vector<CommonMarks> FindCommonMarks(const std::vector<RankLane>& lanes, const std::vector<size_t>& domain_of,
                                         Executor& executor) {
  return MarkSearch(lanes, domain_of, executor).Run();
}

}  // namespace lockstep
