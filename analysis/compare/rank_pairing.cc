#include "analysis/compare/rank_pairing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace lockstep::compare {
namespace {

constexpr double kMostInCommon = 0.9;
// The work of a rank is the same, or has shrunk as ranks were added, if it is within this of it. Work is compared where
// nothing but the number of ranks differs, so that a wide band decides rightly: doubling ranks halves strong work.
constexpr double kScalingBand = 0.25;

using Key = std::string;

// The first run of a side represents its placement: repeats that ran elsewhere are not paired rank by rank.
const std::vector<report::ProfileRank>& RanksOf(const std::vector<ComparedRun>& runs) {
  return runs.front().profile.by_rank;
}

Key GpuOf(const report::ProfileRank& rank) { return rank.gpu_uuid.value_or(""); }

// Host and place on it, in the order of the ranks.
std::vector<Key> PlacesOnHosts(const std::vector<report::ProfileRank>& ranks) {
  std::map<std::string, int> on_host;
  std::vector<Key> keys;
  for (const report::ProfileRank& rank : ranks) {
    const std::string host = rank.host.value_or("");
    keys.push_back(host.empty() ? "" : fmt::format("{} {}", host, on_host[host]++));
  }
  return keys;
}

std::vector<Key> Gpus(const std::vector<report::ProfileRank>& ranks) {
  std::vector<Key> keys;
  for (const report::ProfileRank& rank : ranks) keys.push_back(GpuOf(rank));
  return keys;
}

double ShareInCommon(const std::vector<Key>& base, const std::vector<Key>& fresh) {
  std::set<Key> known(base.begin(), base.end());
  known.erase("");
  if (base.empty()) return 0;
  const auto in_common = std::count_if(fresh.begin(), fresh.end(), [&](const Key& key) { return known.contains(key); });
  return static_cast<double>(in_common) / static_cast<double>(std::max(base.size(), fresh.size()));
}

report::RankSide RankSideOf(const ComparedRun& run, const report::ProfileRank& rank) {
  const double steps = std::max<double>(1, static_cast<double>(run.profile.steps.size()));
  const auto per_step = [&](int64_t total_ns) { return static_cast<double>(total_ns) / steps; };
  report::RankSide side;
  side.rank = rank.rank;
  side.host = rank.host;
  side.gpu_uuid = rank.gpu_uuid;
  side.compute_ns_per_step = per_step(rank.compute_ns);
  side.exposed_wait_ns_per_step = per_step(rank.exposed_wait_ns);
  side.idle_ns_per_step =
      per_step(rank.idle_host_ns + rank.idle_launch_ns + rank.idle_dependency_ns + rank.idle_other_ns);
  if (rank.caused_wait_total_ns) side.caused_wait_ns_per_step = per_step(*rank.caused_wait_total_ns);
  return side;
}

report::RankChange RankChangeOf(report::RankSide base, report::RankSide fresh) {
  report::RankChange change;
  if (base.compute_ns_per_step > 0) {
    change.compute_change_ratio = fresh.compute_ns_per_step / base.compute_ns_per_step - 1;
  }
  if (base.caused_wait_ns_per_step && fresh.caused_wait_ns_per_step) {
    change.caused_wait_change_ns_per_step = *fresh.caused_wait_ns_per_step - *base.caused_wait_ns_per_step;
  }
  change.base = std::move(base);
  change.fresh = std::move(fresh);
  return change;
}

// Pairs equal keys, each once.
std::vector<report::RankChange> PairByKey(const Sides& sides, const std::vector<Key>& base,
                                          const std::vector<Key>& fresh) {
  std::map<Key, size_t> places;
  for (size_t i = 0; i < base.size(); ++i) {
    if (!base[i].empty()) places.emplace(base[i], i);
  }
  std::vector<report::RankChange> pairs;
  for (size_t i = 0; i < fresh.size(); ++i) {
    const auto place = places.find(fresh[i]);
    if (place == places.end()) continue;
    pairs.push_back(RankChangeOf(RankSideOf(sides.base.front(), RanksOf(sides.base)[place->second]),
                                 RankSideOf(sides.fresh.front(), RanksOf(sides.fresh)[i])));
    places.erase(place);
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    const double caused_a = a.caused_wait_change_ns_per_step.value_or(0);
    const double caused_b = b.caused_wait_change_ns_per_step.value_or(0);
    return caused_a != caused_b ? caused_a > caused_b : a.compute_change_ratio > b.compute_change_ratio;
  });
  return pairs;
}

std::vector<Key> Numbers(const std::vector<report::ProfileRank>& ranks) {
  std::vector<Key> keys;
  for (const report::ProfileRank& rank : ranks) keys.push_back(std::to_string(rank.rank));
  return keys;
}

double MeanCompute(const std::vector<ComparedRun>& runs) {
  return MeanOver(runs, [](const ComparedRun& run) { return run.MeanOfStep(&report::ProfileStep::compute_ns); });
}

// How the job scales from the smaller to the larger number of ranks.
void AddScaling(const Sides& sides, report::RankPairing& pairing) {
  const bool grows = RanksOf(sides.fresh).size() > RanksOf(sides.base).size();
  const std::vector<ComparedRun>& few = grows ? sides.base : sides.fresh;
  const std::vector<ComparedRun>& many = grows ? sides.fresh : sides.base;
  const double ranks =
      static_cast<double>(RanksOf(many).size()) / std::max<double>(1, static_cast<double>(RanksOf(few).size()));
  const double few_ns = MeanOver(few, MeanStepTime);
  const double many_ns = MeanOver(many, MeanStepTime);
  const double few_work = MeanCompute(few);
  const double many_work = MeanCompute(many);
  if (few_ns <= 0 || many_ns <= 0 || few_work <= 0 || many_work <= 0) return;
  const double off_weak = std::abs(std::log(many_work / few_work));
  const double off_strong = std::abs(std::log(many_work / few_work * ranks));
  if (std::min(off_weak, off_strong) > kScalingBand) return;
  const bool is_weak = off_weak <= off_strong;
  pairing.scaling = is_weak ? "weak" : "strong";
  pairing.efficiency = is_weak ? few_ns / many_ns : few_ns / (many_ns * ranks);
}

}  // namespace

report::RankPairing PairRanks(const Sides& sides, PairBy by) {
  report::RankPairing pairing;
  pairing.by = "none";
  if (by == PairBy::kNone) {
    pairing.reason = "--pair none was given";
    return pairing;
  }
  const auto& base = RanksOf(sides.base);
  const auto& fresh = RanksOf(sides.fresh);
  if (base.size() != fresh.size()) {
    pairing.reason = fmt::format("the sides have {} and {} ranks", base.size(), fresh.size());
    AddScaling(sides, pairing);
    return pairing;
  }
  const double same_gpus = ShareInCommon(Gpus(base), Gpus(fresh));
  const double same_hosts = ShareInCommon(PlacesOnHosts(base), PlacesOnHosts(fresh));
  if (by == PairBy::kAuto && same_gpus >= kMostInCommon) {
    pairing.by = "gpu";
    pairing.reason = fmt::format("{:.0f} % of the GPUs are the same", 100 * same_gpus);
    pairing.ranks = PairByKey(sides, Gpus(base), Gpus(fresh));
  } else if (by == PairBy::kHost || (by == PairBy::kAuto && same_hosts >= kMostInCommon)) {
    pairing.by = "host";
    pairing.reason = fmt::format("{:.0f} % of the ranks are at the same position of the same host", 100 * same_hosts);
    pairing.ranks = PairByKey(sides, PlacesOnHosts(base), PlacesOnHosts(fresh));
  } else {
    pairing.by = "rank";
    pairing.reason = by == PairBy::kRank ? "--pair rank was given" : "the sides ran on different GPUs and hosts";
    pairing.ranks = PairByKey(sides, Numbers(base), Numbers(fresh));
  }
  return pairing;
}

}  // namespace lockstep::compare
