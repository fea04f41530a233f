#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/base/disjoint_sets.h"
#include "analysis/compare/kernels/pair_choice.h"
#include "analysis/compare/kernels/rungs.h"
#include "analysis/compare/kernels/surroundings.h"
#include "analysis/compare/kernels/tuner_variant.h"

namespace lockstep::compare {
namespace {

// A launch a step more or less is a product that the other side lacks. A step that is cut off, or a launch in a few
// steps only, changes the average by less.
constexpr double kLessThanALaunch = 0.5;
// Share of the launches that must be at the same places: a launch or two may have overtaken a mark.
constexpr double kNearlyAllPlaces = 0.97;

// Variants of one family and layout.
struct VariantSet {
  Bucket unmatched;
  std::vector<size_t> pairs;     // indices of matches whose variant seems to be used for other products on either side
  bool has_other_pairs = false;  // variants with the same name on both sides, used for the same products as it seems
};

// Layouts are distinguished unless one of the variants does not state its own.
std::string LayoutKey(const MatchSide& side, size_t i, bool with_layout) {
  const KernelIdentity& identity = side.identities[i];
  if (!identity.tuner) return {};
  std::string key(Name(side.kernels[i]->kind.family));
  if (with_layout) key += '\n' + identity.layout;
  return key;
}

bool HasUnknownLayout(const MatchState& state, const Bucket& bucket) {
  const auto unknown = [](const MatchSide& side, const std::vector<size_t>& members) {
    return std::any_of(members.begin(), members.end(), [&side](size_t i) { return side.identities[i].layout.empty(); });
  };
  return unknown(state.before, bucket.before) || unknown(state.after, bucket.after);
}

bool TimesOfVariantsAgree(const MatchState& state, const Bucket& bucket, double most_doublings) {
  return Doublings(SumOf(state.before.time_ns, bucket.before), SumOf(state.after.time_ns, bucket.after)) <=
         most_doublings;
}

bool AreSameProducts(const MatchState& state, const Bucket& bucket) {
  return !bucket.before.empty() && !bucket.after.empty() && TimesOfVariantsAgree(state, bucket, kMostDoublingsOfTime) &&
         LaunchesAgree(SumOf(state.before.launches, bucket.before), SumOf(state.after.launches, bucket.after));
}

// Whether a kernel that is no variant says that a product is a part of it.
bool HasFusedProduct(const MatchSide& side) {
  for (size_t i = 0; i < side.size(); ++i) {
    if (!side.matched[i] && !side.identities[i].tuner && SayProduct(side.identities[i].words)) return true;
  }
  return false;
}

// Whether the products of one side are mostly those of the other one. Of their launches those that have no counterpart
// are of products that were added or removed, unless a fused kernel has them.
bool AreMostlySameProducts(const MatchState& state, const Surroundings& around, const Bucket& bucket, bool complete) {
  constexpr double kMostDoublingsOfLaunches = 1.6;
  constexpr double kMostPlaces = 0.75;
  if (bucket.before.empty() || bucket.after.empty()) return false;
  const double before = SumOf(state.before.launches, bucket.before);
  const double after = SumOf(state.after.launches, bucket.after);
  const double launches = Doublings(before, after);
  const double same = around.order.ShareAtSamePlaces(bucket);
  if (std::isnan(same) && !(TimesOfVariantsAgree(state, bucket, 1) && launches <= kMostDoublingsOfLaunches / 2)) {
    return false;  // without places the times must do
  }
  if (launches > kMostDoublingsOfLaunches || same < kMostPlaces) return false;
  const bool agree = LaunchesAgree(before, after) && std::abs(before - after) < kLessThanALaunch;
  if (bucket.before.size() == 1 && bucket.after.size() == 1) {
    // With a product more on one side, nobody knows which of them is the one that both have.
    const bool unclear = !agree && same < kNearlyAllPlaces;
    if (unclear || around.ranges.Differ(bucket.before[0], bucket.after[0])) return false;
  }
  const bool all_there = agree && same >= kNearlyAllPlaces && around.order.AllNearSamePlaces(bucket);
  // What is missing may be among the products of a variant that is not in the bucket.
  if (!all_there && !complete) return false;
  const bool missing_after = !all_there && (same < kNearlyAllPlaces || !(after > before));
  const bool missing_before = !all_there && (same < kNearlyAllPlaces || !(before > after));
  return !(missing_after && HasFusedProduct(state.after)) && !(missing_before && HasFusedProduct(state.before));
}

// Not where a variant of one product would have taken the place of another one that took many times as long.
void AddVariants(MatchState& state, Bucket bucket) {
  std::sort(bucket.before.begin(), bucket.before.end());
  std::sort(bucket.after.begin(), bucket.after.end());
  const bool pair = bucket.before.size() == 1 && bucket.after.size() == 1;
  const bool one_product =
      pair && LaunchesAgree(state.before.launches[bucket.before[0]], state.after.launches[bucket.after[0]]);
  if (one_product && !TimesOfVariantsAgree(state, bucket, kMostDoublingsOfTime)) return;
  state.Add(bucket, pair ? MatchKind::kVariantChanged : MatchKind::kGroup, MatchedBy::kFamily, Certainty::kGuess);
}

// A variant with the same name on both sides may be used for other products: another number of launches, or others.
bool IsUsedElsewhere(const MatchState& state, const StepOrder& order, const KernelMatch& match) {
  if (match.before.size() != 1 || match.after.size() != 1 || match.by == MatchedBy::kMap) return false;
  const size_t b = match.before[0];
  const size_t a = match.after[0];
  return !LaunchesAgree(state.before.launches[b], state.after.launches[a]) ||
         order.ShareAtSamePlaces({{b}, {a}}) < kNearlyAllPlaces;
}

std::map<std::string, VariantSet> SetsOfVariants(const MatchState& state, const StepOrder& order, bool with_layout) {
  std::map<std::string, VariantSet> sets;
  for (size_t b = 0; b < state.before.size(); ++b) {
    if (!state.before.matched[b]) sets[LayoutKey(state.before, b, with_layout)].unmatched.before.push_back(b);
  }
  for (size_t a = 0; a < state.after.size(); ++a) {
    if (!state.after.matched[a]) sets[LayoutKey(state.after, a, with_layout)].unmatched.after.push_back(a);
  }
  sets.erase("");
  for (size_t m = 0; m < state.matches.size(); ++m) {
    if (state.matches[m].by > MatchedBy::kDemangled || state.matches[m].by == MatchedBy::kMap) continue;
    const std::string key = LayoutKey(state.before, state.matches[m].before[0], with_layout);
    if (key.empty()) continue;
    if (IsUsedElsewhere(state, order, state.matches[m])) {
      sets[key].pairs.push_back(m);
    } else {
      sets[key].has_other_pairs = true;
    }
  }
  return sets;
}

// Variants whose launches meet, directly or by others: the products of one are among those of the others.
struct VariantGroup {
  Bucket members;
  std::vector<size_t> pairs;  // that it takes members from
  bool has_unmatched = false;

  // Variants that changed their products with each other are matched by their names, which then mean nothing.
  [[nodiscard]] bool CrossesNames() const {
    return std::any_of(pairs.begin(), pairs.end(), [this](size_t pair) { return pair != pairs.front(); });
  }
};

class VariantGroups {
 public:
  VariantGroups(const MatchState& state, const VariantSet& set) : state_(state), set_(set), nodes_(set.unmatched) {
    for (const size_t m : set.pairs) {
      nodes_.before.push_back(state.matches[m].before[0]);
      nodes_.after.push_back(state.matches[m].after[0]);
    }
  }

  [[nodiscard]] bool PlacesKnown() const {
    const auto known = [](const MatchSide& side, const std::vector<size_t>& members) {
      return std::none_of(members.begin(), members.end(), [&side](size_t i) { return side.places[i].empty(); });
    };
    return known(state_.before, nodes_.before) && known(state_.after, nodes_.after);
  }

  [[nodiscard]] const Bucket& nodes() const { return nodes_; }

  [[nodiscard]] std::vector<VariantGroup> ByMeeting(const StepOrder& order) const {
    DisjointSets sets(nodes_.before.size() + nodes_.after.size());
    for (size_t i = 0; i < nodes_.before.size(); ++i) {
      for (size_t j = 0; j < nodes_.after.size(); ++j) {
        if (order.Meet(nodes_.before[i], nodes_.after[j])) sets.Join(i, nodes_.before.size() + j);
      }
    }
    return Collected([&sets](size_t node) { return sets.Find(node); });
  }

  [[nodiscard]] VariantGroup All() const {
    return Collected([](size_t) { return size_t{0}; }).front();
  }

 private:
  // The groups of the nodes by their numbers; node n of the after side has the number size of before + n.
  template <typename GroupOf>
  [[nodiscard]] std::vector<VariantGroup> Collected(const GroupOf& group_of) const {
    std::map<size_t, VariantGroup> groups;
    for (size_t i = 0; i < nodes_.before.size(); ++i) {
      VariantGroup& group = groups[group_of(i)];
      group.members.before.push_back(nodes_.before[i]);
      const size_t unmatched = set_.unmatched.before.size();
      if (i < unmatched) group.has_unmatched = true;
      if (i >= unmatched) group.pairs.push_back(set_.pairs[i - unmatched]);
    }
    for (size_t j = 0; j < nodes_.after.size(); ++j) {
      VariantGroup& group = groups[group_of(nodes_.before.size() + j)];
      group.members.after.push_back(nodes_.after[j]);
      const size_t unmatched = set_.unmatched.after.size();
      if (j < unmatched) group.has_unmatched = true;
      if (j >= unmatched) group.pairs.push_back(set_.pairs[j - unmatched]);
    }
    std::vector<VariantGroup> out;
    for (auto& entry : groups) out.push_back(std::move(entry.second));
    return out;
  }

  const MatchState& state_;
  const VariantSet& set_;
  Bucket nodes_;
};

void Append(const VariantGroup& from, VariantGroup& to) {
  to.members.before.insert(to.members.before.end(), from.members.before.begin(), from.members.before.end());
  to.members.after.insert(to.members.after.end(), from.members.after.begin(), from.members.after.end());
  to.pairs.insert(to.pairs.end(), from.pairs.begin(), from.pairs.end());
  to.has_unmatched = to.has_unmatched || from.has_unmatched;
}

// Adds what the set explains; returns the indices of the matches whose members are in other ones now.
std::vector<size_t> AddSet(MatchState& state, const Surroundings& around, const VariantSet& set) {
  const VariantGroups groups(state, set);
  std::vector<size_t> dissolved;
  const auto add = [&state, &dissolved](const VariantGroup& group) {
    AddVariants(state, group.members);
    dissolved.insert(dissolved.end(), group.pairs.begin(), group.pairs.end());
  };
  VariantGroup rest;
  if (groups.PlacesKnown() && !TooManyPairs(groups.nodes())) {
    for (const VariantGroup& group : groups.ByMeeting(around.order)) {
      if ((group.has_unmatched || group.CrossesNames()) && AreMostlySameProducts(state, around, group.members, false)) {
        add(group);
      } else {
        Append(group, rest);
      }
    }
  } else {
    rest = groups.All();
  }
  if (!rest.has_unmatched) return dissolved;
  if (AreMostlySameProducts(state, around, rest.members, !set.has_other_pairs)) {
    add(rest);
  } else {
    state.Note(StillUnmatched(state, rest.members), UnmatchedReason::kLaunchesDiffer);
  }
  return dissolved;
}

void Dissolve(MatchState& state, std::vector<size_t> matches) {
  std::sort(matches.begin(), matches.end());
  matches.erase(std::unique(matches.begin(), matches.end()), matches.end());
  for (auto m = matches.rbegin(); m != matches.rend(); ++m) {
    state.matches.erase(state.matches.begin() + static_cast<std::ptrdiff_t>(*m));
  }
  // A member that no other match has taken is unmatched again.
  std::fill(state.before.matched.begin(), state.before.matched.end(), 0);
  std::fill(state.after.matched.begin(), state.after.matched.end(), 0);
  for (const KernelMatch& match : state.matches) {
    for (const size_t b : match.before) state.before.matched[b] = 1;
    for (const size_t a : match.after) state.after.matched[a] = 1;
  }
}

std::string RangeWithoutPlaces(const MatchSide& side, size_t i) {
  return side.places[i].empty() ? side.identities[i].range : std::string();
}

// Where places are not known, equal ranges with equal launches are the next best evidence, if all variants of the
// layout have a range: one without may be used in any of them.
void MatchVariantsOfRange(MatchState& state) {
  const auto layout = [](const MatchSide& side, size_t i) { return LayoutKey(side, i, true); };
  for (const Bucket& of_layout : BucketsBy(state, layout)) {
    std::map<std::string, Bucket> by_range;
    for (const size_t b : of_layout.before) by_range[RangeWithoutPlaces(state.before, b)].before.push_back(b);
    for (const size_t a : of_layout.after) by_range[RangeWithoutPlaces(state.after, a)].after.push_back(a);
    if (by_range.count("") > 0) continue;
    for (const auto& entry : by_range) {
      if (AreSameProducts(state, entry.second)) AddVariants(state, entry.second);
    }
  }
}

}  // namespace

void MatchTunerVariants(MatchState& state) {
  MatchVariantsOfRange(state);
  for (const bool with_layout : {true, false}) {
    const Surroundings around(state);
    std::vector<size_t> dissolved;
    for (const auto& entry : SetsOfVariants(state, around.order, with_layout)) {
      if (!with_layout && !HasUnknownLayout(state, entry.second.unmatched)) continue;
      const std::vector<size_t> of_set = AddSet(state, around, entry.second);
      dissolved.insert(dissolved.end(), of_set.begin(), of_set.end());
    }
    Dissolve(state, std::move(dissolved));
  }
}

}  // namespace lockstep::compare
