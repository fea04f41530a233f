#include "analysis/metrics/causes/origins.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/metrics/causes/blame_weights.h"
#include "analysis/metrics/causes/kernel_excess.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"
#include "analysis/stats/sketch.h"

namespace lockstep {
namespace {

constexpr size_t kMinEqualCommunicators = 3;  // fewer cannot say which of them is the odd one
constexpr double kMinTransferExcess = 0.05;   // of the equal communicators' transfer

using Parts = std::array<int64_t, kLatenessParts>;
using WideParts = std::array<int128, kLatenessParts>;

int64_t Narrow(int128 value) {
  return static_cast<int64_t>(std::clamp<int128>(value, -int128{INT64_MAX}, int128{INT64_MAX}));
}

Parts OwnParts(const Segment& segment) {
  Parts parts{};
  parts[static_cast<size_t>(LatenessPart::kCompute)] = segment.compute_ns;
  parts[static_cast<size_t>(LatenessPart::kCopy)] = segment.copy_ns;
  parts[static_cast<size_t>(LatenessPart::kHost)] = segment.host_ns;
  parts[static_cast<size_t>(LatenessPart::kLaunch)] = segment.launch_ns;
  parts[static_cast<size_t>(LatenessPart::kRest)] = segment.rest_ns;
  return parts;
}

struct RankExcess {
  int64_t instances = 0;
  Parts parts{};
};

// Chance gives a rank one of the two, not both. What is blamed on a rank on average counts for every one: where chance
// shares the blame out, the excess decides.
int128 Score(const OriginSuspect& s, int64_t usual_ns) {
  return int128{std::max<int64_t>(0, s.excess_ns)} * (int128{s.critical_ns} + usual_ns);
}

// Sums of the members' own excess in one communicator, by rank.
class OwnExcess {
 public:
  OwnExcess(const ArrivalGraph& graph, const std::vector<int32_t>& jobs) : graph_(graph), jobs_(jobs) {}

  void Add(const MatchedInstance& instance) {
    int64_t shared = -1;  // the latest instance before that any member saw; who did not see it is left out
    for (const MatchedMember& m : instance.members) shared = std::max(shared, InstanceBefore(m));
    if (shared < 0) return;
    told_.clear();
    jobs_here_.clear();
    for (const MatchedMember& m : instance.members) {
      const Segment& segment = NodeOf(m).segment;
      if (segment.begin_ns == kNoTime || InstanceBefore(m) != shared) continue;
      told_.push_back({m.rank_index, jobs_[static_cast<size_t>(m.rank_index)], OwnParts(segment)});
      JobSum& job = jobs_here_[told_.back().job];
      ++job.members;
      for (size_t p = 0; p < kLatenessParts; ++p) job.parts[p] += told_.back().parts[p];
    }
    for (const Told& member : told_) AddMember(member);
  }

  // Sets the parts of the ranks that took part here in more instances than in any communicator before: its segments
  // are the shortest, with the least in them that only follows from others.
  void Report(std::map<int32_t, RankExcess>& excess) const {
    for (const auto& [rank, own] : excess_) {
      RankExcess& known = excess[rank];
      if (own.instances <= known.instances) continue;
      known.instances = own.instances;
      for (size_t p = 0; p < kLatenessParts; ++p) known.parts[p] = Narrow(own.parts[p] / kScale);
    }
  }

 private:
  static constexpr int64_t kScale = 1 << 16;
  struct Told {
    int32_t rank_index = -1;
    int32_t job = 0;
    Parts parts{};
  };
  struct JobSum {
    int64_t members = 0;
    WideParts parts{};
  };
  struct RankSum {
    int64_t instances = 0;
    WideParts parts{};
  };

  // Against the mean of the others of its job, in units of 1 / kScale ns.
  void AddMember(const Told& member) {
    const JobSum& job = jobs_here_[member.job];
    if (job.members < 2) return;
    RankSum& own = excess_[member.rank_index];
    ++own.instances;
    for (size_t p = 0; p < kLatenessParts; ++p) {
      own.parts[p] += (int128{member.parts[p]} * job.members - job.parts[p]) * kScale / (job.members - 1);
    }
  }

  [[nodiscard]] const ArrivalNode& NodeOf(const MatchedMember& m) const {
    return graph_.ranks[static_cast<size_t>(m.rank_index)][static_cast<size_t>(m.row)];
  }
  [[nodiscard]] int64_t InstanceBefore(const MatchedMember& m) const {
    const int64_t previous = NodeOf(m).previous;
    return previous < 0 ? -1 : graph_.ranks[static_cast<size_t>(m.rank_index)][static_cast<size_t>(previous)].instance;
  }

  const ArrivalGraph& graph_;
  const std::vector<int32_t>& jobs_;
  std::vector<Told> told_;  // of the instance at hand
  std::map<int32_t, JobSum> jobs_here_;
  std::map<int32_t, RankSum> excess_;  // by rank index
};

// Time on the critical path that blame puts on each origin.
using CriticalTime = std::map<Origin, int64_t>;

CriticalTime CriticalOf(const BlameResult& blame) {
  CriticalTime out;
  for (const BlameShare& s : blame.shares) out[{s.rank_index, s.communicator, s.part}] += s.critical_ns;
  return out;
}

// Mean over the ranks of what is blamed on them.
int64_t UsualCritical(const BlameResult& blame, size_t ranks) {
  int64_t sum = 0;
  for (const BlameShare& s : blame.shares) sum += s.rank_index >= 0 ? s.critical_ns : 0;
  return ranks == 0 ? 0 : sum / static_cast<int64_t>(ranks);
}

int64_t Find(const CriticalTime& critical, const Origin& origin) {
  const auto at = critical.find(origin);
  return at == critical.end() ? 0 : at->second;
}

// Each rank's part for which both speak most.
std::vector<OriginSuspect> SuspectRanks(const ArrivalGraph& graph, const MatchResult& match,
                                        const std::vector<int32_t>& jobs, const CriticalTime& critical,
                                        int64_t usual_ns) {
  std::map<int32_t, RankExcess> excess;
  for (size_t i = 0; i < match.instances.size();) {
    const uint32_t communicator = match.instances[i].communicator;
    OwnExcess own(graph, jobs);
    for (; i < match.instances.size() && match.instances[i].communicator == communicator; ++i) {
      if (match.instances[i].matched() && match.instances[i].confidence >= 0.99) own.Add(match.instances[i]);
    }
    own.Report(excess);
  }
  std::vector<OriginSuspect> out;
  for (const auto& [rank, own] : excess) {
    OriginSuspect best;
    for (size_t p = 0; p < kLatenessParts; ++p) {
      const auto part = static_cast<LatenessPart>(p);
      const OriginSuspect suspect{rank, -1, part, own.parts[p], Find(critical, {rank, -1, part})};
      if (Score(suspect, usual_ns) > Score(best, usual_ns)) best = suspect;
    }
    if (best.rank_index >= 0) out.push_back(best);
  }
  return out;
}

struct TransferSum {
  int64_t instances = 0;
  int128 sum_ns = 0;
  [[nodiscard]] double mean() const { return static_cast<double>(sum_ns) / static_cast<double>(instances); }
};

// Communicators that do equal transfers: as many members on as many hosts, of one description, operation and size.
using TransferKey = std::tuple<size_t, size_t, std::string, CollectiveOp, int64_t>;

size_t HostsOf(const MatchedInstance& instance, const RankResolution& ranks) {
  std::set<std::string> hosts;
  for (const MatchedMember& m : instance.members) hosts.insert(ranks.ranks[static_cast<size_t>(m.rank_index)].host);
  return hosts.size();
}

std::map<TransferKey, std::map<uint32_t, TransferSum>> SumTransfers(const RankResolution& ranks,
                                                                    const MatchResult& match) {
  std::map<TransferKey, std::map<uint32_t, TransferSum>> out;
  std::map<uint32_t, size_t> hosts;  // by communicator
  for (const MatchedInstance& instance : match.instances) {
    if (!instance.usable() || instance.transfer_ns < 0) continue;
    const auto [at, is_new] = hosts.emplace(instance.communicator, 0);
    if (is_new) at->second = HostsOf(instance, ranks);
    TransferSum& sum = out[{instance.members.size(), at->second, match.communicators[instance.communicator].desc,
                            instance.op, instance.bytes}][instance.communicator];
    ++sum.instances;
    sum.sum_ns += instance.transfer_ns;
  }
  return out;
}

std::vector<OriginSuspect> SuspectTransfers(const RankResolution& ranks, const MatchResult& match,
                                            const CriticalTime& critical) {
  std::map<uint32_t, double> excess;
  for (const auto& [key, communicators] : SumTransfers(ranks, match)) {
    if (communicators.size() < kMinEqualCommunicators) continue;
    std::vector<double> means;
    for (const auto& [communicator, sum] : communicators) means.push_back(sum.mean());
    std::sort(means.begin(), means.end());
    const double usual = means[(means.size() - 1) / 2];
    for (const auto& [communicator, sum] : communicators) {
      if (sum.mean() <= usual * (1 + kMinTransferExcess)) continue;
      excess[communicator] += (sum.mean() - usual) * static_cast<double>(sum.instances);
    }
  }
  std::vector<OriginSuspect> out;
  for (const auto& [communicator, ns] : excess) {
    const auto index = static_cast<int32_t>(communicator);
    const int64_t delayed = Find(critical, {-1, index, LatenessPart::kTransfer});
    if (delayed > 0) out.push_back({-1, index, LatenessPart::kTransfer, static_cast<int64_t>(ns), delayed});
  }
  return out;
}

}  // namespace

std::vector<OriginSuspect> RankOrigins(const RunData& run, const RankResolution& ranks, const ArrivalGraph& graph,
                                       const MatchResult& match, const BlameResult& blame) {
  const CriticalTime critical = CriticalOf(blame);
  const int64_t usual = UsualCritical(blame, ranks.ranks.size());
  std::vector<OriginSuspect> out = SuspectRanks(graph, match, JobsOf(run, ranks), critical, usual);
  const std::vector<OriginSuspect> transfers = SuspectTransfers(ranks, match, critical);
  out.insert(out.end(), transfers.begin(), transfers.end());
  std::stable_sort(out.begin(), out.end(),
                   [&](const OriginSuspect& a, const OriginSuspect& b) { return Score(a, usual) > Score(b, usual); });
  return out;
}

}  // namespace lockstep
