// pictures{}: what pages draw.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analysis/metrics/fleet/pace.h"
#include "analysis/metrics/match/caused_wait.h"
#include "analysis/report/views/picture_map.h"
#include "analysis/report/views/skew_instance.h"
#include "analysis/report/views/values.h"
#include "analysis/report/views/views.h"

namespace lockstep {
namespace {

constexpr size_t kPacedRows = 1024;       // as many as the map has
constexpr size_t kPicturedMembers = 128;  // as many lines as a person can tell apart
constexpr size_t kLongestWaiters = 16;    // of these members
constexpr size_t kPicturedTails = 12;
constexpr size_t kPicturedHosts = 8;
// 64 buckets an octave become 8: 9 % wide, finer than a line on logarithmic axes.
constexpr int kBucketShift = 3;

// The mean over ranks of shares of time, in percent, as the text of a picture.
class PaceRows {
 public:
  PaceRows(size_t ranks, size_t buckets)
      : per_row_((ranks + kPacedRows - 1) / kPacedRows), ranks_(ranks), buckets_(buckets) {}

  [[nodiscard]] size_t per_row() const { return per_row_; }
  [[nodiscard]] size_t rows() const { return (ranks_ + per_row_ - 1) / per_row_; }

  template <typename SharesOf>
  [[nodiscard]] std::string Text(const Pace& pace, const SharesOf& shares_of) const {
    std::vector<uint8_t> codes;
    codes.reserve(rows() * buckets_);
    for (size_t first = 0; first < ranks_; first += per_row_) {
      const size_t last = std::min(ranks_, first + per_row_);
      for (size_t b = 0; b < buckets_; ++b) {
        double sum = 0;
        for (size_t r = first; r < last; ++r) sum += shares_of(pace.ranks[r])[b];
        codes.push_back(Percent(sum / static_cast<double>(last - first)));
      }
    }
    return TextOfCodes(codes);
  }

 private:
  static uint8_t Percent(double share) {
    return share > 0 ? static_cast<uint8_t>(std::lround(100 * std::min(1.0, share))) : uint8_t{0};
  }

  size_t per_row_;
  size_t ranks_;
  size_t buckets_;
};

std::optional<report::PictureOfPace> PictureOf(const ViewInput& input, const Pace& pace) {
  if (pace.bucket_ns <= 0 || pace.ranks.empty()) return std::nullopt;
  const size_t buckets = pace.ranks.front().busy.size();
  const PaceRows rows(pace.ranks.size(), buckets);
  report::PictureOfPace out;
  out.start_ns = input.SinceStart(pace.start_ns);
  out.bucket_ns = pace.bucket_ns;
  out.buckets = buckets;
  out.rows = rows.rows();
  out.ranks_per_row = rows.per_row();
  out.busy = rows.Text(
      pace, [](const PaceOfRank& rank) -> const auto& { return rank.busy; });
  out.compute = rows.Text(
      pace, [](const PaceOfRank& rank) -> const auto& { return rank.compute; });
  out.comm = rows.Text(
      pace, [](const PaceOfRank& rank) -> const auto& { return rank.comm; });
  return out;
}

// Which members to show: all, or the first, the last, those that waited longest and others at equal distances.
std::vector<const MatchedMember*> ShownMembers(const MatchedInstance& instance) {
  std::vector<const MatchedMember*> by_start;
  for (const MatchedMember& member : instance.members) by_start.push_back(&member);
  std::stable_sort(by_start.begin(), by_start.end(),
                   [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  if (by_start.size() <= kPicturedMembers) return by_start;
  std::vector<const MatchedMember*> by_wait = by_start;
  std::stable_sort(by_wait.begin(), by_wait.end(),
                   [](const auto* a, const auto* b) { return a->wait_ns > b->wait_ns; });
  std::set<const MatchedMember*> shown(by_wait.begin(), by_wait.begin() + kLongestWaiters);
  const size_t others = kPicturedMembers - kLongestWaiters;
  for (size_t i = 0; i < others; ++i) shown.insert(by_start[i * (by_start.size() - 1) / (others - 1)]);
  std::erase_if(by_start, [&](const auto* member) { return !shown.contains(member); });
  return by_start;
}

report::PictureInstance PictureOf(const AnalysisContext& context, const MatchedInstance& instance) {
  report::PictureInstance out;
  out.members = instance.members.size();
  out.wait_total_ns = TotalWaitNs(instance);
  out.instance = SkewInstanceOf(context, instance);
  for (const MatchedMember* member : ShownMembers(instance)) {
    out.instance.members.push_back(SkewMemberOf(context, instance, *member));
  }
  return out;
}

report::PictureBuckets BucketsOf(const Sketch& sketch) {
  std::map<int, int64_t> counts;
  const auto add = [&](int16_t index, int64_t times) {
    counts[index == kZeroBucket ? INT16_MIN : index >> kBucketShift] += times;
  };
  if (sketch.exact()) {
    sketch.values().ForEach([&](int64_t value, int64_t times) { add(BucketIndex(value), times); });
  } else {
    sketch.buckets().ForEach(add);
  }
  report::PictureBuckets out;
  for (const auto& [coarse, count] : counts) {
    const bool is_zero = coarse == INT16_MIN;
    const auto first = static_cast<int16_t>(coarse << kBucketShift);
    const auto last = static_cast<int16_t>(first + (1 << kBucketShift) - 1);
    out.lower_ns.push_back(is_zero ? -1 : BoundsOf(std::max(first, kLowestBucket)).lower);
    out.upper_ns.push_back(is_zero ? 0 : BoundsOf(std::min(last, kHighestBucket)).upper);
    out.counts.emplace_back(count);
  }
  return out;
}

report::PictureTail PictureOf(const TailRow& row) {
  report::PictureTail out;
  out.name = row.name;
  if (row.category) out.category = Name(*row.category);
  out.durations = BucketsOf(row.durations);
  std::vector<const TailPart*> hosts;
  for (const TailPart& part : row.by_host) hosts.push_back(&part);
  std::stable_sort(hosts.begin(), hosts.end(), [](const auto* a, const auto* b) { return a->above > b->above; });
  if (hosts.size() > kPicturedHosts) hosts.resize(kPicturedHosts);
  for (const TailPart* host : hosts) out.by_host.push_back({host->label, BucketsOf(host->durations)});
  return out;
}

// Blame by row of the map.
std::vector<int64_t> BlameOf(const ViewInput& input, const BlameResult& blame) {
  std::map<int32_t, int64_t> by_index;
  for (const RankBlame& rank : BlameByRank(blame)) by_index[rank.rank_index] = rank.wait_ns;
  std::vector<int64_t> out;
  for (const FleetRank& member : input.fleet.members) out.push_back(by_index[static_cast<int32_t>(member.index)]);
  return out;
}

}  // namespace

report::Pictures PicturesView(const ViewInput& input, const PicturesParts& parts) {
  report::Pictures out;
  std::vector<size_t> rows;
  for (const FleetRank& member : input.fleet.members) {
    rows.push_back(member.index);
    out.ranks.push_back(member.rank);
    out.hosts.push_back(TextIfAny(member.host));
  }
  const std::vector<int64_t> blame = BlameOf(input, parts.blame);
  out.blame_ns.assign(blame.begin(), blame.end());
  PictureMap map =
      MapOf({parts.caused, parts.lateness, rows, out.ranks, blame, input.fleet.Restricted(), input.fleet.run_start_ns});
  out.columns = std::move(map.columns);
  out.layers = std::move(map.layers);
  out.pace = PictureOf(input, ComputePace(input.fleet));
  for (const MatchedInstance& instance : parts.worst.Finish()) {
    out.instances.push_back(PictureOf(input.context, instance));
  }
  for (const TailRow& row : parts.tails) {
    if (out.tails.size() < kPicturedTails) out.tails.push_back(PictureOf(row));
  }
  if (input.fleet.Restricted()) {
    input.Notify(kPicturesView, "blame_ns and the waiting that each rank caused are of the whole run");
  }
  return out;
}

}  // namespace lockstep
