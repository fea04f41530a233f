#include "analysis/metrics/run/trace_copies.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>

#include "analysis/base/natural_order.h"
#include "analysis/base/time.h"
#include "analysis/metrics/run/activity_window.h"
#include "analysis/metrics/run/cut_files.h"

namespace lockstep {
namespace {

constexpr int64_t kTogetherNs = 1'000'000;
constexpr int64_t kRoundedSpanNs = 2'000;  // a double of microseconds since 1970 rounds by a quarter of one
constexpr int64_t kSomeKernels = 8;        // fewer can be alike by chance
constexpr int64_t kManyKernels = 64;       // so many cannot, whatever their times

using RowCounts = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>;

RowCounts CountsOf(const SourceContext& c) { return {c.kernels, c.collectives, c.memcpys, c.memsets, c.graph_spans}; }

bool HaveSameRows(const SourceContext& a, const SourceContext& b) {
  const int64_t span_a = a.last_end_ns - a.first_start_ns;
  const int64_t span_b = b.last_end_ns - b.first_start_ns;
  return CountsOf(a) == CountsOf(b) && std::abs(span_a - span_b) <= kRoundedSpanNs;
}

bool IsInWholeMicroseconds(const SourceContext& c) { return c.kernel_time_ns % kNsPerUs == 0; }

// A tool has rounded, or truncated, every time to microseconds.
bool IsRoundedCopy(const SourceContext& a, const SourceContext& b) {
  return IsInWholeMicroseconds(a) != IsInWholeMicroseconds(b) && a.pid == b.pid && a.device == b.device &&
         a.host == b.host && std::abs(a.first_start_ns - b.first_start_ns) <= kRoundedSpanNs &&
         std::abs(a.kernel_time_ns - b.kernel_time_ns) <= a.kernels * kNsPerUs;
}

bool AreCopies(const SourceContext& a, const SourceContext& b, bool rank_known) {
  if (a.kernels < kSomeKernels || !HaveSameRows(a, b)) return false;
  if (a.world_size && b.world_size && *a.world_size != *b.world_size) return false;
  if (a.kernel_time_ns != b.kernel_time_ns) return rank_known && IsRoundedCopy(a, b);
  const int64_t apart_ns = std::abs(a.first_start_ns - b.first_start_ns);
  if (rank_known) return apart_ns <= kTogetherNs || a.kernels >= kManyKernels;
  return apart_ns <= kRoundedSpanNs && a.kernels >= kManyKernels && a.device == b.device && a.path != b.path;
}

class CopySearch {
 public:
  CopySearch(const RunData& run, const std::vector<GroupCandidate>& candidates)
      : run_(run), candidates_(candidates), cut_files_(run) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      const SourceContext& c = ContextOf(i);
      if (HasDeviceRows(c)) by_counts_[CountsOf(c)].push_back(i);
    }
  }

  std::vector<TraceCopy> Find() {
    for (auto& [counts, equal] : by_counts_) {
      std::sort(equal.begin(), equal.end(), [&](size_t a, size_t b) { return IsOriginalBefore(a, b); });
      FindAmong(equal);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] const SourceContext& ContextOf(size_t candidate) const {
    return run_.sources[candidates_[candidate].source].context;
  }

  // A source of known rank can be the original of one whose rank is unknown.
  [[nodiscard]] bool IsOriginalBefore(size_t a, size_t b) const {
    const SourceContext& x = ContextOf(a);
    const SourceContext& y = ContextOf(b);
    const bool merged_x = x.processes_in_file > 1;
    const bool merged_y = y.processes_in_file > 1;
    if (merged_x != merged_y) return merged_y;
    if (cut_files_.Hold(x) != cut_files_.Hold(y)) return cut_files_.Hold(y);
    if (candidates_[a].rank.has_value() != candidates_[b].rank.has_value()) return candidates_[a].rank.has_value();
    if (IsInWholeMicroseconds(x) != IsInWholeMicroseconds(y)) return IsInWholeMicroseconds(y);
    if (x.path != y.path) return NaturalPathLess(x.path, y.path);
    return x.source_id < y.source_id;
  }

  // Of many equal ones each is compared with those of its rank, and with those of no rank.
  void FindAmong(const std::vector<size_t>& equal) {
    std::map<int32_t, std::vector<size_t>> originals;
    constexpr int32_t kNobodys = -1;
    for (const size_t i : equal) {
      const int32_t rank = candidates_[i].rank.value_or(kNobodys);
      if (rank == kNobodys && FindOriginalOfUnknown(i, originals)) continue;
      if (rank != kNobodys && FindOriginal(i, originals[rank], true)) continue;
      if (rank != kNobodys && FindOriginal(i, originals[kNobodys], false)) continue;
      originals[rank].push_back(i);
    }
  }

  bool FindOriginalOfUnknown(size_t candidate, const std::map<int32_t, std::vector<size_t>>& originals) {
    return std::any_of(originals.begin(), originals.end(),
                       [&](const auto& of_rank) { return FindOriginal(candidate, of_rank.second, false); });
  }

  bool FindOriginal(size_t candidate, const std::vector<size_t>& among, bool rank_known) {
    for (const size_t original : among) {
      if (!AreCopies(ContextOf(original), ContextOf(candidate), rank_known)) continue;
      out_.push_back({candidates_[candidate].source, candidates_[original].source});
      return true;
    }
    return false;
  }

  const RunData& run_;
  const std::vector<GroupCandidate>& candidates_;
  const CutFiles cut_files_;
  std::map<RowCounts, std::vector<size_t>> by_counts_;
  std::vector<TraceCopy> out_;
};

}  // namespace

std::vector<TraceCopy> FindTraceCopies(const RunData& run, const std::vector<GroupCandidate>& candidates) {
  return CopySearch(run, candidates).Find();
}

std::vector<TraceCopy> FindCutCopies(const RunData& run, const std::vector<GroupCandidate>& candidates) {
  const CutFiles cut_files(run);
  using Place = std::tuple<std::string, int64_t, int32_t>;  // host, process, device
  const auto place_of = [&](const GroupCandidate& c) {
    const SourceContext& context = run.sources[c.source].context;
    return Place(context.host, context.pid, context.device);
  };
  std::multimap<Place, const GroupCandidate*> whole;
  for (const GroupCandidate& c : candidates) {
    const SourceContext& context = run.sources[c.source].context;
    if (HasDeviceRows(context) && !cut_files.Hold(context)) whole.emplace(place_of(c), &c);
  }
  std::vector<TraceCopy> out;
  for (const GroupCandidate& c : candidates) {
    const SourceContext& cut = run.sources[c.source].context;
    const bool is_cut = cut_files.Hold(cut);
    const auto [from, to] = whole.equal_range(place_of(c));
    const auto original = std::find_if(from, to, [&](const auto& entry) {
      const GroupCandidate& candidate = *entry.second;
      const SourceContext& other = run.sources[candidate.source].context;
      if (candidate.source == c.source || (c.rank && candidate.rank && *c.rank != *candidate.rank)) return false;
      // A whole file may be a part of another one, too: a tool has removed some of its rows.
      const bool same = (c.rank && candidate.rank) || (cut.pid > 0 && cut.kernels >= kManyKernels);
      if (!is_cut && (!same || other.kernels == cut.kernels || other.last_end_ns < cut.last_end_ns)) return false;
      return std::abs(other.first_start_ns - cut.first_start_ns) <= kRoundedSpanNs && other.kernels >= cut.kernels &&
             other.kernel_time_ns >= cut.kernel_time_ns;
    });
    if (original != to) out.push_back({c.source, original->second->source});
  }
  return out;
}

}  // namespace lockstep
